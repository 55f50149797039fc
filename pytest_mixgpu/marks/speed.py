"""Metrics of time: from evidence to speed-up, rate and round length, repeat by repeat. Pure; judges no bound."""

import statistics
from collections.abc import Sequence

from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.marks.compare import baseline_differences
from pytest_mixgpu.marks.comparison import exceeds
from pytest_mixgpu.marks.device_seen import disturbed_devices
from pytest_mixgpu.marks.eligible import canonical_pool
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.git import parse_moment
from pytest_mixgpu.marks.measurement import Blemish, Measurement, wrong_runs
from pytest_mixgpu.marks.pairing import Paired, Repeat, pair_any, pair_in_session
from pytest_mixgpu.marks.soundness import starved_rounds
from pytest_mixgpu.marks.timings import (
    device_medians_s,
    first_at_target,
    foreign_share_max,
    phase_medians_s,
    reached_target,
    round_median_s,
    samples_a_round,
    samples_per_s,
    score_text,
    stalled_share_max,
)
from pytest_mixgpu.records.model import RunRecord


def speedup(evidence: Evidence) -> Measurement:
    """One device's median round over the fleet's, each doing the same work a round."""
    fleets, baselines = evidence.named("fleet"), evidence.named("baseline")
    if len(fleets) != 1 or len(baselines) != 1:
        return Measurement(lacking=("the plan names no fleet with one baseline",))
    before, after = (baselines[0].name, "before"), (baselines[0].name, "after")
    fleet = (fleets[0].name, "")
    paired = pair_in_session(evidence, (before, fleet, after))
    values, ideals = {}, {}
    unfit, disturbed, lacking = [], [], list(paired.lacking)
    for repeat in paired.repeats:
        first, middle, last = repeat.runs[before], repeat.runs[fleet], repeat.runs[after]
        unfit += _blame(repeat, _bracket_faults(first, middle, last))
        ratio, ideal = ratio_and_ideal(first, middle, last, baselines[0].pool)
        if ratio is None or ideal is None:
            lacking.append(f"repeat {repeat.index} has {_absent(first, middle, last, baselines[0].pool)}")
            continue
        values[repeat.index], ideals[repeat.index] = ratio, ideal
        shaken = _disturbances(evidence, repeat, first, middle, last)
        disturbed += shaken
        if not exceeds(ratio, ideal):
            continue
        quickest = _ratio_to_quickest(first, middle, last, baselines[0].pool)
        if quickest is not None and not exceeds(quickest, ideal):
            text = (
                f"a speed-up of {ratio:.4g} is above the ideal {ideal:.4g} by less than the baseline's own spread: "
                f"against its quickest leg it is {quickest:.4g}"
            )
            disturbed.append(Blemish(repeat=repeat.index, sentence=text))
        else:
            cause = f"; {shaken[0].sentence}" if shaken else ""
            text = f"a speed-up of {ratio:.4g} is above the ideal {ideal:.4g}: impossible with the same work{cause}"
            unfit.append(Blemish(repeat=repeat.index, sentence=text))
    return Measurement(
        values=values,
        ideals=ideals,
        runs=paired.runs,
        lost=paired.lost,
        beyond=paired.beyond,
        wrong=wrong_runs(evidence, paired.runs),
        unfit=(*unfit, *_below_target(evidence, paired, fleet)),
        untargeted=evidence.undescribed,
        disturbed=tuple(disturbed),
        lacking=tuple(lacking),
        details=_speed_details(evidence, paired, (before, fleet, after)),
        pool=_pool(evidence, fleets[0].pool),
    )


def fleet_rate(evidence: Evidence) -> Measurement:
    """The fleet's training samples a second of the median round."""
    return _of_fleet(evidence, as_rate=True)


def fleet_round(evidence: Evidence) -> Measurement:
    """The fleet's median round."""
    return _of_fleet(evidence, as_rate=False)


def _of_fleet(evidence: Evidence, *, as_rate: bool) -> Measurement:
    fleets = evidence.named("fleet")
    if len(fleets) != 1:
        return Measurement(lacking=("the plan names no fleet",))
    slot = (fleets[0].name, "")
    paired = pair_any(evidence, (slot,))
    values, disturbed = {}, []
    for repeat in paired.repeats:
        run = repeat.runs[slot]
        value = samples_per_s(run) if as_rate else round_median_s(run)
        if value is not None:
            values[repeat.index] = value
        disturbed += _foreign(evidence, repeat, run)
    return Measurement(
        values=values,
        runs=paired.runs,
        lost=paired.lost,
        beyond=paired.beyond,
        wrong=wrong_runs(evidence, paired.runs),
        unfit=_below_target(evidence, paired, slot),
        untargeted=evidence.undescribed,
        disturbed=tuple(disturbed),
        lacking=paired.lacking,
        pool=_pool(evidence, fleets[0].pool),
    )


