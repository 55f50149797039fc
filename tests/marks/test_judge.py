"""The judge of marks: words at the bound, clauses, the other metrics, and what counts as the worst value."""

import statistics

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence, LostRun
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import PassMark, Verdict
from pytest_mixgpu.records.plan import Plan
from tests.judging import e1_marks, make_evidence, with_runs
from tests.sample_doctors import Doctor, laid_out, only, with_header, with_score, with_settings, with_speed
from tests.sample_parts import make_pool
from tests.sample_timeline import MadeRun
from tests.samples import e1_plan

SPEEDUP = e1_marks().mark("e1-speedup")
PARITY = e1_marks().mark("e1-parity")


def scored(**correct: int) -> Doctor:
    """Give runs whole counts of right images, by the name of their role (`control_a`)."""

    def doctor(run: MadeRun) -> MadeRun:
        name = run.header.name.replace("-", "_")
        return with_score(run, correct[name]) if name in correct else run

    return doctor


def parity_of(mixed: int, a: int, b: int) -> Verdict:
    return judge_mark(PARITY, make_evidence(doctor=scored(mixed=mixed, control_a=a, control_b=b)))


@pytest.mark.parametrize(
    ("mixed", "a", "b", "word", "bound", "clause"),
    [
        pytest.param(440, 440, 440, "PASS", 0.5, "by the clause of 0.5 points", id="equal"),
        pytest.param(438, 440, 440, "PASS", 0.5, "by the clause of 0.5 points", id="two-images-under-0.44"),
        pytest.param(437, 440, 440, "FAIL", 0.5, "is not within 0.5", id="three-images-under-0.67"),
        pytest.param(443, 440, 440, "FAIL", 0.5, "is not within 0.5", id="three-images-over-counts-as-well"),
        pytest.param(
            445, 440, 446, "PASS", 600 / 450, "by the clause of 0.5 points", id="own-gap-larger-and-not-needed"
        ),
        pytest.param(440, 440, 446, "PASS", 600 / 450, "by the clause of the controls' own gap", id="own-gap-needed"),
        pytest.param(437, 440, 446, "PASS", 600 / 450, "by the clause of the controls' own gap", id="at-the-own-gap"),
        pytest.param(436, 440, 446, "FAIL", 600 / 450, "is not within", id="beyond-the-own-gap"),
    ],
)
def test_parity_is_within_the_tolerance_or_the_controls_own_gap(  # noqa: PLR0917 - one argument a column
    mixed: int, a: int, b: int, word: str, bound: float, clause: str
) -> None:
    """Of 450 images, one is 0.22 points. The applied bound is shown, and which clause passed."""
    verdict = parity_of(mixed, a, b)

    assert word == verdict.word, verdict
    assert bound == pytest.approx(verdict.bound)
    assert clause in verdict.reason


def test_parity_at_the_tolerance_itself_is_exact() -> None:
    """Half a point of 400 images is 2 images: 0.5 is within 0.5, though neither accuracy is a binary fraction."""
    verdict = parity_of(438, 440, 440)

    assert 200 / 450 == pytest.approx(verdict.value)
    assert judge_mark(replace(PARITY, id="same", bound=200 / 450), make_evidence(
        doctor=scored(mixed=438, control_a=440, control_b=440)
    )).word == "PASS"  # fmt: skip


def test_e1s_own_figures_pass_by_the_first_clause() -> None:
    """Controls above 90 %, 0.38 points off: 14 images of 3,669."""
    evidence = make_evidence(rehearsal=False, doctor=scored(mixed=3394, control_a=3408, control_b=3408))
    verdict = judge_mark(PARITY, evidence)

    assert ("PASS", (), 0.5) == (verdict.word, verdict.qualifiers, verdict.bound)
    assert 0.38 == round(verdict.value or 0, 2)


def test_speedup_bound_is_the_share_of_the_ideal_that_is_printed() -> None:
    """11.2 at 16, 1.4 at 2: as a person would work it out."""
    rehearsed = judge_mark(SPEEDUP, make_evidence())
    real = judge_mark(SPEEDUP, make_evidence(rehearsal=False))

    assert (1.4, "0.7 of the ideal 2") == (rehearsed.bound, rehearsed.bound_origin)
    assert (11.2, "0.7 of the ideal 16") == (real.bound, real.bound_origin)


