"""The judge of users' own numbers: from a mark and samples or a bare number to a `Verdict`. Pure.

There is no plan and no record behind these; what is not known of them is said.
"""

import math
import statistics
from collections.abc import Sequence

from msgspec.structs import replace

from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.marks.comparison import meets
from pytest_mixgpu.marks.lock import Lock, broken_seals, compare, lock_digest
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Note, PassMark, Qualifier, Verdict
from pytest_mixgpu.marks.rules import forced_by_rules, refused, told
from pytest_mixgpu.marks.statistics import spread_of
from pytest_mixgpu.timing.model import Samples

SECONDS = {"s": 1.0, "ms": 1e3, "us": 1e6, "µs": 1e6, "ns": 1e9, "min": 1 / 60, "h": 1 / 3600}
"""How many of a unit make a second."""
_CONCERNING = ("code", "judge", "tests")
"""Amendments that concern a number which no run stands behind."""
_ONE_RUN = (
    "samples and numbers are those of one run: give the suite a plan and judge the `runs` fixture, or leave "
    "least_runs and straddling out of the marker"
)


def judge_samples(  # noqa: PLR0911, PLR0913 - one return a word, one keyword for each thing that is known
    mark: PassMark,
    samples: Samples,
    *,
    lock: Lock | None = None,
    stands_in: bool = False,
    changes: Sequence[str] = (),
    place: str = "",
) -> Verdict:
    """Judge durations that the stopwatch took.

    Args:
        mark: as collected; its unit is one of time.
        samples: with the devices that did the work.
        lock: of the suite.
        stands_in: whether the session's CPU pool stands in for the mark's own: a rehearsal.
        changes: what of the code behind the number and its judgement differs from the lock, a sentence each.
        place: the test that carries the mark.
    """
    verdict = _start(mark, lock, stands_in=stands_in, changes=changes, place=place)
    pool = _pool_text(samples.kinds)
    if samples.disturbed:
        verdict = replace(verdict, notes=(*verdict.notes, "disturbed"), details=(*samples.disturbed, *verdict.details))
    verdict = replace(verdict, pool=pool or mark.pool)
    if verdict.word == "TAMPERED":
        return verdict
    if mark.unit not in SECONDS:
        reason = f"samples are durations, the mark's unit is {mark.unit!r}; expected one of {', '.join(SECONDS)}"
        return replace(verdict, reason=reason, remedy="judge a number with that unit, or give the mark a unit of time")
    if mark.metric in METRICS or mark.of is not None:
        return replace(
            verdict,
            reason=f"{mark.metric} is computed from run records, not from samples",
            remedy="judge the `runs` fixture",
        )
    if mark.pool and not stands_in:
        if not samples.kinds:
            return replace(
                verdict, reason=f"the mark is for {mark.pool}, the samples do not say what they were taken on"
            )
        if pool != str(PoolSpec.parse(mark.pool)):
            return replace(
                verdict, word="VOID", reason=f"the mark is for {mark.pool}, the samples were taken on {pool}"
            )
    refusal = refused(mark, samples.disturbed)
    if refusal is not None and not stands_in:
        return replace(verdict, word=refusal[0], reason=refusal[1], remedy="measure again on quiet devices")
    values = [value * SECONDS[mark.unit] for value in samples.values_s]
    detail = (
        f"median of {len(values)} samples after {len(samples.warmups_s)} warm-ups ({samples.clock} clock), "
        f"{min(values):.4g} to {max(values):.4g} {mark.unit}; all of one run, so no interval"
    )
    return _compare(mark, replace(verdict, details=(detail, *verdict.details)), statistics.median(values))


