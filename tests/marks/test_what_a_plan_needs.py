"""What a plan needs: numbers of runs from spreads, sessions from pools, and marks that no plan can meet."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.errors import MarkError
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.parse import parse_passmark
from pytest_mixgpu.marks.planning import PlanNeeds, mark_need, role_needs, runs_needed, sessions_for
from pytest_mixgpu.marks.seen import Seen, seen_of
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.needs import need_lines
from tests.judging import e1_marks, make_evidence, with_prices, with_runs
from tests.negative.cases_of_rules import APART, fleet_at
from tests.samples import e1_plan

SPEEDUP = e1_marks().mark("e1-speedup")
PARITY = e1_marks().mark("e1-parity")
STEP = PassMark(id="step", metric="step_time", comparator="at_most", bound=2.0, unit="ms")


def lines_for(*marks: PassMark, plan: Plan | None = None, num_repeats: int = 1, seen: tuple[Seen, ...] = ()) -> str:
    """What is printed of these marks, on one line a fact."""
    needs = PlanNeeds(
        suite="s",
        num_repeats=None if plan is None else num_repeats,
        marks=tuple(mark_need(mark, plan, is_frozen=True, num_repeats=num_repeats, seen=seen) for mark in marks),
        num_claims=0,
        roles=() if plan is None else role_needs(plan, num_repeats, {}),
        sessions=() if plan is None else sessions_for(plan.roles),
    )
    return "\n".join(need_lines(needs, command="pytest suites/s", width=1000))


@pytest.mark.parametrize(
    ("deviation", "margin", "one_sided", "num_runs"),
    [
        pytest.param(1.0, 0.5, False, 34, id="half-a-deviation-by-the-book"),
        pytest.param(1.0, 0.5, True, 27, id="to-one-side-fewer"),
        pytest.param(1.0, 1.0, False, 10, id="one-deviation"),
        pytest.param(1.0, 20.0, False, 2, id="never-fewer-than-two"),
        pytest.param(0.0, 0.1, False, 2, id="no-spread"),
        pytest.param(1.0, 0.0, False, None, id="at-the-bound-itself"),
        pytest.param(1.0, 0.01, False, None, id="beyond-what-is-looked-for"),
    ],
)
def test_number_of_runs_is_that_of_the_power_tables(
    deviation: float,
    margin: float,
    one_sided: bool,  # noqa: FBT001
    num_runs: int | None,
) -> None:
    """Two-sided at 5 %, one-sided at 5 %, with a power of 80 %: as textbooks tabulate the paired t test."""
    assert num_runs == runs_needed(deviation, margin, one_sided=one_sided)


@settings(deadline=None)
@given(deviation=st.floats(min_value=0.01, max_value=1.0), scale=st.sampled_from([1e-3, 1e3]))
def test_number_of_runs_knows_no_unit_and_grows_with_the_spread(deviation: float, scale: float) -> None:
    """Milliseconds or seconds, the same number; twice the spread never needs fewer."""
    few, many = runs_needed(deviation, 1.0), runs_needed(2 * deviation, 1.0)

    assert few is not None
    assert many is not None
    assert few <= many
    assert few == runs_needed(deviation * scale, scale * (1 + 1e-12))


def test_sessions_are_as_few_as_the_pools_allow() -> None:
    """Sixteen A40 hold the baseline and three-device control as well; what they do not hold is asked for apart."""
    assert (
        ("a40:16", ("baseline", "fleet", "reference", "control-a")),
        ("rtx4090:3", ("control-b",)),
        ("a40:1,mi300x:1,rtx4090:1", ("mixed",)),
    ) == sessions_for(e1_plan().roles)


def test_cores_serve_as_any_cpu_kind() -> None:
    """One session on two cores makes all roles of the stand-in."""
    stand_in = e1_plan().rehearsal
    assert stand_in is not None

    assert [("cpu:2", tuple(role.name for role in stand_in.roles))] == list(sessions_for(stand_in.roles))


def test_runs_are_counted_by_role_and_pool() -> None:
    """A baseline is three runs a repeat: before and after the fleet, and with an exchange."""
    text = lines_for(SPEEDUP, plan=e1_plan(), num_repeats=5)

    assert "planned: 5 runs of each role, seed 0 to 4" in text
    assert "baseline on a40:1: 15 runs (before and after the fleet, and with an exchange)" in text
    assert "fleet on a40:16: 5 runs" in text
    assert "in all: 40 runs, 40 of them not registered yet" in text
    assert "pytest suites/s --gpus=a40:16   (baseline, fleet, reference, control-a)" in text


def test_bound_of_the_ideal_is_worked_out_where_the_plan_tells_it() -> None:
    """Sixteen of one kind: 11.2; of two kinds it hangs on measured rates."""
    two_kinds = replace(
        e1_plan(),
        roles=tuple(
            replace(role, pool="a40:8,rtx4090:8") if role.name == "fleet" else role for role in e1_plan().roles
        ),
    )

    assert "e1-speedup: speedup >= 11.2 x (0.7 of the ideal 16)" in lines_for(SPEEDUP, plan=e1_plan())
    assert "speedup >= 0.7 of an ideal that is the sum of measured rates" in lines_for(SPEEDUP, plan=two_kinds)


def test_one_run_can_show_no_difference_and_three_can() -> None:
    """What the planned number resolves stands beside what would be needed."""
    one, three = (lines_for(SPEEDUP, plan=e1_plan(), num_repeats=num) for num in (1, 3))

    assert "one run has no interval: whatever it says, no difference can be shown by it" in one
    assert "at a standard deviation of 0.224 x (assumed) 1 run can show no difference; 4 runs are needed" in one
    assert "3 runs can show a difference of 0.731 x; 4 runs are needed" in three
    assert "the range of 3 runs covers the true median with a chance of 75 %" in three


def test_parity_has_its_chances_beside_every_spread() -> None:
    """The published figure stands in the plan before any run was made."""
    text = lines_for(PARITY, plan=e1_plan())

    assert "parity within 0.5 points (or the controls' own gap where that is larger)" in text
    assert "at a standard deviation of 0.7 points (assumed) 1 run can show no difference; 20 runs are needed" in text
    assert "of 1 in 42 % of such experiments" in text


def test_spread_that_was_seen_takes_the_place_of_assumed_ones() -> None:
    """With a value there is a distance from the bound, and the number of runs that shows it."""
    seen = Seen(where="seen, 3 runs", value=11.8, deviation=0.3)
    text = lines_for(SPEEDUP, plan=e1_plan(), num_repeats=3, seen=(seen,))

    assert "at a standard deviation of 0.3 x (seen, 3 runs)" in text
    assert "5 runs are needed to lie on one side of the bound, 0.6 x away" in text
    assert "assumed" not in text


def test_rehearsal_lends_its_relative_spread_and_not_its_value() -> None:
    """Two cores at 1.9 times one say nothing of 11.2; that runs lay 2 % apart is what there is to go by."""
    seen = Seen(where="seen in a rehearsal, 3 runs", value=1.9, deviation=0.038, is_of_rehearsal=True)
    text = lines_for(SPEEDUP, plan=e1_plan(), seen=(seen,))

    assert "at a standard deviation of 0.224 x (seen in a rehearsal, 3 runs)" in text
    assert "4 runs are needed to lie on one side of the bound, 0.56 x away" in text


@pytest.mark.parametrize(
    ("mark", "plan", "says"),
    [
        pytest.param(
            replace(SPEEDUP, least_runs=3),
            e1_plan(),
            "asks for at least 3 runs, and 1 will be there: raise `runs` under [seeds] in benchmark.toml",
            id="more-than-planned",
        ),
        pytest.param(
            replace(SPEEDUP, straddling="unjudged"),
            e1_plan(),
            "straddling='unjudged' needs an interval, and one run has none: raise `runs`",
            id="no-interval-to-rule-on",
        ),
        pytest.param(STEP, None, "samples of one run, however many there are: n = 1 and no interval", id="no-plan"),
        pytest.param(
            replace(STEP, least_runs=2), None, "and 1 will be there: it can never be met as it is", id="never-met"
        ),
    ],
)
def test_what_the_plan_can_never_give_is_said_before_any_run(mark: PassMark, plan: Plan | None, says: str) -> None:
    """Better now than as UNJUDGED after a week of runs."""
    assert says in lines_for(mark, plan=plan)


def test_a_suite_without_a_plan_has_no_sessions() -> None:
    """There is nothing to start but the suite itself."""
    text = lines_for(STEP)

    assert "no plan (benchmark.toml): each mark is judged on the samples of one run" in text
    assert "--gpus" not in text
    assert "runs are needed" not in text


def test_earlier_runs_say_how_far_they_lie_apart() -> None:
    """Three runs have a spread in the mark's unit; one has none, and neither has a number of the whole."""
    plan = with_prices(with_runs(e1_plan(), 3))
    three = make_evidence(plan=plan, rehearsal=False, repeats=3, doctor=fleet_at(APART))
    seen = seen_of(SPEEDUP, three, "seen")

    assert seen is not None
    assert ("seen, 3 runs", False) == (seen.where, seen.is_of_rehearsal)
    assert 1.0 < seen.deviation < 3.0
    assert math.isfinite(seen.value)
    assert seen_of(SPEEDUP, make_evidence(), "seen") is None
    cost = PassMark(id="cost", metric="cost_per_result", comparator="at_most", bound=1.0, unit="USD")
    assert seen_of(cost, three, "seen") is None


@pytest.mark.parametrize("rule", [{"least_runs": 2}, {"straddling": "fail"}])
def test_a_number_of_the_whole_experiment_takes_no_rule_about_runs(rule: dict[str, object]) -> None:
    """Cost for each result is one number, however many runs it is made of: such a mark could never be met."""
    keywords = {"metric": "cost_per_result", "at_most": 1.0, "unit": "USD", **rule}

    with pytest.raises(MarkError, match="one number of the whole experiment"):
        parse_passmark(["cost"], keywords, "test_cost")
