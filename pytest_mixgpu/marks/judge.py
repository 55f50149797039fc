"""The judge of pass marks: from a mark and evidence, samples or a number to a `Verdict`. Pure: measures nothing.

In order: what does not match its seal is TAMPERED; a measurement that is impossible or of something else is VOID; what
was not measured is UNJUDGED; only then is the value compared with the bound.
"""

import math
from collections.abc import Sequence

from msgspec.structs import replace

from pytest_mixgpu.marks.beside import (
    asides_of,
    how_sure,
    notes_on,
    notes_without_numbers,
    why_unfinished,
    why_unreadable,
    with_asides,
)
from pytest_mixgpu.marks.comparison import meets, share_of
from pytest_mixgpu.marks.evidence import Evidence, LostRun
from pytest_mixgpu.marks.measurement import Blemish, Measurement
from pytest_mixgpu.marks.metrics import METRICS, Metric
from pytest_mixgpu.marks.model import PassMark, Qualifier, Verdict, Word
from pytest_mixgpu.marks.parity_beside import beside_parity
from pytest_mixgpu.marks.rules import forced_by_rules, refused, told
from pytest_mixgpu.marks.seals import amendments_of, is_frozen, tampering
from pytest_mixgpu.marks.since import since_frozen
from pytest_mixgpu.marks.statistics import resolvable_difference, spread_of, straddles
from pytest_mixgpu.records.model import Role

_DESCRIBE = "run a workload that the plan describes, or describe this one in benchmark.toml with its target"


_MAX_CAUSES = 2
"""So many causes fit into one sentence; the details hold all."""


def judge_mark(mark: PassMark, evidence: Evidence) -> Verdict:
    """Judge a mark on the runs of an experiment.

    Args:
        mark: as collected now; it is compared with the lock.
        evidence: all that is known.
    """
    counted = since_frozen(evidence, mark)
    return with_asides(_judged(mark, counted), mark, evidence, counted)


def _judged(mark: PassMark, evidence: Evidence) -> Verdict:
    verdict = _blank(mark, evidence)
    faults = tampering(evidence, mark)
    if faults:
        return replace(verdict, word="TAMPERED", reason=faults[0], details=faults[1:])
    metric = METRICS.get(mark.metric)
    if metric is None:
        reason = f"{mark.metric} cannot be computed from run records; known are {', '.join(METRICS)}"
        return replace(verdict, reason=reason, remedy="judge samples or a number, or choose another metric")
    found = metric.compute(evidence)
    scale = metric.units.get(mark.unit, 1.0)
    unfit = {blemish.repeat for blemish in found.unfit}
    nominal = {index: value * scale for index, value in found.values.items() if index not in unfit}
    # A void mark still shows what was measured.
    shown = nominal or {index: value * scale for index, value in found.values.items()}
    verdict = _with_numbers(mark, metric, evidence, found, shown, verdict)
    refusal = _refusal(mark, found, rehearsal=evidence.rehearsal)
    if refusal is not None:
        return replace(verdict, word=refusal[0], reason=refusal[1])
    if found.wrong:
        return _void(verdict, found.wrong)
    if not nominal:
        return _nothing(evidence, found, verdict)
    return _weigh(mark, metric, evidence, found, nominal, verdict)


def _refusal(mark: PassMark, found: Measurement, *, rehearsal: bool) -> tuple[Word, str] | None:
    """Say why the evidence is not for this mark: other devices, or another unit. A rehearsal stands in on others."""
    if mark.pool and mark.pool != found.pool and not rehearsal:
        return "VOID", f"the mark is for {mark.pool}, the runs were made on {found.pool}"
    if found.unit and found.unit != mark.unit:
        return "UNJUDGED", f"{mark.metric} is in {found.unit}, the mark's unit is {mark.unit}"
    return None


