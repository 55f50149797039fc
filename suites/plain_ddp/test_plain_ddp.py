"""A job that none of the plugin's code trains: two marks and two claims. What is run stands in `benchmark.toml`.

The verdicts carry `self-reported`: the plugin timed the rounds, and the job says the rest of itself.
"""

import pytest

from pytest_mixgpu.plugin.opinions import ClaimJudge, PassmarkJudge
from pytest_mixgpu.plugin.runs import Runs


@pytest.mark.claim("plain-ddp-phases", checks=["warm-up-apart", "phases-add-up", "work-fixed"])
@pytest.mark.passmark("plain-ddp-speedup", metric="speedup", at_least=0.40, of="ideal", unit="x")
def test_two_devices_are_faster_than_one(claim: ClaimJudge, passmark: PassmarkJudge, runs: Runs) -> None:
    """Two devices reach 40 % of the ideal speed-up, in rounds of fixed work without instruments."""
    claim.judge(runs)
    passmark.judge(runs)


@pytest.mark.claim(
    "plain-ddp-recorded", checks=["devices-named", "hosts-named", "versions-recorded", "settings-recorded"]
)
@pytest.mark.passmark("plain-ddp-accuracy", metric="accuracy", at_least=0.90, unit="share")
def test_what_was_timed_also_learns(claim: ClaimJudge, passmark: PassmarkJudge, runs: Runs) -> None:
    """The weights that came out of the timed rounds get 90 % of the held-out points right."""
    claim.judge(runs)
    passmark.judge(runs)
