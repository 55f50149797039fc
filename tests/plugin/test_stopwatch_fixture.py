"""The `stopwatch` fixture beside pytest-benchmark: enabled, disabled and absent."""

import json

import pytest

from tests.plugin.bench import Bench

TEST = """
import json
from pathlib import Path


def test_sum(stopwatch):
    samples = stopwatch(lambda: sum(range(100)), num_samples=5, num_warmups=2)
    got = [samples.values_s, samples.warmups_s, samples.kinds]
    Path(__file__).with_name("samples.json").write_text(json.dumps(got))
"""


@pytest.fixture
def timed(bench: Bench) -> Bench:
    """A test without a mark that times something and keeps what it got."""
    bench.write("test_sum.py", TEST)
    return bench


def samples_of(bench: Bench) -> list[list[float]]:
    """Return durations, warm-ups and kinds as the test got them."""
    found: list[list[float]] = json.loads((bench.folder / "samples.json").read_text())
    return found


def test_benchmark_holds_the_same_samples(timed: Bench) -> None:
    """With pytest-benchmark enabled, its table and its JSON hold what the test got."""
    result = timed.pytest("--gpus=cpu:1", "--benchmark-json=made.json", "-W", "error")

    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*benchmark: 1 tests*", "test_sum*"])
    written = json.loads((timed.folder / "made.json").read_text())["benchmarks"][0]["stats"]["data"]
    values, warmups, kinds = samples_of(timed)
    assert written == values
    assert [5, 2, ["cpu"]] == [len(values), len(warmups), kinds]


@pytest.mark.parametrize("words", [("--benchmark-disable",), ("-p", "no:benchmark"), ("-n", "2")], ids=" ".join)
def test_works_without_benchmark(timed: Bench, words: tuple[str, ...]) -> None:
    """Where pytest-benchmark is off or absent the samples are taken all the same."""
    result = timed.pytest("--gpus=cpu:1", *words)

    result.assert_outcomes(passed=1)
    result.stdout.no_fnmatch_line("*benchmark: 1 tests*")
    values, warmups, kinds = samples_of(timed)
    assert [5, 2, ["cpu"]] == [len(values), len(warmups), kinds]


def test_two_measurements_of_one_test(timed: Bench) -> None:
    """pytest-benchmark takes one measurement a test; the second one is taken beside it."""
    timed.edit("test_sum.py", "    samples = ", "    stopwatch(lambda: None, num_samples=3)\n    samples = ")

    timed.pytest("--gpus=cpu:1").assert_outcomes(passed=1)
    assert 5 == len(samples_of(timed)[0])


def test_torch_stays_out(timed: Bench) -> None:
    """Timing work on a core needs no torch."""
    timed.pytest("--gpus=cpu:1").assert_outcomes(passed=1)

    assert "torch" not in timed.modules()
