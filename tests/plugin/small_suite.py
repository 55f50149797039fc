"""A suite that really measures within seconds: E1's plan with short rounds, and marks that any machine meets."""

import re
from pathlib import Path

from tests.plugin.bench import Bench
from tests.plugin.tiny_recipe import add_tiny, train_tiny
from tests.samples import E1_PLAN

TESTS = '''
import pytest


@pytest.mark.claim("small-phases", checks=["warm-up-apart", "phases-add-up", "work-fixed"])
@pytest.mark.passmark("small-rate", metric="samples_per_s", at_least=1.0, unit="samples/s")
def test_fleet(claim, passmark, runs):
    """The fleet handles at least one sample a second."""
    speed = runs.of("baseline", "fleet", "reference")
    claim.judge(speed)
    passmark.judge(speed)


@pytest.mark.passmark("small-parity", metric="parity", within=90, of="controls", unit="points")
def test_mixture(passmark, runs):
    """The mixture is somewhere near its controls."""
    passmark.judge(runs.of("control", "mixed"))


@pytest.mark.claim("small-first", checks=["marks-frozen", "frozen-before-first-run", "committed-before-first-run"])
def test_recorded_first(claim, runs):
    """Marks were committed before the first run."""
    claim.judge(runs.of("baseline", "fleet", "reference"))
'''

FLEET = 'role = "fleet"\npool = "cpu:2"\n'


def small_suite(folder: Path, *, long_fleet: bool = False, draws: bool = False) -> Bench:
    """Lay it out, freeze it and commit it; with a fleet's run that goes on until something happens to it, if asked."""
    bench = Bench.new(folder, draws=draws)
    add_tiny(bench)
    before, start, rehearsal = E1_PLAN.read_text("utf-8").partition("[rehearsal]")
    for name, value in (("round_steps", "8"), ("rounds", "2"), ("target", "0.01")):
        rehearsal = re.sub(rf"^{name} = .*$", f"{name} = {value}", rehearsal, flags=re.MULTILINE)
    if long_fleet:
        assert FLEET in rehearsal
        rehearsal = rehearsal.replace(FLEET, FLEET + "rounds = 100000\n")
    bench.write("benchmark.toml", before.replace('id = "e1"', 'id = "small"') + start + train_tiny(rehearsal))
    bench.write("test_small.py", TESTS)
    bench.freeze()
    return bench
