"""A suite whose experiment itself, not a stand-in of it, runs on two cores within seconds, and may pass officially."""

from pathlib import Path

from tests.plugin.bench import Bench
from tests.plugin.tiny_recipe import add_tiny, train_tiny
from tests.samples import E1_PLAN

TESTS = '''
import pytest


@pytest.mark.claim("cpu-phases", checks=["warm-up-apart", "phases-add-up", "work-fixed"])
@pytest.mark.passmark("cpu-rate", metric="samples_per_s", at_least=1.0, unit="samples/s")
def test_fleet(claim, passmark, runs):
    """The fleet handles at least one sample a second."""
    speed = runs.of("baseline", "fleet")
    claim.judge(speed)
    passmark.judge(speed)
'''

HEADER = """\
schema = 1
id = "cpu"
question = "Do two cores of this machine handle a sample a second?"

[baseline]
description = "the same on one core"
not_compared = ["anything else"]

[placement]
coordinator = "local"
description = "one machine"

[wait]
status = "out-of-scope"
reason = "cores are taken as they are"

[disturbance]
foreign_share = 0.999
drift = 0.999
"""
SMALLER = {"round_steps = 240": "round_steps = 8", "rounds = 6": "rounds = 2", "target = 0.95": "target = 0.01"}


def cpu_plan() -> str:
    """Return E1's rehearsal, shortened, as the plan of an experiment of its own: baseline and fleet."""
    _, start, rehearsal = E1_PLAN.read_text("utf-8").partition("[rehearsal.workload]")
    text = (start + rehearsal).replace("[rehearsal.", "[")
    for before, after in SMALLER.items():
        assert before in text
        text = text.replace(before, after)
    parts = text.split("[[roles]]\n")
    kept = [part for part in parts[1:] if 'role = "baseline"' in part or 'role = "fleet"' in part]
    return HEADER + "\n" + train_tiny(parts[0]) + "".join(f"[[roles]]\n{part}" for part in kept)


def cpu_suite(folder: Path) -> Bench:
    """Lay it out and commit it, with somebody who may commit; it is not frozen yet."""
    bench = Bench.new(folder)
    bench.git("config", "user.name", "A Reader")
    bench.git("config", "user.email", "reader@localhost")
    add_tiny(bench)
    bench.write("benchmark.toml", cpu_plan())
    bench.write("test_cpu.py", TESTS)
    bench.commit()
    return bench