def judge_value(  # noqa: PLR0913 - one keyword for each thing that a test can state
    mark: PassMark,
    value: float,
    *,
    lock: Lock | None = None,
    stands_in: bool = False,
    devices: tuple[str, ...] = (),
    changes: Sequence[str] = (),
    place: str = "",
) -> Verdict:
    """Judge a bare number, in the unit of the mark.

    Args:
        mark: as collected.
        value: as the test worked it out.
        lock: of the suite.
        stands_in: whether the session's CPU pool stands in for the mark's own: a rehearsal.
        devices: kinds on which it was measured, as the test states them.
        changes: what of the code behind the number and its judgement differs from the lock, a sentence each.
        place: the test that carries the mark.
    """
    notes: list[Note] = ["value-stated", "self-reported"]
    if devices:
        notes.append("devices-stated")
    verdict = _start(mark, lock, stands_in=stands_in, notes=tuple(notes), changes=changes, place=place)
    if verdict.word == "TAMPERED":
        return verdict
    if mark.of is not None:
        return replace(
            verdict,
            reason=f"of={mark.of!r} is worked out from run records, a number has none",
            remedy="judge the `runs` fixture",
        )
    if mark.pool and not stands_in:
        stated = _pool_text(devices)
        if not stated:
            return replace(verdict, reason=f"the mark is for {mark.pool}, the number does not say what it was taken on")
        if stated != str(PoolSpec.parse(mark.pool)):
            return replace(
                verdict, word="VOID", reason=f"the mark is for {mark.pool}, the number was taken on {stated}"
            )
    return _compare(mark, verdict, float(value))


def _start(  # noqa: PLR0913 - one argument for each thing that is known before the number
    mark: PassMark,
    lock: Lock | None,
    *,
    stands_in: bool,
    changes: Sequence[str],
    place: str,
    notes: tuple[Note, ...] = (),
) -> Verdict:
    qualifiers: list[Qualifier] = ["rehearsal"] if stands_in else []
    frozen = None if lock is None else lock.mark(mark.id)
    if frozen is None:
        qualifiers.append("exploratory")
    amendments = () if lock is None else lock.amendments(mark.id, *_CONCERNING)
    further: list[Note] = ["code-changed"] if changes else []
    further += ["amended"] if amendments else []
    faults: list[str] = []
    if lock is not None:
        faults += broken_seals(lock)
        where = f"the marker in {place}" if place else "the marker"
        faults += [str(one) for one in compare(lock, mark=mark, place=where)] if frozen is not None else []
    return Verdict(
        id=mark.id,
        is_claim=False,
        word="TAMPERED" if faults else "UNJUDGED",
        reason=faults[0] if faults else "nothing was measured",
        qualifiers=tuple(qualifiers),
        notes=("preliminary", *notes, *further),
        metric=mark.metric,
        comparator=mark.comparator,
        bound=mark.bound,
        unit=mark.unit,
        pool=mark.pool,
        details=(*faults[1:], *(f"code-changed: {text}" for text in changes)),
        lock_digest=lock_digest(lock),
        frozen_at="" if lock is None else lock.frozen_since(mark.id),
        amendments=tuple(one.sentence for one in amendments),
    )


def _compare(mark: PassMark, verdict: Verdict, value: float) -> Verdict:
    if not math.isfinite(value):
        return replace(verdict, reason=f"{mark.metric} is {value!r}: no measured number")
    passes = meets(abs(value) if mark.comparator == "within" else value, mark.comparator, mark.bound)
    relation = {"at_least": "at least", "at_most": "at most", "within": "within"}[mark.comparator]
    state = "is" if passes else "is not"
    spread = spread_of([value])
    is_rehearsal = "rehearsal" in verdict.qualifiers
    verdict = replace(
        verdict,
        value=value,
        n=1,
        low=value,
        high=value,
        run_values=(value,),
        interval_method=spread.method,
        details=(*verdict.details, *told(mark, rehearsal=is_rehearsal)),
    )
    forced = forced_by_rules(mark, [value], mark.bound, num_runs=1)
    if forced is not None and not is_rehearsal:
        return replace(verdict, word=forced[0], reason=forced[1], remedy=_ONE_RUN)
    return replace(
        verdict,
        word="PASS" if passes else "FAIL",
        reason=f"{mark.metric} {value:.6g} {mark.unit} {state} {relation} {mark.bound:.6g} {mark.unit}",
    )


def _pool_text(kinds: tuple[str, ...]) -> str:
    return ",".join(f"{kind}:{kinds.count(kind)}" for kind in sorted(set(kinds)))
