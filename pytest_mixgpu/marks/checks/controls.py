"""Item 7: the same quality as uniform controls that themselves passed, with a tolerance that was set before."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.compare import control_differences
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.quality import mixture_faults
from pytest_mixgpu.marks.timings import reached_target, score_text


def tolerance_frozen(evidence: Evidence) -> Finding:
    """The lock holds a tolerance between mixed run and controls."""
    marks = [] if evidence.lock is None else [mark for mark in evidence.lock.marks if mark.of == "controls"]
    if not marks:
        return Finding(
            missing=("no tolerance was set before: the lock holds no mark of a distance from controls",),
            remedy="pytest --passmark-freeze before the first run",
        )
    return Finding(
        stated=tuple(
            f"within {mark.bound:g} {mark.unit}, or the controls' own gap if larger ({mark.id})" for mark in marks
        )
    )


def controls_uniform(evidence: Evidence) -> Finding:
    """Two controls or more were run, each on devices of one kind."""
    planned = evidence.named("control")
    missing = []
    if len(planned) < 2:
        missing.append(f"the plan names {len(planned)} controls, two are needed")
    stated = []
    for plan in planned:
        runs = evidence.of("control", name=plan.name)
        if not runs:
            missing.append(f"there is no completed run of {plan.name}")
        missing += [
            f"{plan.name} ran on {run.header.pool.spec}: not uniform" for run in runs if len(run.header.pool.kinds) != 1
        ]
        stated += [
            f"{plan.name} on {run.header.pool.spec}" + (f" ({plan.make_up})" if plan.make_up else "") for run in runs
        ]
    return Finding(
        missing=tuple(missing),
        stated=tuple(dict.fromkeys(stated)),
        follows_from=evidence.first_failed("control", "mixed"),
    )


def controls_same_schedule(evidence: Evidence) -> Finding:
    """Each control has the mixed run's schedule, seed, participants and shares; it differs in its kind only."""
    mixed = {run.header.repeat: run for run in evidence.of("mixed")}
    if not mixed:
        return Finding(
            missing=("there is no completed mixed run to compare with",),
            follows_from=evidence.first_failed("control", "mixed"),
        )
    missing = tuple(
        text
        for run in evidence.of("control")
        if run.header.repeat in mixed
        for text in control_differences(run, mixed[run.header.repeat])
    )
    return Finding(
        missing=missing,
        stated=("same schedule, seed, participants and shares; only the kind differs",) if not missing else (),
        word="VOID",
    )


def controls_passed(evidence: Evidence) -> Finding:
    """Every control reached the target itself."""
    workload, runs = evidence.workload, evidence.of("control")
    if not runs:
        return Finding(
            missing=("there is no completed control",), follows_from=evidence.first_failed("control", "mixed")
        )
    if workload is None:
        return Finding(missing=(evidence.undescribed or "there is no plan, and so no target",))
    failed = [run for run in runs if not reached_target(run, workload.target)]
    missing = tuple(
        f"{run.header.name} did not pass itself: {'no score' if run.test is None else score_text(run.test)}, "
        f"the target is {100 * workload.target:g} %"
        for run in failed
    )
    stated = tuple(f"{run.header.name}: {score_text(run.test)}" for run in runs if run.test is not None)
    return Finding(missing=missing, stated=stated, word="VOID", follows_from=failed[0].id if failed else "")


def mixture_is_one(evidence: Evidence) -> Finding:
    """The mixed run had devices that compute differently."""
    runs = evidence.of("mixed")
    if not runs:
        return Finding(
            missing=("there is no completed mixed run",), follows_from=evidence.first_failed("control", "mixed")
        )
    missing = tuple(text for run in runs for text in mixture_faults(run))
    return Finding(missing=missing, stated=tuple(f"mixed on {run.header.pool.spec}" for run in runs), word="VOID")


CHECKS = (
    Check(name="tolerance-frozen", about="the tolerance was set before", look=tolerance_frozen, reads_runs=False),
    Check(name="controls-uniform", about="controls ran on uniform hardware", look=controls_uniform),
    Check(
        name="controls-same-schedule",
        about="controls differ from the mixed run in kind only",
        look=controls_same_schedule,
    ),
    Check(name="controls-passed", about="controls reached the target themselves", look=controls_passed),
    Check(name="mixture-is-one", about="the mixed run's devices compute differently", look=mixture_is_one),
)