def _with_numbers(  # noqa: PLR0913, PLR0917 - one argument a step on the way to the numbers
    mark: PassMark,
    metric: Metric,
    evidence: Evidence,
    found: Measurement,
    nominal: dict[int, float],
    verdict: Verdict,
) -> Verdict:
    """Fill in what was measured and what it is compared with, whatever the word will be."""
    verdict = replace(
        verdict,
        notes=notes_on(mark, evidence, found, _num_together(evidence) if metric.is_of_whole else len(nominal)),
        pool=found.pool,
        run_ids=tuple(run.id for run in found.runs),
        details=(*found.details, *found.identical, *asides_of(evidence, found)),
    )
    values = list(nominal.values())
    if not values or any(math.isnan(value) for value in values):
        return verdict
    bound, origin = _bound(mark, found, nominal)
    spread = spread_of(values, is_ratio=metric.is_ratio)
    resolvable, interval = spread.resolvable, spread.interval
    if found.signed and interval is not None:
        # No distance is below 0, whatever is taken as normal.
        interval = max(0.0, interval[0]), interval[1]
    if found.signed:
        # A distance has no sign, and says less of what could have been shown than the differences behind it.
        scale = metric.units.get(mark.unit, 1.0)
        resolvable = resolvable_difference([scale * found.signed[index] for index in nominal])
    further = (*told(mark, rehearsal=evidence.rehearsal), *beside_parity(mark, found, nominal))
    if metric.is_of_whole:
        return _of_whole(replace(verdict, bound=bound, value=spread.median), evidence, further)
    return replace(
        verdict,
        bound=bound,
        bound_origin=origin,
        value=spread.median,
        n=spread.n,
        low=spread.low,
        high=spread.high,
        run_values=tuple(nominal[index] for index in sorted(nominal) if math.isfinite(nominal[index])),
        interval=interval,
        interval_method=spread.method,
        resolvable=resolvable,
        notes=(*verdict.notes, *(("inconclusive",) if straddles(spread.interval, bound) else ())),
        details=(*how_sure(mark, spread, resolvable), *further, *verdict.details),
    )


def _of_whole(verdict: Verdict, evidence: Evidence, further: Sequence[str]) -> Verdict:
    """Fill in one number that stands on all runs together: it has no spread, however many there are."""
    num_runs = len(verdict.run_ids)
    said = f"one number of all {num_runs} runs together: how far such numbers lie apart is not known"
    return replace(
        verdict,
        n=_num_together(evidence),
        run_values=() if verdict.value is None else (verdict.value,),
        details=(f"{said}, and there is no interval", *further, *verdict.details),
    )


def _weigh(  # noqa: PLR0911, PLR0913, PLR0917 - one return a word, one argument a step on the way to it
    mark: PassMark,
    metric: Metric,
    evidence: Evidence,
    found: Measurement,
    nominal: dict[int, float],
    verdict: Verdict,
) -> Verdict:
    """Compare what was measured with the bound, attempts that ended early counted as the worst value."""
    if verdict.bound is None or verdict.value is None:
        return replace(verdict, reason=f"{mark.metric} is not a number")
    if found.untargeted:
        return replace(verdict, reason=found.untargeted, remedy=_DESCRIBE)
    refusal = refused(mark, [blemish.sentence for blemish in found.disturbed])
    if refusal is not None and not evidence.rehearsal:
        return replace(verdict, word=refusal[0], reason=refusal[1], remedy=_further(evidence, found))
    unfit = {blemish.repeat for blemish in found.unfit}
    # A rehearsal is no evidence and takes its value as it is, with the note; else a disturbed attempt counts as lost.
    shaken = set() if evidence.rehearsal else {blemish.repeat for blemish in found.disturbed}
    kept = [value for index, value in nominal.items() if index not in shaken]
    unreadable = [lost for lost in evidence.lost if not lost.was_closed and _concerns(lost.role, found, metric)]
    num_worst = len(found.lost) + len(unreadable) + len(unfit | (shaken & set(found.values)))
    passes = meets(verdict.value, mark.comparator, verdict.bound)
    # Beyond any bound, so that it decides where it is one of two.
    worst_of_all = -math.inf if mark.comparator == "at_least" else math.inf
    worst = spread_of([*kept, *[worst_of_all] * num_worst]).median if num_worst else verdict.value
    if meets(worst, mark.comparator, verdict.bound) != passes:
        reason, causes = _flipped(evidence, found, unreadable, num_worst)
        return replace(
            verdict,
            word="UNJUDGED",
            reason=reason,
            details=tuple(dict.fromkeys((*causes, *verdict.details))),
            remedy=_further(evidence, found),
        )
    planned = evidence.seeds.runs
    made = _whole_repeats(evidence) if metric.is_of_whole else len(found.values)
    if not evidence.rehearsal and made < planned:
        reason = f"{made} of {planned} planned runs were made"
        return replace(verdict, word="UNJUDGED", reason=reason, remedy=_further(evidence, found))
    if not evidence.rehearsal:
        # An attempt that counts as the worst value speaks against a mark, and is no run that speaks for it.
        num_runs = len(kept) if passes else len(kept) + num_worst
        counted = [*kept, *[worst_of_all] * num_worst]
        forced = forced_by_rules(mark, counted, verdict.bound, num_runs=num_runs, is_ratio=metric.is_ratio)
        if forced is not None:
            remedy = _further(evidence, found, mark) if forced[0] == "UNJUDGED" else ""
            return replace(verdict, word=forced[0], reason=forced[1], remedy=remedy)
    word: Word = "PASS" if passes else "FAIL"
    return replace(verdict, word=word, reason=_reason(mark, verdict, passes=passes))


