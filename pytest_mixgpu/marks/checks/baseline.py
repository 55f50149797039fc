"""Item 3: the baseline is named, has the same code and data, and what was not compared is said."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.compare import baseline_differences
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.pairing import pair_in_session
from pytest_mixgpu.marks.timings import round_median_s, samples_per_s
from pytest_mixgpu.records.model import RunRecord


def baseline_named(evidence: Evidence) -> Finding:
    """The plan describes the baseline, and runs of it name their devices."""
    missing = []
    if evidence.plan is None or not evidence.plan.baseline.description.strip():
        missing.append("the plan does not describe its baseline")
    runs = _solo(evidence)
    if not runs:
        missing.append("there is no completed run of the baseline")
    devices = sorted({f"{device.id} ({device.kind}, {device.name})" for run in runs for device in run.devices})
    described = () if evidence.plan is None else (evidence.plan.baseline.description,)
    stated = (*described, *((f"taken on {', '.join(devices)}",) if devices else ()))
    return Finding(missing=tuple(missing), stated=stated, follows_from=evidence.first_failed("baseline"))


def baseline_brackets_fleet(evidence: Evidence) -> Finding:
    """Baseline rounds were taken in the fleet's session, before and after it, on several of its devices."""
    fleets, baselines = evidence.named("fleet"), evidence.named("baseline")
    if len(fleets) != 1 or len(baselines) != 1:
        return Finding(missing=("the plan does not name one fleet and one baseline",))
    slots = ((baselines[0].name, "before"), (fleets[0].name, ""), (baselines[0].name, "after"))
    paired = pair_in_session(evidence, slots)
    faults = [
        f"repeat {repeat.index}: baseline and fleet were not taken in the order before, fleet, after"
        for repeat in paired.repeats
        if (times := [repeat.runs[slot].header.registered_at for slot in slots]) != sorted(times)
    ]
    exceptions = () if evidence.plan is None else evidence.plan.baseline.exceptions
    faults += [
        f"repeat {repeat.index}: the baseline was taken on one device of the fleet, and no stated exception says so"
        for repeat in paired.repeats
        if len(repeat.runs[slots[0]].devices) < 2 <= len(repeat.runs[slots[1]].devices) and not exceptions
    ]
    stated = tuple(f"repeat {repeat.index}: baseline before and after the fleet's rounds" for repeat in paired.repeats)
    return Finding(
        missing=(*paired.lacking, *faults), stated=stated, follows_from=evidence.first_failed("baseline", "fleet")
    )


def baseline_same_code_and_data(evidence: Evidence) -> Finding:
    """Baseline and fleet differ in the pool only."""
    fleets = evidence.of("fleet")
    missing = tuple(
        text
        for fleet in fleets
        for run in _solo(evidence)
        if run.header.repeat == fleet.header.repeat and run.header.session == fleet.header.session
        for text in baseline_differences(run, fleet)
    )
    if not fleets:
        return Finding(
            missing=("there is no completed run of the fleet to compare with",),
            follows_from=evidence.first_failed("fleet"),
        )
    return Finding(
        missing=missing,
        stated=("same code, data, evaluator, settings and kernels as the fleet",) if not missing else (),
    )


def baseline_with_exchange_beside(evidence: Evidence) -> Finding:
    """A second baseline value, with an exchange, is recorded beside the one that decides."""
    runs = evidence.of("baseline", leg="with-exchange")
    if not runs:
        text = "the baseline with an exchange was not recorded beside the one without"
        return Finding(missing=(text,), follows_from=evidence.first_failed("baseline"))
    return Finding(
        stated=tuple(f"with an exchange: {_rate(run)}; without one decides, being the stricter" for run in runs)
    )


def usual_tool_beside(evidence: Evidence) -> Finding:
    """The usual tool ran on the same pool, and decides nothing."""
    if not evidence.named("reference"):
        return Finding(missing=("the plan names no reference run of the usual tool",))
    runs = evidence.of("reference")
    if not runs:
        return Finding(
            missing=("the reference run of the usual tool was not recorded",),
            follows_from=evidence.first_failed("reference"),
        )
    return Finding(
        stated=tuple(f"plain DistributedDataParallel on {run.header.pool.spec}: {_rate(run)}" for run in runs)
    )


def not_compared_stated(evidence: Evidence) -> Finding:
    """The plan lists the comparisons that were not made."""
    if evidence.plan is None or not any(text.strip() for text in evidence.plan.baseline.not_compared):
        return Finding(
            missing=("the plan does not say which comparisons were not made",), remedy="write `baseline.not_compared`"
        )
    return Finding(stated=tuple(f"not compared: {text}" for text in evidence.plan.baseline.not_compared))


def _solo(evidence: Evidence) -> tuple[RunRecord, ...]:
    return tuple(run for run in evidence.of("baseline") if run.header.leg in {"before", "after"})


def _rate(run: RunRecord) -> str:
    seconds, rate = round_median_s(run), samples_per_s(run)
    return "no measured round" if seconds is None or rate is None else f"{rate:,.0f} samples/s, {seconds:.3g} s a round"


CHECKS = (
    Check(name="baseline-named", about="the baseline is described and its devices named", look=baseline_named),
    Check(
        name="baseline-brackets-fleet", about="it was taken before and after the fleet", look=baseline_brackets_fleet
    ),
    Check(
        name="baseline-same-code-and-data",
        about="it differs from the fleet in the pool only",
        look=baseline_same_code_and_data,
    ),
    Check(
        name="baseline-with-exchange-beside",
        about="its value with an exchange stands beside",
        look=baseline_with_exchange_beside,
    ),
    Check(name="usual-tool-beside", about="the usual tool ran on the same pool", look=usual_tool_beside),
    Check(
        name="not-compared-stated",
        about="comparisons that were not made are listed",
        look=not_compared_stated,
        reads_runs=False,
    ),
)
