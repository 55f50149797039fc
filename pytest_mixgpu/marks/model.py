"""The values of this room: `PassMark`, `Claim`, `Verdict`."""

from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

Word = Literal["PASS", "FAIL", "VOID", "TAMPERED", "UNJUDGED"]
Qualifier = Literal["emulated", "rehearsal", "exploratory"]
QUALIFIERS: tuple[Qualifier, ...] = ("emulated", "rehearsal", "exploratory")
"""Strongest first."""
Note = Literal[
    "preliminary", "inconclusive", "disturbed", "amended", "code-changed", "unanchored", "unattested",
    "committed-late", "unwitnessed", "self-reported", "devices-stated", "value-stated", "mixed-environments",
    "deterministic-repeat",
]  # fmt: skip
Comparator = Literal["at_least", "at_most", "within"]
Reference = Literal["ideal", "controls"]
Straddling = Literal["decide", "unjudged", "fail"]
"""What becomes of a mark whose interval lies on both sides of its bound: the median decides and `inconclusive` is
noted, or the mark is UNJUDGED, or it is not met."""


Disturbed = Literal["count", "refuse"]
"""What becomes of a mark of whose runs one was disturbed: that run counts as the worst value, or the mark is
UNJUDGED."""


class PassMark(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A bound on one metric, as data."""

    id: str
    metric: str
    comparator: Comparator
    bound: float
    unit: str
    of: Reference | None = None
    """`ideal`: the bound is a share of the ideal speed-up; `controls`: a distance from the controls' mean."""
    pool: str = ""
    """Canonical request; empty where the plan names it."""
    statistic: str = "median"
    conditions: tuple[tuple[str, str], ...] = ()
    least_runs: int = 1
    """With fewer runs than these the mark is UNJUDGED, whatever the plan asks for."""
    straddling: Straddling = "decide"
    disturbed: Disturbed | UnsetType = UNSET
    """Unset, and no part of the seal: `count`."""


class Claim(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A checklist item without a number."""

    id: str
    checks: tuple[str, ...] = ()
    """Names from the registry of checks, in the order in which they are made."""


class Verdict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the judge says of one mark or claim. Every text shown of it is derived from these fields."""

    id: str
    is_claim: bool
    word: Word
    reason: str
    """One sentence: why this word."""
    qualifiers: tuple[Qualifier, ...] = ()
    notes: tuple[Note, ...] = ()
    metric: str = ""
    comparator: Comparator | None = None
    bound: float | None = None
    """The bound that was applied, after `of` was worked out."""
    bound_origin: str = ""
    """How it came about: `0.70 of the ideal 16`."""
    value: float | None = None
    unit: str = ""
    n: int = 0
    """Runs behind the value."""
    low: float | None = None
    high: float | None = None
    """Range of the runs' values."""
    run_values: tuple[float, ...] = ()
    """The `n` values that `value` is the median of, in the mark's unit and in the order of their repeats. A value that
    takes several runs (a baseline, a fleet and a baseline again) stands once; what is not finite is left out."""
    interval: tuple[float, float] | None = None
    """95 % interval with the run as unit; None at n = 1."""
    interval_method: str = ""
    resolvable: float | None = None
    """The smallest difference that so many runs, so far apart, could have shown, in the mark's unit; None at n = 1."""
    pool: str = ""
    run_ids: tuple[str, ...] = ()
    details: tuple[str, ...] = ()
    """Further sentences, in order of weight: which clause passed, phases, what the number cannot show."""
    follows_from: str = ""
    """Id of the mark or run whose failure causes this one."""
    lock_digest: str = ""
    frozen_at: str = ""
    witness: tuple[str, ...] = ()
    """What git and heads that were kept outside show of lock and ledger, and what they cannot, a sentence each."""
    amendments: tuple[str, ...] = ()
    ledger_head: str = ""
    ledger_count: int = 0
    remedy: str = ""
    """What to do to get another word: the `--gpus` that it needs, the file to fetch."""

    @property
    def passed(self) -> bool:
        """Whether the test may go on; all other words fail it."""
        return self.word == "PASS"