def test_several_runs_have_range_and_interval_over_runs() -> None:
    """The unit is the run: three runs, three values, whatever the number of rounds."""
    verdict = judge_mark(SPEEDUP, make_evidence(repeats=3, plan=with_runs(e1_plan(), 3)))

    assert (3, False) == (verdict.n, "preliminary" in verdict.notes)
    assert verdict.low is not None
    assert verdict.value is not None
    assert verdict.high is not None
    assert verdict.low <= verdict.value <= verdict.high
    assert verdict.interval is not None
    assert "3 runs" in verdict.interval_method


@pytest.mark.parametrize("repeats", [1, 3, 4])
def test_every_value_behind_the_median_is_kept(repeats: int) -> None:
    """Whoever draws the verdict draws its runs: as many as n, in the order of repeats, in the unit of the mark."""
    evidence = make_evidence(repeats=repeats, plan=with_runs(e1_plan(), repeats))
    verdict = judge_mark(SPEEDUP, evidence)
    mark = PassMark(id="a", metric="accuracy", comparator="at_least", bound=50.0, unit="%")
    percent = judge_mark(mark, evidence)
    tests = [run.test for run in evidence.of("fleet") if run.test is not None]

    assert verdict.n == len(verdict.run_values) == repeats
    assert statistics.median(verdict.run_values) == verdict.value
    assert (verdict.low, verdict.high) == (min(verdict.run_values), max(verdict.run_values))
    assert list(percent.run_values) == [pytest.approx(100 * one.num_correct / one.num_total) for one in tests]


@pytest.mark.parametrize("change", [{"bound": 0.5}, {"unit": "times"}, {"of": None, "bound": 1.2}])
def test_marker_that_is_not_as_it_was_frozen_is_tampered(change: dict[str, object]) -> None:
    """An edited mark is not a failed mark: another word, with the field."""
    verdict = judge_mark(replace(SPEEDUP, **change), make_evidence())

    assert "TAMPERED" == verdict.word
    assert f"e1-speedup.{min(change)}: the marker has" in f"{verdict.reason} {verdict.details}"


def test_median_device_of_the_baseline_counts() -> None:
    """Of three devices the middle one: neither the slowest flatters the fleet nor the fastest spoils it."""
    evidence = make_evidence(rehearsal=False, doctor=only(uneven, name="baseline"))
    plain = judge_mark(SPEEDUP, make_evidence(rehearsal=False))

    assert plain.value == pytest.approx(judge_mark(SPEEDUP, evidence).value, rel=0.02)


def uneven(run: MadeRun) -> MadeRun:
    """Let one device crawl and one fly; phases are made anew with each, spans laid one after the other."""
    if run.header.leg == "with-exchange":
        return run
    factors = {0: 0.9, 1: 1.0, 2: 1.1}
    by_speed = {place: with_speed(run, factor) for place, factor in factors.items()}
    rounds = tuple(by_speed[line.participants[0]].rounds[place] for place, line in enumerate(run.rounds))
    return laid_out(run._replace(rounds=rounds))


def test_pool_of_several_kinds_has_the_sum_of_their_rates_as_its_ideal() -> None:
    """One portable core does 0.0125/0.0163 of the work of the other: together they are at best 1.77 of the first."""
    both = only(lambda run: with_speed(with_header(run, pool=make_pool("cpu:1,cpu-portable:1")), 1.0), name="baseline")

    def doctor(run: MadeRun) -> MadeRun:
        return run if run.header.leg == "with-exchange" else both(run)

    verdict = judge_mark(replace(SPEEDUP, id="a"), make_evidence(plan=mixed_fleet(e1_plan()), doctor=doctor))
    only_one_kind = judge_mark(replace(SPEEDUP, id="a"), make_evidence(plan=mixed_fleet(e1_plan())))

    assert verdict.bound is not None, verdict
    assert 0.7 * (1 + 0.0125 / 0.0163) == pytest.approx(verdict.bound, rel=0.05)
    assert ("UNJUDGED", True) == (only_one_kind.word, "no baseline round on cpu-portable" in only_one_kind.reason)


