"""Made-up experiments are what real ones would be: valid, complete and consistent in themselves."""

import math
from statistics import median

import pytest

from pytest_mixgpu.records.bits import decode_bits
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan_file import plan_digest
from pytest_mixgpu.timing.phases import attribute
from tests.sample_doctors import as_failed, with_score, with_speed
from tests.samples import as_record, e1_plan, make_run, make_runs, stage_of


@pytest.fixture(scope="module", params=[True, False], ids=["rehearsal", "a40"])
def experiment(request: pytest.FixtureRequest) -> tuple[RunRecord, ...]:
    return tuple(as_record(run) for run in make_runs(rehearsal=request.param))


def test_every_role_and_leg_of_the_plan_is_there(experiment: tuple[RunRecord, ...]) -> None:
    """A session's runs come in its order, baseline rounds before and after the fleet's."""
    expected = [
        ("baseline", "before"), ("fleet", ""), ("baseline", "after"), ("baseline", "with-exchange"), ("reference", ""),
        ("control-a", ""), ("control-b", ""), ("mixed", ""),
    ]  # fmt: skip
    assert expected == [(record.header.name, record.header.leg) for record in experiment]


def test_the_plan_is_followed(experiment: tuple[RunRecord, ...]) -> None:
    """Seeds, pools, rounds and digests are the plan's."""
    plan = e1_plan()
    stage = stage_of(plan, rehearsal=experiment[0].header.rehearsal)
    roles = {role.name: role for role in stage.roles}
    for record in experiment:
        header, role = record.header, roles[record.header.name]
        num_turns = role.num_devices if header.leg in {"before", "after"} else 1
        assert (stage.seeds.base, plan_digest(plan)) == (header.seed, header.digests.plan)
        assert (role.rounds or stage.settings.rounds) * num_turns == len(record.measured_rounds)
        assert role.to_finish == (record.test is not None)
        samples = {sum(line.samples) for line in record.rounds}
        assert {stage.settings.round_steps * stage.settings.batch_size} == samples


def test_segments_are_true_to_the_stamps(experiment: tuple[RunRecord, ...]) -> None:
    """Segments are those of the stamps, and add up to each participant's round."""
    for line in (line for record in experiment for line in record.rounds):
        last_ready_s = max((one.ready_s for one in line.coordinator), default=None)
        for place, own in enumerate(line.stamps):
            seen = line.coordinator[place] if line.coordinator else None
            found = attribute(
                own,
                seen,
                last_ready_s=last_ready_s,
                combine_start_s=line.combine_start_s,
                combine_end_s=line.combine_end_s,
            )
            assert (found.segments, found.overlap_s) == (line.segments[place], line.overlap_s[place])
            assert math.isclose(own.close_s, sum(one.duration_s for one in found.segments))


def test_scores_are_true_to_their_bits(experiment: tuple[RunRecord, ...]) -> None:
    """As many test images are marked right as were counted."""
    tests = [record.test for record in experiment if record.test is not None]
    assert tests
    for test in tests:
        assert test.num_correct == sum(decode_bits(test.correct_bits, test.num_total))


def test_spans_fill_the_lease(experiment: tuple[RunRecord, ...]) -> None:
    """From lease to release there is no gap; what moved is counted, but by the usual tool."""
    for record in experiment:
        assert record.outcome is not None
        assert math.isclose(record.outcome.leased_s, sum(span.duration_s for span in record.outcome.spans))
        counted = sum(sum(line.sent_bytes) + sum(line.received_bytes) for line in record.rounds)
        assert record.outcome.moved_bytes == (None if record.header.role == "reference" else counted)


def test_the_experiment_would_pass(experiment: tuple[RunRecord, ...]) -> None:
    """Speed-up and parity of the undoctored experiment are within E1's marks, and below the ideal."""
    by_name = {(record.header.name, record.header.leg): record for record in experiment}
    rounds_s = {key: median(line.round_s for line in record.measured_rounds) for key, record in by_name.items()}
    ideal = len(by_name["fleet", ""].devices)
    assert 0.70 * ideal < rounds_s["baseline", "before"] / rounds_s["fleet", ""] < ideal
    points = {name: 100 * one.test.num_correct / one.test.num_total for (name, _), one in by_name.items() if one.test}
    assert abs(points["mixed"] - (points["control-a"] + points["control-b"]) / 2) < 0.5


def test_doctors_change_what_they_say() -> None:
    """A doctored run differs in what was asked, and follows from it."""
    run = make_run()
    assert (400, 400) == ((test := as_record(with_score(run, 400)).test) and test.num_correct, test and sum(
        decode_bits(test.correct_bits, test.num_total)
    ))  # fmt: skip
    # Twice as fast, and with a scatter of its own: rounds that are scaled are a copy.
    fast_s, slow_s = (one.rounds[0].stamps[0].compute_end_s for one in (with_speed(run, 2.0), run))
    assert math.isclose(2 * fast_s, slow_s, rel_tol=0.03)
    assert 2 * fast_s != slow_s
    failed = as_record(as_failed(run, after_rounds=2))
    assert ("failed", 2, None, 1) == (failed.status, len(failed.rounds), failed.test, len(failed.faults))
    assert failed.outcome is not None
    assert 2 == [span.name for span in failed.outcome.spans].count("training")
    assert math.isclose(failed.outcome.leased_s, sum(span.duration_s for span in failed.outcome.spans))


def test_the_same_call_makes_the_same_run() -> None:
    """Nothing made up depends on the clock or on chance."""
    assert make_run() == make_run()
    assert make_run(repeat=1).header.nonce == make_run(repeat=1).header.nonce != make_run().header.nonce
