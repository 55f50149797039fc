"""Item 6: time per phase, as a median after warm-up, of fixed work."""

from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.soundness import round_faults, work_faults
from pytest_mixgpu.marks.timings import phase_medians_s, samples_a_round
from pytest_mixgpu.records.model import RunRecord

TIMED = ("baseline", "fleet", "control", "mixed")


def warm_up_apart(evidence: Evidence) -> Finding:
    """Every timed run has warm-up rounds, kept in the record and apart from the measured ones."""
    missing: list[str] = []
    stated: dict[str, None] = {}
    for run in _timed(evidence):
        warmups = len(run.rounds) - len(run.measured_rounds) - run.num_instrumented
        if warmups < 1:
            missing.append(f"run {run.id} ({run.header.name}) has no warm-up round")
        if not run.measured_rounds:
            missing.append(f"run {run.id} ({run.header.name}) has no measured round")
        if any(line.warmup for line in run.rounds[warmups:]) and run.header.settings.exchange != "none":
            missing.append(f"run {run.id} ({run.header.name}) has warm-up rounds after measured ones")
        stated[f"{run.header.name}: median of {len(run.measured_rounds)} rounds after {warmups} of warm-up"] = None
    return Finding(
        missing=tuple(missing) or _no_fleet(evidence),
        stated=tuple(stated),
        follows_from=evidence.first_failed("fleet", "baseline"),
    )


def phases_add_up(evidence: Evidence) -> Finding:
    """Every measured round of every participant is split into phases that add up to it and follow from its stamps."""
    missing: list[str] = []
    stated: list[str] = []
    for run in _timed(evidence):
        missing += round_faults(run)
        for line in run.measured_rounds:
            if any(not segments for segments in line.segments):
                missing.append(f"run {run.id}: round {line.index} has a participant without phases")
    for run in evidence.of("fleet"):
        medians = phase_medians_s(run)
        stated.append(
            "fleet, medians: " + ", ".join(f"{phase} {1000 * seconds:.1f} ms" for phase, seconds in medians.items())
        )
    if missing:
        return Finding(missing=tuple(missing), word="VOID")
    return Finding(
        missing=_no_fleet(evidence), stated=tuple(stated), follows_from=evidence.first_failed("fleet", "baseline")
    )


def work_fixed(evidence: Evidence) -> Finding:
    """Baseline and fleet do the same work a round: rounds of fixed work are timed, not a run to accuracy."""
    runs = [run for run in _timed(evidence) if run.header.role in {"baseline", "fleet"}]
    work = {samples_a_round(run) for run in runs}
    missing = [text for run in runs for text in work_faults(run)]
    if len(work) > 1:
        sizes = ", ".join(f"{each:,}" for each in sorted(work))
        missing.append(f"baseline and fleet differ in the work of a round: {sizes} samples")
    return Finding(missing=tuple(missing), stated=tuple(f"{each:,} training samples a round" for each in sorted(work)))


def single_rounds_stated(evidence: Evidence) -> Finding:
    """A number that comes from a single round is a stated exception."""
    exceptions = () if evidence.plan is None else evidence.plan.baseline.exceptions
    single = [run for run in _timed(evidence) if run.header.settings.rounds == 1]
    if single and not exceptions:
        names = ", ".join(sorted({run.header.name for run in single}))
        return Finding(
            missing=(f"the time of {names} is a single round, and no stated exception says so",),
            remedy="measure more rounds, or write it into `baseline.exceptions`",
        )
    return Finding(
        stated=tuple(f"stated exception: {text}" for text in exceptions) or ("no number comes from a single round",)
    )


def _timed(evidence: Evidence) -> list[RunRecord]:
    return [run for run in evidence.completed if run.header.role in TIMED]


def _no_fleet(evidence: Evidence) -> tuple[str, ...]:
    return () if evidence.of("fleet") else ("there is no completed run of the fleet whose phases could be read",)


CHECKS = (
    Check(name="warm-up-apart", about="medians are taken after warm-up rounds that are kept", look=warm_up_apart),
    Check(name="phases-add-up", about="phases add up to the round and follow from its stamps", look=phases_add_up),
    Check(name="work-fixed", about="baseline and fleet do the same work a round", look=work_fixed),
    Check(
        name="single-rounds-stated",
        about="numbers from a single round are stated exceptions",
        look=single_rounds_stated,
    ),
)