def mixed_fleet(plan: Plan) -> Plan:
    return with_fleet(plan, "cpu:1,cpu-portable:1")


def with_fleet(plan: Plan, pool: str) -> Plan:
    assert plan.rehearsal is not None
    roles = tuple(replace(role, pool=pool if role.name == "fleet" else role.pool) for role in plan.rehearsal.roles)
    return replace(plan, rehearsal=replace(plan.rehearsal, roles=roles))


@pytest.mark.parametrize(
    ("mark", "expected"),
    [
        pytest.param(
            PassMark(id="a", metric="accuracy", comparator="at_least", bound=98.0, unit="%"),
            ("PASS", 98.0),
            id="percent",
        ),
        pytest.param(
            PassMark(id="a", metric="accuracy", comparator="at_least", bound=0.981, unit="share"),
            ("FAIL", 0.98),
            id="share",
        ),
        pytest.param(
            PassMark(id="a", metric="round_s", comparator="at_most", bound=1700.0, unit="ms"), ("PASS", 1582.0), id="ms"
        ),
        pytest.param(
            PassMark(id="a", metric="samples_per_s", comparator="at_least", bound=4000.0, unit="samples/s"),
            ("PASS", 4852.0),
            id="rate",
        ),
        pytest.param(
            PassMark(id="a", metric="cost_per_result", comparator="at_most", bound=1.0, unit="USD"),
            ("PASS", 0.0),
            id="cost",
        ),
        pytest.param(
            PassMark(id="a", metric="speedup", comparator="at_least", bound=1.5, unit="x"), ("PASS", 1.9), id="absolute"
        ),
    ],
)
def test_other_metrics_are_judged_in_their_own_units(mark: PassMark, expected: tuple[str, float]) -> None:
    """Value and bound are in the mark's unit."""
    verdict = judge_mark(mark, make_evidence())

    assert expected[0] == verdict.word, verdict
    assert expected[1] == pytest.approx(verdict.value, rel=0.01, abs=0.01)


def test_metric_that_records_do_not_hold_is_unjudged() -> None:
    """A name of one's own cannot be computed from run records."""
    mark = PassMark(id="a", metric="tokens", comparator="at_least", bound=1, unit="tokens/s")
    verdict = judge_mark(mark, make_evidence())

    assert "UNJUDGED" == verdict.word
    assert "cannot be computed from run records" in verdict.reason


def test_mark_for_another_pool_is_void() -> None:
    """Evidence of other devices than the mark names is of something else."""
    verdict = judge_mark(replace(SPEEDUP, id="a", pool="a40:4"), make_evidence(rehearsal=False))

    assert ("VOID", True) == (verdict.word, "the mark is for a40:4, the runs were made on a40:16" in verdict.reason)


def test_rehearsal_stands_in_for_a_mark_of_another_pool() -> None:
    """A session on CPU rehearses a mark whatever pool it names, and says that this is a rehearsal."""
    verdict = judge_mark(replace(SPEEDUP, id="a", pool="a40:16"), make_evidence())

    assert ("PASS", True, "cpu:2") == (verdict.word, "rehearsal" in verdict.qualifiers, verdict.pool)


def test_ratio_without_its_reference_kind_names_that_kind() -> None:
    """A baseline that was taken on the portable core alone says nothing of the kind that is the unit."""
    portable = only(lambda run: with_speed(with_header(run, pool=make_pool("cpu-portable:2")), 1.0), name="baseline")
    evidence = make_evidence(
        plan=portable_fleet(e1_plan()), doctor=lambda run: run if run.header.leg == "with-exchange" else portable(run)
    )
    verdict = judge_mark(replace(SPEEDUP, id="a"), evidence)

    assert ("UNJUDGED", "repeat 0 has no baseline round on cpu") == (verdict.word, verdict.reason)


def portable_fleet(plan: Plan) -> Plan:
    """Let the fleet be of the portable kind, and leave the baseline's kind as it is."""
    return with_fleet(plan, "cpu-portable:2")


