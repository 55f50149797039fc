"""Items 9 and 10: how many runs, how far apart; and the wait for GPUs."""

from pytest_mixgpu.marks.beside import why_unfinished
from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.statistics import spread_of

_LEGS = {"baseline": ("before", "after", "with-exchange")}


def planned_runs_stated(evidence: Evidence) -> Finding:
    """Plan or lock says how many runs there are to be, and with which seeds."""
    if evidence.plan is None:
        return Finding(missing=("there is no plan that says how many runs there are to be",))
    seeds = evidence.seeds
    return Finding(
        stated=(f"{seeds.runs} run{'s' if seeds.runs > 1 else ''} of each role planned, seeds from {seeds.base} on",)
    )


def planned_runs_made(evidence: Evidence) -> Finding:
    """Every planned run of every role was made to its end."""
    missing: list[str] = []
    for role in evidence.roles:
        for leg in _LEGS.get(role.role, ("",)):
            done = {run.header.repeat for run in evidence.of(role.role, name=role.name, leg=leg)}
            label = f"{role.name} ({leg})" if leg else role.name
            absent = [index for index in range(evidence.seeds.runs) if index not in done]
            if not done or (absent and not evidence.rehearsal):
                missing.append(f"{label}: {len(done)} of {evidence.seeds.runs} planned runs were completed")
    failed = evidence.unfinished
    return Finding(
        missing=tuple(missing),
        stated=(f"{len(evidence.completed)} completed runs",),
        word="UNJUDGED",
        follows_from=failed[0].id if failed and missing else "",
        remedy="make the others" if missing else "",
    )


def attempts_counted(evidence: Evidence) -> Finding:
    """Every registered run is accounted for, failed ones too, and none stands in for another."""
    impossible = evidence.impossible
    missing = [*impossible]
    missing += [
        f"run {lost.run_id} is registered and cannot be read: {'; '.join(lost.faults)}" for lost in evidence.lost
    ]
    missing += [
        f"run {run.id} {run.status} and does not say why"
        for run in evidence.unfinished
        if run.outcome is not None and not run.outcome.reason and not run.faults
    ]
    by_status: dict[str, int] = {}
    for run in evidence.attempts:
        status = "still open" if run.id in evidence.ledger.running else run.status
        by_status[status] = by_status.get(status, 0) + 1
    counts = ", ".join(f"{number} {status}" for status, number in sorted(by_status.items()))
    stated = [f"{len(evidence.attempts)} registered runs: {counts}"]
    stated += [why_unfinished(run, running=evidence.ledger.running) for run in evidence.unfinished]
    stated += [str(one) for one in evidence.superseded]
    return Finding(missing=tuple(missing), stated=tuple(stated), word="VOID" if impossible else "FAIL")


def spread_stated(evidence: Evidence) -> Finding:
    """Next to each frozen number stands how many runs are behind it and how far apart they were."""
    marks = [mark for mark in ([] if evidence.lock is None else evidence.lock.marks) if mark.metric in METRICS]
    names = [mark.metric for mark in marks] or ["speedup", "parity"]
    missing, stated = [], []
    for name in dict.fromkeys(names):
        values = list(METRICS[name].compute(evidence).values.values())
        if not values:
            missing.append(f"there is no run behind {name}")
            continue
        spread = spread_of(values)
        if METRICS[name].is_of_whole:
            stated.append(f"{name}: one number of all {len(evidence.completed)} completed runs together")
        elif spread.n == 1:
            stated.append(f"{name}: one run, an observation and no more; preliminary")
        else:
            stated.append(f"{name}: {spread.n} runs, {spread.low:.4g} to {spread.high:.4g}, median {spread.median:.4g}")
    failed = evidence.unfinished
    return Finding(
        missing=tuple(missing),
        stated=tuple(stated),
        word="UNJUDGED",
        follows_from=failed[0].id if failed and missing else "",
    )


def wait_stated(evidence: Evidence) -> Finding:
    """The wait for GPUs was measured apart, from scheduler records, or is stated as out of scope, with the reason."""
    if evidence.plan is None:
        return Finding(missing=("there is no plan that speaks of the wait for GPUs",))
    wait = evidence.plan.wait
    if wait.status == "out-of-scope" and wait.reason.strip():
        return Finding(stated=(f"the wait for GPUs is out of scope: {wait.reason}",))
    if wait.status == "measured" and wait.records.strip():
        return Finding(stated=(f"the wait for GPUs is measured apart, in {wait.records}",))
    text = f"the wait for GPUs is {wait.status!r} without {'a reason' if wait.status == 'out-of-scope' else 'records'}"
    return Finding(
        missing=(text,),
        remedy="write `wait` into benchmark.toml: measured with records, or out-of-scope with the reason",
    )


CHECKS = (
    Check(
        name="planned-runs-stated", about="how many runs, with which seeds", look=planned_runs_stated, reads_runs=False
    ),
    Check(name="planned-runs-made", about="all of them were made", look=planned_runs_made),
    Check(name="attempts-counted", about="failed, stopped and aborted runs are accounted for", look=attempts_counted),
    Check(name="spread-stated", about="runs behind each number and their spread", look=spread_stated),
    Check(
        name="wait-stated",
        about="the wait for GPUs is measured apart or out of scope",
        look=wait_stated,
        reads_runs=False,
    ),
)
