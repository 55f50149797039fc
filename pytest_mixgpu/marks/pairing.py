"""Which runs make one observation: from the runs that count to repeats, and attempts that ended early. Pure."""

from collections.abc import Sequence

import msgspec

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.records.model import RunRecord

Slot = tuple[str, str]
"""Name of a role's entry in the plan, and leg."""


class Repeat(msgspec.Struct, frozen=True, kw_only=True):
    """The runs of all roles that are one observation."""

    index: int
    runs: dict[Slot, RunRecord]


class Paired(msgspec.Struct, frozen=True, kw_only=True):
    """What there is to observe."""

    repeats: tuple[Repeat, ...]
    lost: tuple[RunRecord, ...]
    """One run for each attempt that ended early, yet after its first measured round or score: counts as the worst,
    whatever was completed before or after it."""
    lacking: tuple[str, ...]
    """What a repeat would need to be one, a sentence each."""
    beyond: tuple[RunRecord, ...]
    """Runs for which another run stands already: the first that completed counts, whatever it says."""

    @property
    def runs(self) -> tuple[RunRecord, ...]:
        """The runs of all repeats."""
        return tuple(run for repeat in self.repeats for run in repeat.runs.values())


def pair_in_session(evidence: Evidence, slots: Sequence[Slot]) -> Paired:
    """Pair runs that bracket each other, and so must come from one session: the first that has all of them counts."""
    found: dict[int, dict[str, list[RunRecord]]] = {}
    for run in _candidates(evidence, slots):
        found.setdefault(run.header.repeat, {}).setdefault(run.header.session, []).append(run)
    repeats: list[Repeat] = []
    lost: list[RunRecord] = []
    lacking: list[str] = []
    beyond: list[RunRecord] = []
    for index, sessions in sorted(found.items()):
        is_whole = False
        for runs in sessions.values():
            filled = _filled(runs, slots)
            lost += _lost(runs, is_whole=len(filled) == len(slots))
            if len(filled) == len(slots) and not is_whole:
                is_whole = True
                repeats.append(Repeat(index=index, runs=filled))
                beyond += [run for run in runs if run.status == "completed" and run not in filled.values()]
            elif is_whole:
                beyond += [run for run in runs if run.status == "completed"]
        if not is_whole:
            everywhere = [run for runs in sessions.values() for run in runs]
            missing = [slot for slot in slots if slot not in _filled(everywhere, slots)]
            lacking.append(f"repeat {index} lacks a completed run of {_slots(missing) or 'all in one session'}")
    return Paired(
        repeats=tuple(repeats),
        lost=tuple(lost),
        lacking=tuple(lacking) or (() if repeats else (f"there is no run of {_slots(slots)}",)),
        beyond=tuple(beyond),
    )


def pair_any(evidence: Evidence, slots: Sequence[Slot]) -> Paired:
    """Pair runs of one repeat from whatever sessions they come; in each slot the first completed run counts."""
    candidates = _candidates(evidence, slots)
    repeats: list[Repeat] = []
    lacking: list[str] = []
    beyond: list[RunRecord] = []
    for index in sorted({run.header.repeat for run in candidates}):
        runs = [run for run in candidates if run.header.repeat == index]
        filled = _filled(runs, slots)
        beyond += [run for run in runs if run.status == "completed" and run not in filled.values()]
        if len(filled) == len(slots):
            repeats.append(Repeat(index=index, runs=filled))
        else:
            lacking.append(f"repeat {index} lacks a completed run of {_slots([s for s in slots if s not in filled])}")
    return Paired(
        repeats=tuple(repeats),
        lost=tuple(run for run in candidates if run.status != "completed" and has_shown(run)),
        lacking=tuple(lacking) or (() if repeats else (f"there is no run of {_slots(slots)}",)),
        beyond=tuple(beyond),
    )


def _lost(runs: Sequence[RunRecord], *, is_whole: bool) -> list[RunRecord]:
    """Return the attempts of one session that ended early and count: a good one after them does not undo them."""
    failed = [run for run in runs if run.status != "completed"]
    shown = [run for run in failed if has_shown(run)]
    if shown or is_whole or not any(has_shown(run) for run in runs):
        return shown
    # The bracket is one attempt: whoever saw its first measured round could like it or not.
    return [failed[0] if failed else runs[-1]]


def has_shown(run: RunRecord) -> bool:
    """Say whether a run got far enough for somebody to like or dislike what it shows."""
    return bool(run.measured_rounds or run.evaluations)


def _candidates(evidence: Evidence, slots: Sequence[Slot]) -> list[RunRecord]:
    return [run for run in evidence.runs if (run.header.name, run.header.leg) in slots]


def _filled(runs: Sequence[RunRecord], slots: Sequence[Slot]) -> dict[Slot, RunRecord]:
    """Return the first completed run of each slot that has one."""
    filled: dict[Slot, RunRecord] = {}
    for run in runs:
        slot = (run.header.name, run.header.leg)
        if slot in slots and run.status == "completed":
            filled.setdefault(slot, run)
    return filled


def _slots(slots: Sequence[Slot]) -> str:
    return ", ".join(f"{name} ({leg})" if leg else name for name, leg in slots)