def test_control_that_failed_is_named_as_the_cause() -> None:
    """What follows from another failure says from which."""
    evidence = make_evidence(doctor=scored(control_b=400))
    verdict = judge_mark(PARITY, evidence)

    assert ("VOID", next(run.id for run in evidence.runs if run.header.name == "control-b")) == (
        verdict.word, verdict.follows_from,
    )  # fmt: skip


def test_one_control_below_target_in_five_repeats_counts_as_the_worst_value() -> None:
    """The repeat is not dropped: it counts against the mark, and four good ones still decide."""
    failing = only(scored(control_b=400), repeat=2)
    verdict = judge_mark(PARITY, make_evidence(doctor=failing, repeats=5, plan=with_runs(e1_plan(), 5)))

    assert ("PASS", 4) == (verdict.word, verdict.n), verdict
    assert any("control-b did not pass itself" in text for text in verdict.details)


def test_one_impossible_ratio_in_five_repeats_counts_as_the_worst_value() -> None:
    """It never counts for the mark; alone it would make it void, among five it counts against them."""
    too_fast = only(lambda run: with_speed(run, 1.5), name="fleet", repeat=2)
    verdict = judge_mark(SPEEDUP, make_evidence(doctor=too_fast, repeats=5, plan=with_runs(e1_plan(), 5)))

    assert ("PASS", 4) == (verdict.word, verdict.n), verdict
    assert any("is above the ideal 2" in text for text in verdict.details)


def test_two_void_attempts_of_three_leave_a_mark_unjudged() -> None:
    """The worst value, twice, decides the median of three: nobody knows what the mark is worth."""
    failing = only(scored(fleet=400))
    evidence = make_evidence(
        doctor=lambda run: run if run.header.repeat == 0 else failing(run), repeats=3, plan=with_runs(e1_plan(), 3)
    )
    verdict = judge_mark(SPEEDUP, evidence)

    assert "UNJUDGED" == verdict.word
    assert "2 attempts that count as the worst value would change the verdict" in verdict.reason
    assert "not good enough" in verdict.reason


def test_void_mark_still_shows_what_was_measured() -> None:
    """The number stands beside the word that says what it is worth."""
    verdict = judge_mark(SPEEDUP, make_evidence(doctor=scored(fleet=400)))

    assert ("VOID", 1, 1.4) == (verdict.word, verdict.n, verdict.bound)
    assert verdict.value is not None


def test_cost_in_another_currency_is_not_compared() -> None:
    """Forty euros are not forty dollars."""
    mark = PassMark(id="a", metric="cost_per_result", comparator="at_most", bound=1.0, unit="EUR")
    verdict = judge_mark(mark, make_evidence())

    assert ("UNJUDGED", True) == (verdict.word, "is in USD" in verdict.reason)


@pytest.mark.parametrize("was_closed", [True, False])
def test_a_run_whose_record_is_gone_is_never_forgotten(was_closed: bool) -> None:  # noqa: FBT001
    """Closed and gone is tampering; registered and never seen again counts as the worst value."""
    gone = LostRun(
        run_id="gone",
        role="fleet",
        name="fleet",
        repeat=0,
        session="session-1",
        rehearsal=True,
        was_closed=was_closed,
        faults=("no such file",),
    )
    evidence = make_evidence(lost=(gone,))

    assert ("TAMPERED" if was_closed else "UNJUDGED") == judge_mark(SPEEDUP, evidence).word
    parity = judge_mark(PARITY, evidence)
    assert ("TAMPERED" if was_closed else "PASS") == parity.word
    assert any("run gone (fleet)" in text and "no such file" in text for text in (parity.reason, *parity.details))


def test_shares_by_speed_make_a_fair_baseline() -> None:
    """A fleet whose shares are not equal is still compared at equal work a round."""
    uneven_shares = only(
        lambda run: with_speed(with_settings(run, shares=(130, 110), split="speed"), 1.0), name="fleet"
    )

    assert "PASS" == judge_mark(SPEEDUP, make_evidence(doctor=uneven_shares)).word


def test_a_suite_without_a_plan_has_nothing_to_judge() -> None:
    """Run records need a plan that names their roles."""
    evidence: Evidence = replace(make_evidence(), plan=None)
    verdict = judge_mark(replace(SPEEDUP, id="a"), evidence)

    assert verdict.word in {"UNJUDGED", "TAMPERED"}
