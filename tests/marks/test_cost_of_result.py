"""The bill: every item counted once, what is unknown in no sum, and the quotient over runs that met the target."""

import math

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.cost import ITEMS, Bill, cost_of
from pytest_mixgpu.marks.evidence import LostRun
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.records.plan import Plan
from tests.judging import make_evidence, with_prices, with_runs
from tests.sample_doctors import Doctor, as_aborted, as_failed, only, with_outcome, with_score
from tests.samples import e1_plan


def amount(bill: Bill, name: str) -> float | None:
    return next(item.amount for item in bill.items if item.name == name)


def quantity(bill: Bill, name: str) -> float | None:
    return next(item.quantity for item in bill.items if item.name == name)


def test_every_item_of_the_checklist_is_on_the_bill() -> None:
    """In the order of the checklist, whether known or not."""
    assert ITEMS == tuple(item.name for item in cost_of(make_evidence()).whole.items)


def test_device_time_adds_up_to_the_leases() -> None:
    """Setup, training, idle, evaluation and teardown are parts of what was leased; nothing is counted twice."""
    evidence = make_evidence()
    bill = cost_of(evidence).whole
    parts = [item.quantity for item in bill.items if item.unit == "device-hours"]
    leased = math.fsum(run.outcome.leased_s * len(run.devices) for run in evidence.runs if run.outcome) / 3600

    assert bill.device_hours == pytest.approx(leased)
    assert math.fsum(part for part in parts if part is not None) == pytest.approx(leased, rel=0.01)


def test_unknown_is_not_stated_and_in_no_sum() -> None:
    """People, storage and prices that nobody gave are named, never 0."""
    cost = cost_of(make_evidence())

    assert ("data moved", "coordinator", "other hosts", "storage", "people") == cost.whole.not_stated
    assert amount(cost.whole, "people") is None
    assert cost.whole.amount == pytest.approx(
        math.fsum(item.amount for item in cost.whole.items if item.amount is not None)
    )


def test_people_count_where_every_run_states_them() -> None:
    """Half an hour in each of eight runs, at 60 an hour; with one run silent it is not stated."""
    plan = priced(person_hour=60.0)
    stated = make_evidence(plan=plan, doctor=lambda run: with_outcome(run, people_minutes=30.0))
    silent = make_evidence(
        plan=plan, doctor=lambda run: with_outcome(run, people_minutes=None if run.header.name == "mixed" else 30.0)
    )

    assert 240.0 == amount(cost_of(stated).whole, "people")
    assert amount(cost_of(silent).whole, "people") is None


def priced(**prices: float) -> Plan:
    plan = e1_plan()
    assert plan.rehearsal is not None
    assert plan.rehearsal.prices is not None
    return replace(plan, rehearsal=replace(plan.rehearsal, prices=replace(plan.rehearsal.prices, **prices)))


def test_moved_data_and_coordinators_are_priced_apart() -> None:
    """By the gigabyte, and by the hour of the coordinator's host in runs that had one."""
    evidence = make_evidence(plan=priced(moved_gigabyte=0.1, coordinator_hour=2.0))
    bill = cost_of(evidence).bare
    own = [run.outcome for run in evidence.runs if run.header.role in {"fleet", "mixed"}]
    moved = math.fsum(outcome.moved_bytes or 0 for outcome in own if outcome) / 1e9

    assert 0.1 * moved == pytest.approx(amount(bill, "data moved"))
    assert 2.0 * (quantity(bill, "coordinator") or 0) == pytest.approx(amount(bill, "coordinator"))


def test_kind_without_a_price_leaves_the_result_without_one() -> None:
    """A device that costs an unknown amount does not cost nothing."""
    cost = cost_of(make_evidence(rehearsal=False))

    assert ("a40", "mi300x", "rtx4090") == cost.unpriced_kinds
    assert (None, None) == (cost.per_result_whole, cost.per_result_bare)
    assert cost_of(make_evidence(rehearsal=False, plan=with_prices(e1_plan()))).per_result_whole is not None


def test_result_is_divided_by_runs_that_met_the_target() -> None:
    """Fleet and mixed run both did: two results; when the mixed run did not, its cost falls on the other."""
    both = cost_of(make_evidence())
    one = cost_of(make_evidence(doctor=only(lambda run: with_score(run, 400), name="mixed")))
    none = cost_of(make_evidence(doctor=lambda run: with_score(run, 0)))

    assert (2, 1, 0) == (both.num_results, one.num_results, none.num_results)
    assert both.per_result_whole is not None
    assert one.per_result_whole == pytest.approx(2 * both.per_result_whole)
    assert none.per_result_whole is None


