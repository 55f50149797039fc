"""Pytest is killed with SIGKILL at moments spread over its session; its ledger survives each, and the next goes on."""

import secrets
from pathlib import Path
from random import Random

import pytest

from tests.plugin.kills import ENDED, FAMILY, Killer, one_run_suite

SEED = 20261129
NUM_KILLS = 10


def test_kill_at_any_moment_leaves_a_ledger_that_verifies(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The killed run counts as aborted, nothing that was registered is lost, and no process or lease is left."""
    family = secrets.token_hex(8)
    monkeypatch.setenv(FAMILY, family)
    killer = Killer(one_run_suite(tmp_path / "bench"), family)
    killer.let_live()

    for moment in killer.moments(NUM_KILLS, Random(SEED)):  # noqa: S311 - moments need no secrecy
        killer.kill_at(moment)
    killer.let_live()

    with capsys.disabled():
        print(f" seed {SEED}: died {dict(killer.places())} ", end="")  # noqa: T201 - where it died is what can vary
    killer.check_counted()
    assert NUM_KILLS == sum(count for place, count in killer.places().items() if place != ENDED)
    assert killer.places()["while running"] > 0
