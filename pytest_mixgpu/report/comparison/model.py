"""The rows of two sessions side by side: text only, already formatted and neutralised."""

from typing import Literal

import msgspec

from pytest_mixgpu.report.model import MarkRow, Pair, Tone


class SideRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One of the two sessions."""

    name: Literal["A", "B"]
    place: str
    """Its verdicts, as the reader will look for them."""
    headline: str
    tone: Tone
    made_at: str
    pools: str
    num_runs: str
    seals: tuple[Pair, ...]
    notes: tuple[str, ...] = ()
    """What is to be known of it before its numbers are read."""


class ComparedRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One mark or claim on both sides; None where a side says nothing of it."""

    id: str
    is_claim: bool
    a: MarkRow | None
    b: MarkRow | None
    difference: str = ""
    """`B is higher by 0.12 x`; empty where there are no two values that may be used."""
    certainty: str = ""
    """Whether that can be told, with its interval, or why it cannot be said."""
    tone: Tone = "plain"


class FactRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something of devices, hosts or versions that is not alike on both sides."""

    name: str
    a: str
    b: str


class Comparison(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two sessions of one suite, ready to be printed."""

    suite: str
    headline: str
    a: SideRow
    b: SideRow
    marks: tuple[ComparedRow, ...]
    facts: tuple[FactRow, ...]
    num_alike: int
    """Facts that are alike on both sides, and not listed."""
    limits: tuple[str, ...]
    """What a comparison cannot show."""

    @property
    def sides(self) -> tuple[SideRow, SideRow]:
        """Both sides, in order."""
        return self.a, self.b
