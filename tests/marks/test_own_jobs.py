"""Runs of a user's own job: self-reported, never joined with others, and judged without their instruments."""

from msgspec.structs import replace

from pytest_mixgpu.marks.code_seen import code_doubts
from pytest_mixgpu.marks.compare import baseline_differences, control_differences, numeric_differences
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.instruments import instruments_said, slowdown
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.soundness import contradictions
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import plan_digest
from pytest_mixgpu.timing.model import Segment
from tests.judging import e1_marks, make_evidence
from tests.sample_doctors import laid_out, only, with_header, with_outcome
from tests.sample_parts import hex_of
from tests.sample_timeline import MadeRun
from tests.samples import as_record, e1_plan, make_runs

JOB = "mine:job"


def by_own_job(run: MadeRun) -> MadeRun:
    return with_header(run, job=JOB, job_modules={"mine": hex_of("mine")})


def own_plan() -> Plan:
    return replace(e1_plan(), job=JOB)


def speedup(evidence: Evidence) -> Verdict:
    return judge_mark(e1_marks().mark("e1-speedup"), evidence)


def with_instruments(run: MadeRun, *, first: bool = False) -> MadeRun:
    """Add a round with instruments, twice as long, after the last one; or call the first one so."""
    if first:
        return run._replace(rounds=(replace(run.rounds[0], instrumented=True, warmup=False), *run.rounds[1:]))
    last = run.rounds[-1]
    stretched = tuple(
        (Segment("compute", 0.0, own.close_s / 2), Segment("send", own.close_s / 2, own.close_s / 2))
        for own in last.stamps
    )
    added = replace(
        last,
        index=last.index + 1,
        instrumented=True,
        round_s=last.round_s,
        segments=stretched,
        coordinator=(),
        communication_s=tuple(0.75 * own.close_s for own in last.stamps),
    )
    assert run.outcome is not None
    spans = list(run.outcome.spans)
    training = next(span for span in reversed(spans) if span.name == "training")
    longer = with_outcome(run._replace(rounds=(*run.rounds, added)), spans=(*spans[:-1], training, spans[-1]))
    return laid_out(longer)


def test_a_frozen_plan_can_name_the_job() -> None:
    """Its runs count, and each verdict on them is noted."""
    own = speedup(make_evidence(plan=own_plan(), doctor=by_own_job, rehearsal=False))
    ours = speedup(make_evidence(rehearsal=False))

    assert ("PASS", True) == (own.word, "self-reported" in own.notes)
    assert "self-reported" not in ours.notes


def test_runs_of_another_job_do_not_count() -> None:
    """Neither a run of ours under a plan that names a job, nor one of a job that the plan does not name."""
    for plan, doctor in (
        (own_plan(), None),
        (e1_plan(), by_own_job),
        (own_plan(), lambda run: with_header(run, job="x:y")),
    ):
        evidence = make_evidence(plan=plan, doctor=doctor, rehearsal=False)

        assert {"job"} == {one.field for one in evidence.superseded}
        assert "UNJUDGED" == speedup(evidence).word


def test_a_rehearsal_is_by_one_job() -> None:
    """Which may be another than the plan's, and that is said; runs of two jobs are never joined."""
    whole = make_evidence(doctor=by_own_job)
    mixed = make_evidence(doctor=only(by_own_job, name="fleet"))

    assert f"job is {JOB}, the plan says one of the plugin" in whole.departures
    assert () == whole.superseded
    assert {"job"} == {one.field for one in mixed.superseded}


def test_the_job_is_no_part_of_a_digest_that_names_none() -> None:
    """Plans from before jobs could be named are what they were."""
    assert plan_digest(e1_plan()) == plan_digest(replace(e1_plan()))
    assert plan_digest(own_plan()) != plan_digest(e1_plan())


def test_runs_of_two_jobs_are_not_compared() -> None:
    """Baseline and fleet, control and mixed run, and two sessions differ in it as in any setting."""
    fleet = as_record(make_runs(names=("fleet",))[0])
    own = replace(fleet, header=replace(fleet.header, job=JOB))

    assert any("job" in text for text in baseline_differences(own, fleet))
    assert any("job" in text for text in control_differences(own, fleet))
    assert ("job", JOB, "one of the plugin") in numeric_differences(own, fleet)


def test_a_module_that_was_edited_between_runs_is_told() -> None:
    """What the supervisor loaded is compared like what workers load."""
    runs = [as_record(by_own_job(run)) for run in make_runs(names=("fleet", "mixed"))]
    edited = replace(runs[1], header=replace(runs[1].header, job_modules={"mine": hex_of("edited")}))

    assert () == code_doubts(runs)
    assert any("the module mine" in text for text in code_doubts([runs[0], edited]))


def _reference(doctor: object = None) -> RunRecord:
    """The reference has no coordinator, as jobs of users have none."""
    (run,) = make_runs(names=("reference",))
    return as_record(doctor(by_own_job(run)) if callable(doctor) else by_own_job(run))


def test_instrumented_rounds_are_judged_by_nothing() -> None:
    """They come after the score, are no part of the schedule, and say what they cost and show."""
    plain, own = _reference(), _reference(with_instruments)

    assert () == contradictions(plain)
    assert () == contradictions(own)
    assert plain.measured_rounds == own.measured_rounds
    assert (0, 1) == (plain.num_instrumented, own.num_instrumented)
    (said,) = instruments_said([plain, own])
    assert f"{slowdown(own):.2f} times as long" in said
    assert "exposed communication" in said


def test_a_round_is_not_called_instrumented_afterwards() -> None:
    """A slow round that is hidden so is missing from the schedule; among others it is out of its place."""
    hidden = _reference(lambda run: with_instruments(run, first=True))

    assert any("had instruments, and round" in text for text in contradictions(hidden))
    assert any("warm-ups, expected" in text for text in contradictions(hidden))
