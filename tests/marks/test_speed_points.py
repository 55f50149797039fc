"""Speed beside the ideal, a point a run, and what comparisons cost: sums and sessions are kept apart."""

import math
from collections.abc import Sequence

import pytest

from pytest_mixgpu.marks.cost import comparison_bills, cost_of
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.speed_points import joint_spread, speed_points
from pytest_mixgpu.marks.timings import round_median_s
from pytest_mixgpu.records.model import RunRecord
from tests.judging import e1_marks, make_evidence, with_prices, with_runs
from tests.sample_doctors import as_failed, only
from tests.samples import e1_plan

SPEEDUP = e1_marks().mark("e1-speedup")


@pytest.mark.parametrize("repeats", [1, 3])
def test_points_are_those_that_are_judged_and_what_ran_beside(repeats: int) -> None:
    """The fleet's ratios are the mark's; a mate's is its own round's, against the same baseline."""
    evidence = make_evidence(repeats=repeats, plan=with_runs(e1_plan(), repeats))
    points = speed_points(evidence)
    verdict = judge_mark(SPEEDUP, evidence)
    spread = joint_spread(points)
    judged = [one for one in points if one.is_judged]

    assert tuple(one.ratio for one in judged) == verdict.run_values
    assert spread is not None
    assert (spread.median, spread.interval) == (verdict.value, verdict.interval)
    assert sorted({(one.name, one.ideal) for one in points}) == [
        ("baseline with-exchange", 1.0), ("fleet", 2.0), ("reference", 2.0),
    ]  # fmt: skip
    for one in points:
        fleet, own = evidence.of("fleet")[one.repeat], _run_of(evidence.completed, one.name, one.repeat)
        expected = judged[one.repeat].ratio * (round_median_s(fleet) or math.nan) / (round_median_s(own) or math.nan)
        assert one.ratio == pytest.approx(expected)


def _run_of(runs: Sequence[RunRecord], name: str, repeat: int) -> RunRecord:
    wanted = (name, repeat)
    return next(run for run in runs if (f"{run.header.name} {run.header.leg}".strip(), run.header.repeat) == wanted)


def test_without_a_bracket_there_is_no_point() -> None:
    """What cannot be judged is not drawn as if it could."""
    evidence = make_evidence(names=["fleet"])

    assert speed_points(evidence) == ()
    assert joint_spread(()) is None


@pytest.mark.parametrize("rehearsal", [True, False])
def test_the_bill_is_that_of_the_runs_under_test_and_of_each_comparison(rehearsal: bool) -> None:  # noqa: FBT001
    """Nothing is counted twice and nothing is left out, failed runs of a comparison included."""
    failing = only(lambda run: as_failed(run, after_rounds=2), name="control-b", repeat=1)
    plan = with_prices(with_runs(e1_plan(), 2))
    evidence = make_evidence(doctor=failing, repeats=2, plan=plan, rehearsal=rehearsal)
    cost, others = cost_of(evidence), comparison_bills(evidence)

    assert sorted(others) == ["baseline", "control", "reference"]
    assert cost.whole.amount is not None
    parts = [cost.bare.amount, *(bill.amount for bill in others.values())]
    assert math.fsum(part for part in parts if part is not None) == pytest.approx(cost.whole.amount)
    assert None not in parts
