"""The sample's pass marks and claims. One mark asks for more than the machine can do: a `FAIL` is to be seen too."""

import pytest


@pytest.mark.claim("stripes-question", checks=["question-asked", "workload-described", "done-by-quality"])
def test_what_is_asked_is_said(claim, runs):
    """Question, workload and what counts as done are stated."""
    claim.judge(runs)


@pytest.mark.claim("stripes-frozen", checks=["marks-frozen", "frozen-before-first-run", "amendments-explained"])
def test_marks_came_first(claim, runs):
    """The pass marks are older than the first run."""
    claim.judge(runs)


@pytest.mark.claim("stripes-conditions", checks=["devices-named", "hosts-named", "versions-recorded", "links-measured"])
def test_conditions_are_on_record(claim, runs):
    """Devices, hosts, versions and links stand in every record."""
    claim.judge(runs)


@pytest.mark.claim("stripes-time", checks=["warm-up-apart", "phases-add-up", "work-fixed", "baseline-brackets-fleet"])
@pytest.mark.passmark("stripes-speedup", metric="speedup", at_least=0.6, of="ideal", unit="x")
def test_two_cores_are_faster_than_one(claim, passmark, runs):
    """Two cores reach 60 % of the ideal speed-up."""
    claim.judge(runs)
    passmark.judge(runs)


@pytest.mark.passmark("stripes-round", metric="round_s", at_most=0.04, unit="s")
def test_a_round_is_as_quick_as_the_next_machine_s(passmark, runs):
    """A round of 7,680 images is as quick as the next machine promises."""
    passmark.judge(runs)


@pytest.mark.claim("stripes-controls", checks=["controls-same-schedule", "controls-passed", "mixture-is-one"])
@pytest.mark.passmark("stripes-parity", metric="parity", within=2, of="controls", unit="points")
def test_a_mixed_job_is_as_good_as_its_controls(claim, passmark, runs):
    """Two kinds of kernels end within two points of the mean of either alone."""
    claim.judge(runs)
    passmark.judge(runs)


@pytest.mark.claim("stripes-bill", checks=["lease-to-release-timed", "cost-items-listed", "prices-sourced"])
@pytest.mark.passmark("stripes-cost", metric="cost_per_result", at_most=0.05, unit="USD")
def test_a_result_costs_at_most_five_cents(claim, passmark, runs):
    """One completed result costs at most five cents, with baseline, reference and controls."""
    claim.judge(runs)
    passmark.judge(runs)


@pytest.mark.claim("stripes-attempts", checks=["planned-runs-made", "attempts-counted", "spread-stated"])
def test_every_run_is_counted(claim, runs):
    """All planned runs were made, and every attempt is accounted for."""
    claim.judge(runs)