def ratio_and_ideal(
    before: RunRecord, fleet: RunRecord, after: RunRecord, planned: str
) -> tuple[float | None, float | None]:
    """Return speed-up and ideal; None where a kind of the fleet has no baseline round.

    Args:
        before: the baseline's run before the fleet's.
        fleet: the fleet's run.
        after: the baseline's run after it.
        planned: the baseline's pool as the plan requests it; the first kind that it names is the unit of the ratio.
    """
    fleet_s = round_median_s(fleet)
    by_kind = _kind_medians_s(before, after)
    reference = _reference(planned)
    if not fleet_s or reference not in by_kind or any(kind not in by_kind for kind in fleet.header.pool.kinds):
        return None, None
    baseline_s = by_kind[reference]
    if set(fleet.header.pool.kinds) == {reference}:
        return baseline_s / fleet_s, float(len(fleet.header.pool))
    # Kinds differ in speed: the ideal is what they would reach together, each at the rate that it has alone.
    ideal = sum(count * baseline_s / by_kind[kind] for kind, count in fleet.header.pool.kinds.items())
    return baseline_s / fleet_s, ideal


def _ratio_to_quickest(before: RunRecord, fleet: RunRecord, after: RunRecord, planned: str) -> float | None:
    """Return the speed-up against the quickest device and leg of the baseline; None where kinds differ.

    What is above the ideal even against that is impossible; what is not may be noise in the other legs.
    """
    fleet_s, reference = round_median_s(fleet), _reference(planned)
    if not fleet_s or set(fleet.header.pool.kinds) != {reference}:
        return None
    legs_s = [seconds for run in (before, after) for seconds in _by_kind_s(run).get(reference, ())]
    return min(legs_s) / fleet_s if legs_s else None


def _absent(before: RunRecord, fleet: RunRecord, after: RunRecord, planned: str) -> str:
    """Say which rounds a ratio would need."""
    if not fleet.measured_rounds:
        return "no measured round of the fleet"
    needed = {_reference(planned), *fleet.header.pool.kinds}
    return f"no baseline round on {', '.join(sorted(needed - set(_kind_medians_s(before, after))))}"


def _reference(planned: str) -> str:
    """The kind whose rate is the unit of the ratio: the first that the baseline's pool names."""
    return PoolSpec.parse(planned).terms[0].name


def _kind_medians_s(*baselines: RunRecord) -> dict[str, float]:
    """Return the median device's median round, by kind."""
    return {kind: statistics.median(seconds) for kind, seconds in _by_kind_s(*baselines).items()}


def _by_kind_s(*baselines: RunRecord) -> dict[str, list[float]]:
    """Return each device's median round over all of these runs, by kind."""
    kinds = {device.id: device.kind for run in baselines for device in run.devices}
    found: dict[str, list[float]] = {}
    for device, seconds in device_medians_s(*baselines).items():
        found.setdefault(kinds[device], []).append(seconds)
    return found


def _bracket_faults(before: RunRecord, fleet: RunRecord, after: RunRecord) -> list[tuple[str, str]]:
    faults = [(text, one.id) for one in (before, after) for text in baseline_differences(one, fleet)]
    order = [parse_moment(run.header.registered_at) for run in (before, fleet, after)]
    if any(moment is None for moment in order) or order != sorted(moment for moment in order if moment is not None):
        faults.append(("the baseline was not taken before and after the fleet's rounds", fleet.id))
    fleet_ids = {device.id for device in fleet.devices}
    strangers = sorted({device.id for run in (before, after) for device in run.devices} - fleet_ids)
    if strangers:
        faults.append((f"the baseline was taken on {', '.join(strangers)}, which the fleet does not have", before.id))
    if [device.id for device in before.devices] != [device.id for device in after.devices]:
        faults.append(("the baseline was taken on other devices after the fleet's rounds than before", after.id))
    return faults


def _disturbances(
    evidence: Evidence, repeat: Repeat, before: RunRecord, fleet: RunRecord, after: RunRecord
) -> list[Blemish]:
    found = [blemish for run in (before, fleet, after) for blemish in _foreign(evidence, repeat, run)]
    drift = drift_share(before, after)
    if drift is not None and exceeds(drift, evidence.disturbance.drift):
        text = (
            f"the baseline drifted by {100 * drift:.1f} %, the frozen limit is {100 * evidence.disturbance.drift:g} %"
        )
        found.append(Blemish(repeat=repeat.index, sentence=text, run_id=after.id))
    return found


def drift_share(before: RunRecord, after: RunRecord) -> float | None:
    """Return the difference of the baseline before and after the fleet, as a share of their mean."""
    here, there = device_medians_s(before).values(), device_medians_s(after).values()
    if not here or not there:
        return None
    first_s, last_s = statistics.median(here), statistics.median(there)
    return abs(first_s - last_s) / ((first_s + last_s) / 2)