def _further(evidence: Evidence, found: Measurement, mark: PassMark | None = None) -> str:
    """Say which runs would help: those that the lock names and that were not made, if there are any."""
    if evidence.rehearsal:
        return evidence.remedy()
    num_open = sum(index not in found.values for index in range(evidence.seeds.runs))
    if num_open:
        return f"make the others: --mixgpu-runs={num_open}"
    if mark is not None:
        named = "1 run" if evidence.seeds.runs == 1 else f"{evidence.seeds.runs} runs"
        return (
            f"the lock names {named} of each role: raise `runs` under [seeds] in benchmark.toml, "
            "give the reason with --passmark-amend=plan --passmark-why=TEXT, and make them; --passmark-plan says how "
            "many are needed"
        )
    return (
        "no further runs are planned: a new report folder (--mixgpu-report=DIR) starts anew, and this one is kept "
        "beside it"
    )


def _whole_repeats(evidence: Evidence) -> int:
    """Count the repeats that every planned role completed: a value of the whole experiment stands on all of them."""
    repeats: dict[str, set[int]] = {role.name: set() for role in evidence.roles}
    for run in evidence.completed:
        repeats.setdefault(run.header.name, set()).add(run.header.repeat)
    return len(set.intersection(*repeats.values())) if repeats else 0


def _num_together(evidence: Evidence) -> int:
    """How many runs of each role one number of the whole stands on, where there is one at all."""
    return max(1, _whole_repeats(evidence))


def _bound(mark: PassMark, found: Measurement, nominal: dict[int, float]) -> tuple[float, str]:
    """Work out the bound that is applied, and how it came about."""
    if mark.of == "ideal":
        ideal = spread_of([found.ideals[index] for index in nominal]).median
        return share_of(mark.bound, ideal), f"{mark.bound:g} of the ideal {ideal:g}"
    if mark.of == "controls":
        gap = spread_of([found.own_gaps[index] for index in nominal]).median
        if not meets(gap, "at_most", mark.bound):
            return gap, f"the controls' own gap, being larger than {mark.bound:g} {mark.unit}"
        return mark.bound, f"{mark.bound:g} {mark.unit} of the controls' mean; their own gap, {gap:.3g}, is not larger"
    return mark.bound, ""


def _reason(mark: PassMark, verdict: Verdict, *, passes: bool) -> str:
    relation = {"at_least": "at least", "at_most": "at most", "within": "within"}[mark.comparator]
    value, bound = verdict.value or 0.0, verdict.bound or 0.0
    clause = ""
    if mark.of == "controls" and passes:
        is_first = meets(value, "within", mark.bound)
        clause = (
            f", by the clause of {mark.bound:g} {mark.unit}" if is_first else ", by the clause of the controls' own gap"
        )
    count = f"median of {verdict.n} runs" if verdict.n > 1 else "one run"
    if METRICS[mark.metric].is_of_whole:
        count = f"all {len(verdict.run_ids)} runs together"
    state = "is" if passes else "is not"
    return f"{mark.metric} {value:.6g} {mark.unit} ({count}) {state} {relation} {bound:.6g} {mark.unit}{clause}"


