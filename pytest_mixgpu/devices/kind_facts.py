"""What a device reports beside its name: whether it fits a kind, and which kinds it fits. Asks no hardware.

A fit says that nothing speaks against a kind. Parts share an architecture, a number of units and a memory size, so that
kinds found in this way are shown as inferred and never matched; a device that does not fit its name is not that card.
"""

from collections.abc import Mapping
from typing import Final

import msgspec

GIB: Final = 2**30

LEAST_OF_MEMORY: Final = 0.88
"""A device reports at least this share of what its kind has. The least that real cards were seen to report is 0.91: ECC
takes a sixteenth of GDDR memory (15 of a T4's 16 GiB are left), and the driver keeps some hundred MiB (14.56 GiB)."""

MOST_OF_MEMORY: Final = 1.02
"""And at most this: no driver reports more than there is, but makers round (94 GB, 141 GB)."""

_RDNA: Final = ("gfx10", "gfx11", "gfx12")
"""Consumer architectures of AMD: a runtime counts their compute units in pairs, and the kernel one by one."""


class KindFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every device of a kind reports. Empty or None: not known, so that nothing contradicts it."""

    architecture: str | None = None
    """`sm_86`, `gfx942`, without the features behind a colon."""
    units: tuple[int, ...] = ()
    """Units that are switched on; several where cards of one name differ."""
    memory_gib: tuple[float, ...] = ()
    """Sizes that the maker states; several for memory twins."""


class Reported(msgspec.Struct, frozen=True, kw_only=True):
    """What one device reports beside its name; None is unknown."""

    architecture: str | None = None
    num_units: int | None = None
    memory_bytes: int | None = None

    @property
    def bare_architecture(self) -> str | None:
        """`gfx942` of `gfx942:sramecc+:xnack-`."""
        return None if self.architecture is None else self.architecture.partition(":")[0]


def fits(facts: KindFacts, reported: Reported) -> bool:
    """Whether nothing that a device reports speaks against a kind.

    Units are compared exactly: a part is sold by how many are switched on, and a share of them (a partition of an
    MI300X, a limited client of CUDA's MPS) is not the part. What is unknown on either side is no contradiction.

    Args:
        facts: of the kind.
        reported: by the device.
    """
    architecture = reported.bare_architecture
    if None not in {facts.architecture, architecture} and facts.architecture != architecture:
        return False
    if facts.units and reported.num_units is not None and reported.num_units not in _counts(facts):
        return False
    memory = reported.memory_bytes
    if not facts.memory_gib or memory is None:
        return True
    shares = [memory / (size * GIB) for size in facts.memory_gib]
    return any(LEAST_OF_MEMORY <= share <= MOST_OF_MEMORY for share in shares)


def fitting_kinds(known: Mapping[str, KindFacts], reported: Reported) -> tuple[str, ...]:
    """List the kinds that a device without a name of its own may be, in alphabetical order.

    Args:
        known: facts by kind. A kind without a known architecture is not listed: too much fits it.
        reported: by the device. Without an architecture nothing is listed.
    """
    architecture = reported.bare_architecture
    if architecture is None:
        return ()
    return tuple(
        sorted(kind for kind, facts in known.items() if facts.architecture == architecture and fits(facts, reported))
    )


def _counts(facts: KindFacts) -> set[int]:
    if facts.architecture is not None and facts.architecture.startswith(_RDNA):
        return {count for units in facts.units for count in (units, units // 2)}
    return set(facts.units)
