"""The rounds of a very long run: those that are many to hold are kept as the bytes that they were read as.

A round of a thousand participants is a megabyte of JSON and more than twice that as values. Up to a budget rounds are
held as values; further ones are made of their bytes, which were checked when they were read, each time somebody looks.
"""

from collections.abc import Iterator, Sequence
from typing import overload

import msgspec

from pytest_mixgpu.records.codec import decode_again
from pytest_mixgpu.records.model import RoundLine

BUDGET = 500_000
"""So many participants of rounds are held as values: about a gigabyte."""


class _Kept(msgspec.Struct, frozen=True):
    """One round: as a value, or as bytes with the schema that they follow."""

    line: RoundLine | None
    raw: bytes
    schema: int
    is_unjudged: bool

    def get(self) -> RoundLine:
        if self.line is not None:
            return self.line
        found = decode_again(self.raw, schema=self.schema)
        if not isinstance(found, RoundLine):
            raise TypeError(f"found a {type(found).__name__} among the rounds, expected a RoundLine")
        return found


class LongRounds(Sequence[RoundLine]):
    """Rounds in their order, read like a tuple of them.

    Args:
        kept: rounds that are there already.
        budget: so many participants of rounds are held as values.
    """

    def __init__(self, kept: Sequence[_Kept] = (), *, budget: int = BUDGET) -> None:
        self._kept = list(kept)
        self._num_seen = 0
        self._budget = budget

    def add(self, line: RoundLine, raw: bytes, *, schema: int) -> None:
        """Take the next round.

        Args:
            line: the round.
            raw: what it was read from, without an end-of-line.
            schema: the version that the record's header states.
        """
        self._num_seen += len(line.participants)
        is_held = self.are_all_held
        kept = _Kept(line if is_held else None, b"" if is_held else raw, schema, line.warmup or line.instrumented)
        self._kept.append(kept)

    @property
    def are_all_held(self) -> bool:
        """Whether every round is a value."""
        return self._num_seen <= self._budget

    @property
    def measured(self) -> "LongRounds":
        """The rounds after the warm-up."""
        return LongRounds([kept for kept in self._kept if not kept.is_unjudged])

    def __len__(self) -> int:
        return len(self._kept)

    def __iter__(self) -> Iterator[RoundLine]:
        return (kept.get() for kept in self._kept)

    @overload
    def __getitem__(self, index: int) -> RoundLine: ...
    @overload
    def __getitem__(self, index: slice) -> "LongRounds": ...
    def __getitem__(self, index: int | slice) -> "RoundLine | LongRounds":
        if isinstance(index, slice):
            return LongRounds(self._kept[index])
        return self._kept[index].get()
