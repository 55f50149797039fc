"""`passmark.judge` of a number or of samples: what is not known of them is said."""

import pytest

from tests.plugin.bench import Bench
from tests.plugin.suite_texts import SAMPLES, VALUE


@pytest.mark.parametrize(
    ("value", "word"),
    [
        pytest.param("1.999", "PASS", id="just under"),
        pytest.param("2.0", "PASS", id="equal"),
        pytest.param("2.001", "FAIL", id="just over"),
        pytest.param("float('nan')", "UNJUDGED", id="no number"),
        pytest.param("float('inf')", "UNJUDGED", id="infinite"),
    ],
)
def test_number(bench: Bench, value: str, word: str) -> None:
    """A bare number is judged in the mark's unit and noted as stated by the test."""
    bench.write("test_latency.py", VALUE.replace("1.5", value))
    bench.freeze()

    result = bench.pytest()

    verdict = bench.verdicts(bench.folder.name)["latency"]
    assert word == verdict.word
    assert {"value-stated", "self-reported", "preliminary"} <= set(verdict.notes)
    assert {"passed" if word == "PASS" else "failed": 1} == result.parseoutcomes()


@pytest.mark.parametrize(
    ("devices", "word"), [('"a40:1"', "PASS"), ('"cpu:1"', "VOID"), ('""', "UNJUDGED")], ids=["own", "other", "unsaid"]
)
def test_number_of_a_pool(bench: Bench, devices: str, word: str) -> None:
    """A mark for a pool takes numbers of that pool, as the test states it; of another one they are void."""
    text = VALUE.replace('unit="s"', 'unit="s", pool="a40:1"').replace("1.5", f"1.5, devices={devices}")
    bench.write("test_latency.py", text)

    bench.pytest()

    verdict = bench.verdicts(bench.folder.name)["latency"]
    assert "rehearsal" in verdict.qualifiers or word == verdict.word


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
