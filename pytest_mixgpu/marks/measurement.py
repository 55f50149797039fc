"""What a metric found: values of repeats, and everything that speaks against them. Judges nothing."""

from collections.abc import Sequence

import msgspec

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.soundness import contradictions, same_weights
from pytest_mixgpu.records.model import RunRecord


class Blemish(msgspec.Struct, frozen=True, kw_only=True):
    """Why a repeat does not stand as it is."""

    repeat: int
    sentence: str
    run_id: str = ""
    """The run that is to blame."""


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """The values of a metric, repeat by repeat, in the metric's base unit."""

    values: dict[int, float] = {}
    """By repeat."""
    ideals: dict[int, float] = {}
    """Ideal of each repeat, for marks of a share of it."""
    own_gaps: dict[int, float] = {}
    """Distance of the controls from each other, for marks of a distance from them."""
    signed: dict[int, float] = {}
    """With its sign, where the value is a distance: seed-paired differences."""
    runs: tuple[RunRecord, ...] = ()
    """The runs behind the values."""
    lost: tuple[RunRecord, ...] = ()
    """Attempts that ended early and count as the worst value."""
    beyond: tuple[RunRecord, ...] = ()
    """Runs of a repeat that had its run before: listed, and no value."""
    wrong: tuple[Blemish, ...] = ()
    """Records that cannot be true, or are copies: nothing can be judged beside them, and the mark is VOID."""
    unfit: tuple[Blemish, ...] = ()
    """Attempts that are VOID: not comparable, impossible, below the target. Each counts as the worst value."""
    disturbed: tuple[Blemish, ...] = ()
    untargeted: str = ""
    """Why there is no target, without which nothing of this is good or bad; empty if there is one."""
    lacking: tuple[str, ...] = ()
    """What was not measured."""
    identical: tuple[str, ...] = ()
    """Results under one seed and kind that are bit by bit those of another, a sentence each: the note
    `deterministic-repeat`. They are one observation, so a repeat among them has no value of its own."""
    details: tuple[str, ...] = ()
    unit: str = ""
    """Of the values, where only the evidence knows it: a currency."""
    pool: str = ""


def wrong_runs(evidence: Evidence, runs: Sequence[RunRecord]) -> tuple[Blemish, ...]:
    """Return which of these runs cannot have been as they say, by themselves or beside the other attempts."""
    ids = [run.id for run in runs]
    found = [
        Blemish(repeat=run.header.repeat, sentence=text, run_id=run.id) for run in runs for text in contradictions(run)
    ]
    found += [Blemish(repeat=-1, sentence=text) for text in evidence.impossible if any(id_ in text for id_ in ids)]
    found += [Blemish(repeat=run.header.repeat, sentence=text, run_id=run.id) for text, run in same_weights(runs)]
    return tuple(found)