def test_with_controls_and_baseline_costs_more_than_without() -> None:
    """Both are given, over the same results."""
    cost = cost_of(make_evidence())

    assert cost.per_result_whole is not None
    assert cost.per_result_bare is not None
    assert cost.per_result_whole > cost.per_result_bare


def test_failed_runs_are_paid_for() -> None:
    """Their whole lease is the item of failures; a run that never closed has a cost that is not known."""
    failed = cost_of(make_evidence(doctor=only(lambda run: as_failed(run, after_rounds=3), name="control-a")))
    aborted = cost_of(make_evidence(doctor=only(lambda run: as_aborted(run, after_rounds=3), name="control-a")))

    assert 0 < (amount(failed.whole, "failures and reruns") or 0)
    assert 0 == amount(failed.bare, "failures and reruns")
    assert amount(aborted.whole, "failures and reruns") is None
    assert (None, None) == (aborted.whole.amount, aborted.whole.device_hours)


def test_waiting_devices_are_idle() -> None:
    """A baseline leases two devices and uses one at a time: half of its training is idle."""
    evidence = make_evidence(names=("baseline",), doctor=None)
    solo = replace(evidence, attempts=evidence.attempts[:1], runs=evidence.runs[:1])
    bill = cost_of(solo).whole

    assert quantity(bill, "idle") == pytest.approx(quantity(bill, "training"), rel=0.01)


@pytest.mark.parametrize(
    "doctor",
    [
        pytest.param(lambda run: run, id="usual-tool-is-not-counted"),
        pytest.param(only(lambda run: as_aborted(run, after_rounds=3), name="control-a"), id="run-never-closed"),
    ],
)
def test_moved_data_that_somebody_did_not_count_is_not_stated(doctor: Doctor) -> None:
    """What the usual tool or a crashed run moved is unknown; with it, the sum is. Runs under test were counted."""
    cost = cost_of(make_evidence(plan=priced(moved_gigabyte=0.1), doctor=doctor))

    assert (None, None) == (quantity(cost.whole, "data moved"), amount(cost.whole, "data moved"))
    assert 0 < (quantity(cost.bare, "data moved") or 0)


@pytest.mark.parametrize(("role", "own_is_known"), [("control", True), ("mixed", False)])
def test_a_run_whose_record_is_gone_costs_what_nobody_knows(role: str, own_is_known: bool) -> None:  # noqa: FBT001
    """Its lease, its bytes and its people are in no sum as 0; of another role, it does not touch the bare bill."""
    lost = LostRun(
        run_id="gone", role=role, name=role, repeat=0, session="session-1", rehearsal=True, was_closed=False, faults=()
    )
    cost = cost_of(make_evidence(lost=(lost,)))
    items = ("failures and reruns", "data moved", "coordinator", "other hosts", "people")

    assert [None] * len(items) == [quantity(cost.whole, name) for name in items]
    assert (None, None) == (cost.whole.device_hours, cost.per_result_whole)
    assert own_is_known is (cost.per_result_bare is not None)


def test_cost_beside_a_lost_run_is_unjudged_and_names_it() -> None:
    """A mark on cost says whose cost is not known."""
    lost = LostRun(
        run_id="gone", role="mixed", name="mixed", repeat=0, session="session-1", rehearsal=True, was_closed=False,
        faults=(),
    )  # fmt: skip
    mark = PassMark(id="a", metric="cost_per_result", comparator="at_most", bound=1.0, unit="USD")
    verdict = judge_mark(mark, make_evidence(lost=(lost,)))

    assert ("UNJUDGED", True) == (verdict.word, "run gone (mixed) is registered" in verdict.reason)


@pytest.mark.parametrize(("made", "word"), [(3, "PASS"), (2, "UNJUDGED")])
def test_one_bill_of_all_planned_runs_is_judged_and_one_of_fewer_is_not(made: int, word: str) -> None:
    """The bill is one number however many runs it adds up; that all were made, each role has to show."""
    plan = with_runs(with_prices(e1_plan()), 3)
    mark = PassMark(id="a", metric="cost_per_result", comparator="at_most", bound=1e6, unit="USD")
    verdict = judge_mark(mark, make_evidence(plan=plan, rehearsal=False, repeats=made))

    assert (word, made, None) == (verdict.word, verdict.n, verdict.interval), verdict
    assert "preliminary" not in verdict.notes
    assert ("2 of 3 planned runs were made" in verdict.reason) == (made == 2)
