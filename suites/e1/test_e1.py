"""E1: ten claims of a mixed-GPU training benchmark. What is run, and on what, stands in `benchmark.toml`."""

import pytest

from pytest_mixgpu.plugin.opinions import ClaimJudge, PassmarkJudge
from pytest_mixgpu.plugin.runs import Runs


@pytest.mark.claim(
    "e1-recorded-first",
    checks=[
        "question-asked",
        "marks-frozen",
        "frozen-before-first-run",
        "committed-before-first-run",
        "amendments-explained",
    ],
)
def test_pass_marks_were_recorded_before_the_first_run(claim: ClaimJudge, runs: Runs) -> None:
    """Question and pass marks were committed before the first run; a later change shows when and why."""
    claim.judge(runs)


@pytest.mark.claim(
    "e1-workload",
    checks=[
        "workload-described",
        "splits-held-apart",
        "done-by-quality",
        "one-evaluator",
        "one-data-set",
        "limits-stated",
    ],
)
def test_workload_split_and_done_are_defined(claim: ClaimJudge, runs: Runs) -> None:
    """What is trained, what is held out, and by which quality a run counts as done."""
    claim.judge(runs)


@pytest.mark.claim(
    "e1-baseline",
    checks=[
        "baseline-named",
        "baseline-brackets-fleet",
        "baseline-same-code-and-data",
        "baseline-with-exchange-beside",
        "usual-tool-beside",
        "not-compared-stated",
    ],
)
def test_baseline_is_named_and_has_the_same_code_and_data(claim: ClaimJudge, runs: Runs) -> None:
    """What the fleet is compared with, on the same code and data, and what was not compared."""
    claim.judge(runs)


@pytest.mark.claim("e1-placement", checks=["devices-named", "hosts-named", "coordinator-placed", "links-measured"])
def test_hardware_placement_and_links_are_recorded(claim: ClaimJudge, runs: Runs) -> None:
    """Where every participant and the coordinator ran, and what connected them."""
    claim.judge(runs)


@pytest.mark.claim(
    "e1-settings",
    checks=["versions-recorded", "formats-recorded", "settings-recorded", "kernels-recorded", "seeds-recorded"],
)
def test_versions_formats_and_settings_are_recorded(claim: ClaimJudge, runs: Runs) -> None:
    """Vendors and generations do not give identical bits: what computed is recorded."""
    claim.judge(runs)


@pytest.mark.claim("e1-phases", checks=["warm-up-apart", "phases-add-up", "work-fixed", "single-rounds-stated"])
@pytest.mark.passmark("e1-speedup", metric="speedup", at_least=0.70, of="ideal", unit="x")
def test_time_per_phase_is_a_median_after_warm_up_and_the_fleet_is_fast_enough(
    claim: ClaimJudge, passmark: PassmarkJudge, speed_runs: Runs
) -> None:
    """16 devices reach at least 70 % of the ideal speed-up; rounds of fixed work are timed phase by phase."""
    claim.judge(speed_runs)
    passmark.judge(speed_runs)


@pytest.mark.claim(
    "e1-quality",
    checks=["tolerance-frozen", "controls-uniform", "controls-same-schedule", "controls-passed", "mixture-is-one"],
)
@pytest.mark.passmark("e1-parity", metric="parity", within=0.5, of="controls", unit="points")
def test_mixed_pool_reaches_the_quality_of_controls_that_themselves_passed(
    claim: ClaimJudge, passmark: PassmarkJudge, quality_runs: Runs
) -> None:
    """The mixed pool ends within 0.5 points of its controls' mean, or within their own gap if larger."""
    claim.judge(quality_runs)
    passmark.judge(quality_runs)


@pytest.mark.claim(
    "e1-cost", checks=["lease-to-release-timed", "cost-items-listed", "prices-sourced", "cost-per-result"]
)
def test_cost_of_one_completed_result_is_whole(claim: ClaimJudge, runs: Runs) -> None:
    """What one completed result cost, from lease to release, failures and reruns included."""
    claim.judge(runs)


@pytest.mark.claim("e1-runs", checks=["planned-runs-stated", "planned-runs-made", "attempts-counted", "spread-stated"])
def test_runs_behind_each_number_and_their_spread_are_stated(claim: ClaimJudge, runs: Runs) -> None:
    """How many runs stand behind each number and how far apart they were; one run is an observation."""
    claim.judge(runs)


@pytest.mark.claim("e1-wait", checks=["wait-stated"])
def test_wait_for_gpus_is_measured_apart_or_out_of_scope(claim: ClaimJudge, runs: Runs) -> None:
    """The wait for GPUs is measured apart, or said to be out of scope."""
    claim.judge(runs)