def _foreign(evidence: Evidence, repeat: Repeat, run: RunRecord) -> list[Blemish]:
    limit = evidence.disturbance.foreign_share
    where = f"in a round of {run.header.name} (run {run.id}), the frozen limit is {100 * limit:g} %"
    taken, stalled = foreign_share_max(run), stalled_share_max(run)
    said = []
    if taken is not None and exceeds(taken, limit):
        said.append(f"other processes took {100 * taken:.0f} % of a core {where}")
    if stalled is not None and exceeds(stalled, limit):
        said.append(f"a worker was held up for {100 * stalled:.0f} % of its computing {where}")
    said += [*starved_rounds(run), *disturbed_devices(run, evidence.disturbance)]
    return [Blemish(repeat=repeat.index, sentence=text, run_id=run.id) for text in said]


def _below_target(evidence: Evidence, paired: Paired, slot: tuple[str, str]) -> tuple[Blemish, ...]:
    """Speed counts only if the model is as good."""
    workload = evidence.workload
    if workload is None:
        return ()
    found = []
    for repeat in paired.repeats:
        run = repeat.runs[slot]
        if run.test is None:
            text = f"the fleet's run {run.id} was not trained to the finish: how good its model is, is not known"
        elif not reached_target(run, workload.target):
            text = (
                f"the fleet's model is not good enough at the settings that were timed: {score_text(run.test)}, "
                f"the target is {100 * workload.target:g} %"
            )
        else:
            continue
        found.append(Blemish(repeat=repeat.index, sentence=text, run_id=run.id))
    return tuple(found)


def _speed_details(evidence: Evidence, paired: Paired, slots: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    before, fleet, after = slots
    said: list[str] = []
    for repeat in paired.repeats:
        first, middle, last = repeat.runs[before], repeat.runs[fleet], repeat.runs[after]
        label = f"repeat {repeat.index}: " if len(paired.repeats) > 1 else ""
        rate, devices = samples_per_s(middle), device_medians_s(first, last)
        if rate is None or not devices:
            continue
        solo = samples_a_round(first) / statistics.median(devices.values())
        num_solo = len(first.measured_rounds) + len(last.measured_rounds)
        drift = drift_share(first, last)
        said.append(
            f"{label}{rate:,.0f} samples/s on {middle.header.pool.spec}, {solo:,.0f} on one device (median of "
            f"{len(devices)}); medians of {len(middle.measured_rounds)} and {num_solo} measured rounds after warm-up; "
            f"baseline drift {100 * (drift or 0):.1f} %"
        )
        if middle.test is not None and evidence.workload is not None:
            said.append(
                f"{label}the fleet's model at these settings: {score_text(middle.test)}, "
                f"target {100 * evidence.workload.target:g} %"
            )
        said += [f"{label}{text}" for text in (*_beside(evidence, middle), _phases_text(middle))]
    if evidence.plan is not None:
        said += [f"stated exception: {text}" for text in evidence.plan.baseline.exceptions]
    return tuple(said)


def _beside(evidence: Evidence, fleet: RunRecord) -> list[str]:
    """What stands beside the ratio and does not decide: E1's other baseline, the usual tool, time to target."""
    said = []
    fleet_s = round_median_s(fleet)
    for run in evidence.completed:
        seconds = round_median_s(run)
        is_mate = (run.header.session, run.header.repeat) == (fleet.header.session, fleet.header.repeat)
        if not is_mate or seconds is None or not fleet_s:
            continue
        if run.header.leg == "with-exchange":
            said.append(f"beside, not deciding: {seconds / fleet_s:.2f} x against one device with an exchange")
        if run.header.role == "reference":
            rate = samples_a_round(run) / seconds
            said.append(f"beside, not deciding: {rate:,.0f} samples/s by plain DistributedDataParallel")
    target = None if evidence.workload is None else first_at_target(fleet, evidence.workload.target)
    if target is not None:
        said.append(
            f"target reached on validation data after {target.training_s:.2f} s of training and "
            f"{target.samples_seen:,} samples"
        )
    return said


def _phases_text(run: RunRecord) -> str:
    return "phases of a round, medians: " + ", ".join(
        f"{phase} {1000 * seconds:.1f} ms" for phase, seconds in phase_medians_s(run).items() if seconds > 0
    )


def _blame(repeat: Repeat, faults: Sequence[tuple[str, str]]) -> list[Blemish]:
    return [Blemish(repeat=repeat.index, sentence=text, run_id=run_id) for text, run_id in faults]


def _pool(evidence: Evidence, planned: str) -> str:
    return next((run.header.pool.spec for run in evidence.of("fleet")), canonical_pool(planned))