def _void(verdict: Verdict, blemishes: Sequence[Blemish]) -> Verdict:
    first, *others = blemishes
    details = (*(blemish.sentence for blemish in others), *verdict.details)
    return replace(
        verdict,
        word="VOID",
        reason=first.sentence,
        follows_from=first.run_id,
        details=tuple(dict.fromkeys(text for text in details if text != first.sentence)),
    )


def _nothing(evidence: Evidence, found: Measurement, verdict: Verdict) -> Verdict:
    """No repeat has a value: say whether it failed, did not count, or was never measured."""
    if found.unfit:
        return _void(verdict, found.unfit)
    failed = [run for run in evidence.unfinished if run in found.lost] or [
        run for run in evidence.unfinished if run.header.role in _ROLES.get(verdict.metric, ())
    ]
    if failed:
        run = failed[0]
        reason = why_unfinished(run, running=evidence.ledger.running)
        return replace(verdict, word="VOID", reason=reason, follows_from=run.id)
    reason = found.lacking[0] if found.lacking else "nothing was measured"
    details = tuple(text for text in verdict.details if text != reason)
    return replace(
        verdict,
        word="UNJUDGED",
        reason=reason,
        details=details,
        remedy=evidence.remedy(*_ROLES.get(verdict.metric, ())),
    )


_ROLES: dict[str, tuple[Role, ...]] = {
    "speedup": ("baseline", "fleet"),
    "samples_per_s": ("fleet",),
    "round_s": ("fleet",),
    "accuracy": ("fleet",),
    "parity": ("control", "mixed"),
}


def _concerns(role: str, found: Measurement, metric: Metric) -> bool:
    return role in _ROLES.get(metric.name, ()) or role in {run.header.role for run in found.runs}


def _flipped(
    evidence: Evidence, found: Measurement, unreadable: Sequence[LostRun], num_worst: int
) -> tuple[str, tuple[str, ...]]:
    """Say that lost attempts decide, with the first cause, and all causes apart: there can be several a round."""
    causes = [
        *(why_unfinished(run, running=evidence.ledger.running) for run in found.lost),
        *(why_unreadable(run) for run in unreadable),
        *(blemish.sentence for blemish in (*found.unfit, *found.disturbed)),
    ]
    many = f"{num_worst} attempts that count" if num_worst > 1 else "1 attempt that counts"
    shown = "; ".join(causes[:_MAX_CAUSES])
    more = f"; and {len(causes) - _MAX_CAUSES} more, in the details" if len(causes) > _MAX_CAUSES else ""
    return f"{many} as the worst value would change the verdict: {shown}{more}", tuple(causes) if more else ()


def qualifiers_of(evidence: Evidence, *, frozen: bool) -> tuple[Qualifier, ...]:
    """Return what says that this was not the experiment."""
    found: list[Qualifier] = ["rehearsal"] if evidence.rehearsal else []
    if not frozen or evidence.departures:
        found.append("exploratory")
    return tuple(found)


def _blank(mark: PassMark, evidence: Evidence) -> Verdict:
    return Verdict(
        id=mark.id,
        is_claim=False,
        word="UNJUDGED",
        reason="nothing was measured",
        qualifiers=qualifiers_of(evidence, frozen=is_frozen(evidence, mark)),
        notes=notes_without_numbers(mark, evidence),
        metric=mark.metric,
        comparator=mark.comparator,
        bound=mark.bound if mark.of is None else None,
        unit=mark.unit,
        pool=mark.pool,
        lock_digest=evidence.lock_digest,
        frozen_at="" if evidence.lock is None else evidence.lock.frozen_since(mark.id),
        amendments=amendments_of(evidence, mark),
        ledger_head=evidence.ledger.head,
        ledger_count=evidence.ledger.count,
    )
