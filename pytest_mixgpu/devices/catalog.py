"""Names of devices: from the string that a driver reports to one exact kind, or to why there is none. Asks no hardware.

Whole strings are compared, without regard to case, repeated blanks, trademark signs and the maker's prefix; never parts
of them. `catalog.toml` holds the names; forms that no list can hold (slices, profiles, cut names) are rules here. What
a device reports beside its name never makes a kind: it can only speak against one, or show which ones it might be.
"""

import difflib
import re
from typing import Final

import msgspec

from pytest_mixgpu.devices.catalog_file import (
    OWN_KIND,
    UNKNOWN,
    UNRESOLVED,
    Catalog,
    Entry,
    bare_name,
    is_derived,
    shipped_catalog,
    slug,
)
from pytest_mixgpu.devices.kind_facts import Reported, fits, fitting_kinds

FACTS_DISAGREE: Final = "facts-disagree"
"""The flag of a device that says one thing by its name and another by its units, memory or architecture."""


class Naming(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a name says."""

    kind: str
    """The exact kind, `unresolved` or `unknown`."""
    flags: tuple[str, ...] = ()
    """Why it is not the bare card, or what else has to be known: `vgpu`, `mig`, `memory-twins`, `generic-name`."""
    inferred: tuple[str, ...] = ()
    """Kinds that the rest fits where the name says none, in alphabetical order. For people, never matched."""


_MIG: Final = re.compile(r"(?P<card>.+) mig (?P<profile>\d+[cg]\.\d+gb(?:\.\d+gb)?(?:\+[a-z.]+)*)")
_VGPU: Final = re.compile(r"(?:grid )?(?P<card>[a-z]+\d+[a-z]*(?:-ada)?)-(?P<slice>\d+-)?\d+[abceq]")
_ARCHITECTURE: Final = re.compile(r"gfx[0-9a-f]+(?::[a-z]+[+-])*|(?:sm|compute)_\d+[a-z]?")
_BOARD: Final = re.compile(r"[a-z0-9]+-pg\d+-\d+")
_SEVERAL: Final = re.compile(r"[^/]+/[^/].*")
_IN_PART: Final = frozenset({"mig", "vgpu", "virtual-function"})
"""Flags of what is a part of a card: its units and memory are those of no card."""


def kind_of(  # noqa: PLR0913 - all that is known of a device
    name: str,
    *,
    vendor: str,
    memory_bytes: int | None = None,
    architecture: str | None = None,
    num_units: int | None = None,
    catalog: Catalog | None = None,
) -> Naming:
    """Name a device.

    Args:
        name: what the driver, the runtime or a list calls it.
        vendor: `nvidia`, `amd` or `intel`.
        memory_bytes: its memory, if known.
        architecture: `sm_86` or `gfx942`, if known. Several parts share one, so that it never decides alone.
        num_units: streaming multiprocessors or compute units, if known. They decide where two parts share a name.
        catalog: names to look in; None is the shipped ones.
    """
    names = shipped_catalog() if catalog is None else catalog
    naming = _by_name(name, vendor, num_units, names)
    reported = Reported(architecture=architecture, num_units=num_units, memory_bytes=memory_bytes)
    facts = names.facts.get(naming.kind)
    if facts is not None and not fits(facts, reported):
        naming = Naming(kind=UNRESOLVED, flags=(*naming.flags, FACTS_DISAGREE))
    if naming.kind != UNRESOLVED or _IN_PART & set(naming.flags):
        return naming
    return msgspec.structs.replace(naming, inferred=fitting_kinds(names.facts, reported))


def families(catalog: Catalog | None = None) -> dict[str, tuple[str, ...]]:
    """Models that are no kind, with the kinds of their parts in the catalog's order."""
    return dict((catalog or shipped_catalog()).families)


def is_kind(name: str, catalog: Catalog | None = None) -> bool:
    """Whether a request may name this: the catalog holds it, or a rule makes it (`a40-48q`, `h100-mig-1g.10gb`)."""
    return name in (catalog or shipped_catalog()).kinds or is_derived(name)


def near_kinds(name: str, catalog: Catalog | None = None) -> tuple[str, ...]:
    """Kinds and families that a misspelt name may have meant. For messages only; nothing is ever chosen by it."""
    known = catalog or shipped_catalog()
    return tuple(difflib.get_close_matches(name, sorted(known.kinds | set(known.families)), n=3, cutoff=0.7))


def _by_name(name: str, vendor: str, num_units: int | None, catalog: Catalog) -> Naming:
    text, had_prefix = bare_name(name, vendor)
    entry = catalog.names.get((vendor, text))
    if entry is not None:
        old = ("old-driver",) if vendor == "nvidia" and text.startswith("geforce ") and not had_prefix else ()
        return _decide(entry, num_units, old)
    for rule in (_by_partition, _by_guest):
        found = rule(text, vendor, catalog)
        if found is not None:
            return found
    return _by_form(text)


def _decide(entry: Entry, num_units: int | None, extra: tuple[str, ...]) -> Naming:
    flags = (*entry.flags, *extra)
    if num_units is None or not entry.units:
        return Naming(kind=entry.kind, flags=flags)
    kind = entry.units.get(num_units, UNRESOLVED)
    # A board that has units of no part that it carries is a contradiction; a name of several parts only stays open.
    disagree = (FACTS_DISAGREE,) if kind == UNRESOLVED != entry.kind else ()
    return Naming(kind=kind, flags=(*flags, *disagree))


def _by_partition(text: str, vendor: str, catalog: Catalog) -> Naming | None:
    """A slice of a card, or a guest's share of one: its profile is part of its kind."""
    slice_ = _MIG.fullmatch(text)
    if slice_ is not None:
        card = catalog.names.get((vendor, slice_["card"]))
        if card is None or card.kind == UNRESOLVED:
            return Naming(kind=UNRESOLVED, flags=("mig",))
        own = (OWN_KIND,) if OWN_KIND in card.flags else ()
        return Naming(kind=f"{_family_of(card.kind, catalog)}-mig-{slice_['profile']}", flags=("mig", *own))
    share = _VGPU.fullmatch(text)
    if vendor == "nvidia" and share is not None:
        flags = ("vgpu", "mig") if share["slice"] else ("vgpu",)
        return Naming(kind=slug(text.removeprefix("grid ")), flags=flags)
    return None


def _by_guest(text: str, vendor: str, catalog: Catalog) -> Naming | None:
    """A virtual function of a card: what a guest of a virtualised host sees."""
    if vendor != "amd" or not text.endswith(" vf"):
        return None
    card = catalog.names.get((vendor, text.removesuffix(" vf")))
    if card is None:
        return None
    kind = card.kind if card.kind == UNRESOLVED else f"{card.kind}-vf"
    return Naming(kind=kind, flags=(*card.flags, "virtual-function"))


def _by_form(text: str) -> Naming:
    """Why a string that no catalog holds names no single model, if its form shows that."""
    if not text:
        return Naming(kind=UNRESOLVED, flags=("empty",))
    if text.endswith(("...", "…")):
        return Naming(kind=UNRESOLVED, flags=("cut-name",))
    if _ARCHITECTURE.fullmatch(text):
        return Naming(kind=UNRESOLVED, flags=("arch-not-device",))
    if _BOARD.fullmatch(text):
        return Naming(kind=UNRESOLVED, flags=("internal-board-name",))
    if _SEVERAL.fullmatch(text):
        return Naming(kind=UNRESOLVED, flags=("two-parts-one-name",))
    return Naming(kind=UNKNOWN)


def _family_of(kind: str, catalog: Catalog) -> str:
    return next((family for family, kinds in catalog.families.items() if kind in kinds), kind)
