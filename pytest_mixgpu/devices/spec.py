"""The request for devices: from text such as `a40:16` to a `PoolSpec` and back. Knows no hardware.

Grammar: `auto`, or terms parted by commas. A term is a kind or a vendor word (`cuda`, `rocm`), then optionally `:` and
a count or `all`; without it, one is meant. Neither case nor blanks around parts matter, nor does the order of terms.
"""

import re
from typing import Final

import msgspec

from pytest_mixgpu.errors import SpecError

AUTO: Final = "auto"
"""Every GPU, else every core."""

VENDOR_WORDS: Final = {"cuda": "nvidia", "rocm": "amd"}
"""Requests for whatever parts of one vendor are here."""

MAX_COUNT: Final = 65_536
"""More devices than any pool has; a larger number is a slip of the keyboard."""

_NAME: Final = re.compile(r"[a-z][a-z0-9]*(?:[-.+][a-z0-9]+)*")
_COUNT: Final = re.compile(r"[1-9][0-9]{0,4}")
_EXAMPLES: Final = "a40:16, a40:1,rtx4090:1,mi300x:1, cuda:4, rocm:all, cpu:2 or auto"


class SpecTerm(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, order=True):
    """How many devices of one name."""

    name: str
    """A kind, a vendor word or `auto`, in lower case."""
    count: int | None
    """None is all that are here."""

    def __post_init__(self) -> None:
        """Refuse what no text could say.

        Raises:
            SpecError: the name is not one, or the count is out of range.
        """
        if not _NAME.fullmatch(self.name):
            raise SpecError(f"{self.name!r} is no name of a device kind. Write for example {_EXAMPLES}.")
        if self.count is not None and not 1 <= self.count <= MAX_COUNT:
            raise SpecError(f"{self.name}:{self.count} was found, a count from 1 to {MAX_COUNT} or `all` is expected.")
        if self.name == AUTO and self.count is not None:
            raise SpecError("auto takes no count: it means every GPU, else every core. Write cuda:N, rocm:N or cpu:N.")

    @property
    def is_vendor(self) -> bool:
        """Whether any part of a vendor will do."""
        return self.name in VENDOR_WORDS

    def __str__(self) -> str:
        if self.name == AUTO:
            return AUTO
        return f"{self.name}:{'all' if self.count is None else self.count}"


class PoolSpec(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A request for a pool, in canonical form: terms sorted by name, each name once."""

    terms: tuple[SpecTerm, ...]

    def __post_init__(self) -> None:
        """Bring terms into canonical order.

        Raises:
            SpecError: there is no term, one name occurs twice, or `auto` stands beside others.
        """
        names = [term.name for term in self.terms]
        if not names:
            raise SpecError(f"The request for devices is empty. Write for example {_EXAMPLES}.")
        twice = sorted({name for name in names if names.count(name) > 1})
        text = ",".join(map(str, self.terms))
        if twice:
            raise SpecError(f"{twice[0]} is asked for twice in {text}. Write it once, with the sum.")
        if AUTO in names and len(names) > 1:
            raise SpecError(f"auto stands alone: it means every GPU, else every core. Found {text}.")
        msgspec.structs.force_setattr(self, "terms", tuple(sorted(self.terms, key=lambda term: term.name)))

    @classmethod
    def parse(cls, text: str) -> "PoolSpec":
        """Read a request as a person types it.

        Args:
            text: for example `a40:1,rtx4090:1,mi300x:1`.

        Raises:
            SpecError: the text does not follow the grammar; the message names the part that does not.
        """
        if not text.strip():
            raise SpecError(f"The request for devices is empty. Write for example {_EXAMPLES}.")
        return cls(terms=tuple(_parse_term(part, text) for part in text.split(",")))

    @property
    def is_auto(self) -> bool:
        """Whether the machine decides."""
        return self.terms[0].name == AUTO

    def __str__(self) -> str:
        return ",".join(map(str, self.terms))


def _parse_term(part: str, text: str) -> SpecTerm:
    name, colon, count = (piece.strip().lower() for piece in part.partition(":"))
    if not name and not colon:
        raise SpecError(f"{text!r} has an empty part between commas. Write for example {_EXAMPLES}.")
    if not _NAME.fullmatch(name):
        raise SpecError(f"{name!r} in {text!r} is no name of a device kind. Write for example {_EXAMPLES}.")
    if not colon:
        return SpecTerm(name=name, count=None if name == AUTO else 1)
    if name == AUTO:
        raise SpecError("auto takes no count: it means every GPU, else every core. Write cuda:N, rocm:N or cpu:N.")
    if count == "all":
        return SpecTerm(name=name, count=None)
    if not _COUNT.fullmatch(count):
        raise SpecError(f"no count after {name}: found {count!r}, expected a whole number from 1 on or `all`.")
    return SpecTerm(name=name, count=int(count))
