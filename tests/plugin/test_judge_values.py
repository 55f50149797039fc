"""`passmark.judge` of a number or of samples: what is not known of them is said."""

from typing import NamedTuple

import pytest

from pytest_mixgpu.marks.model import Verdict
from tests.plugin.bench import Bench
from tests.plugin.suite_texts import SAMPLES, VALUE

NUMBERS = {
    "just-under": ("", "1.999", "PASS", "passed"),
    "equal": ("", "2.0", "PASS", "passed"),
    "just-over": ("", "2.001", "FAIL", "failed"),
    "no-number": ("", "float('nan')", "UNJUDGED", "failed"),
    "infinite": ("", "float('inf')", "UNJUDGED", "failed"),
    "own-pool": ("a40:1", "1.5, devices='a40:1'", "PASS", "passed"),
    "other-pool": ("a40:1", "1.5, devices='rtx4090:1'", "VOID", "failed"),
    "more-devices": ("a40:1", "1.5, devices='a40:2'", "VOID", "failed"),
    "pool-unsaid": ("a40:1", "1.5", "UNJUDGED", "failed"),
    "stand-in": ("a40:1", "1.5, devices='cpu:1'", "PASS", "rehearsed"),
}
"""By id: the mark's pool, what the test judges, the word, and what pytest counts it as."""


class Judged(NamedTuple):
    """What one session said of all these numbers."""

    lines: list[str]
    verdicts: dict[str, Verdict]


@pytest.fixture(scope="module")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """One test a number, frozen, in one session on a core."""
    bench = Bench.new(tmp_path_factory.mktemp("numbers") / "numbers")
    for id_, (pool, number, _, _) in NUMBERS.items():
        name = id_.replace("-", "_")
        text = VALUE.replace('"latency",', f'"{id_}",').replace("test_latency", f"test_{name}").replace("1.5", number)
        bench.write(f"test_{name}.py", text.replace('unit="s"', f'unit="s", pool="{pool}"') if pool else text)
    bench.freeze()
    result = bench.pytest("--gpus=cpu:1", "-v")
    return Judged(result.outlines, bench.verdicts("numbers"))


@pytest.mark.parametrize("id_", NUMBERS)
def test_number(judged: Judged, id_: str) -> None:
    """A number is judged in the mark's unit, for the devices that the test names; it is noted as stated."""
    _, number, word, status = NUMBERS[id_]
    verdict = judged.verdicts[id_]

    assert word == verdict.word
    assert {"value-stated", "self-reported", "preliminary"} <= set(verdict.notes)
    assert ("devices" in number) == ("devices-stated" in verdict.notes)
    assert any(f"::test_{id_.replace('-', '_')} {status.upper()}" in line for line in judged.lines)


def test_unfrozen_number_is_exploratory(bench: Bench) -> None:
    """Without a lock a pass is not counted as one."""
    bench.write("test_latency.py", VALUE)

    assert {"exploratory": 1} == bench.pytest().parseoutcomes()


def test_samples_name_their_device(bench: Bench) -> None:
    """Durations of the stopwatch carry the pool that they were taken on."""
    bench.write("test_sum.py", SAMPLES)
    bench.freeze()

    result = bench.pytest("--gpus=cpu:1", "--benchmark-disable")

    assert {"passed": 1} == result.parseoutcomes(), result.stdout.str()
    verdict = bench.verdicts(bench.folder.name)["sum-time"]
    assert ("cpu:1", 1) == (verdict.pool, verdict.n)
    assert "median of 5 samples after 2 warm-ups" in " ".join(verdict.details)
    assert "value-stated" not in verdict.notes


def test_cores_stand_in_for_cards(bench: Bench) -> None:
    """A mark for cards, timed on cores, is rehearsed; it never passes plainly."""
    bench.write("test_sum.py", SAMPLES.replace('pool="cpu:1"', 'pool="a40:1"'))
    bench.freeze()

    assert {"rehearsed": 1} == bench.pytest("--gpus=cpu:1").parseoutcomes()


def test_samples_need_a_unit_of_time(bench: Bench) -> None:
    """Seconds are no accuracy."""
    bench.write("test_sum.py", SAMPLES.replace('unit="s"', 'unit="points"'))

    result = bench.pytest("--gpus=cpu:1")

    assert {"failed": 1} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["*UNJUDGED*sum-time*"])
