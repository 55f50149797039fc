"""`--passmark-plan`: what the marks need, printed before any run; nothing is run, leased or written."""

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench, prose
from tests.plugin.suite_texts import SAMPLES, VALUE


def test_plan_is_shown_and_nothing_is_run(e1: Bench) -> None:
    """Runs by role and pool, marks with their chances, sessions to start; torch is not even imported."""
    before = e1.registered()

    result = e1.pytest("--passmark-plan")

    text = prose(result)
    assert 0 == result.ret, text
    assert {} == result.parseoutcomes()
    assert before == e1.registered()
    assert "torch" not in e1.modules()
    for says in (
        "planned: 1 run of each role, seed 20261002",
        "e1-speedup: speedup >= 11.2 x (0.7 of the ideal 16)",
        "of 1 in 42 % of such experiments",
        "10 claims ask for no further run",
        "--gpus=rtx4090:3 (control-b)",
        "(rehearsal on cpu:2: answers nothing, and counts for no mark)",
    ):
        assert says in text


def test_suite_without_a_plan_has_samples_of_one_run(bench: Bench) -> None:
    """Marks that are not frozen yet are shown as they are written, and said to be."""
    bench.write("test_sum.py", SAMPLES)

    result = bench.pytest("--passmark-plan")

    text = prose(result)
    assert 0 == result.ret, text
    assert "sum-time (not frozen): duration <= 1,000 s" in text
    assert "samples of one run, however many there are: n = 1 and no interval" in text


def test_frozen_mark_counts_as_the_lock_holds_it(bench: Bench) -> None:
    """A marker that was edited since is named; what is planned for is what was frozen."""
    bench.write("test_latency.py", VALUE)
    bench.freeze()
    bench.edit("test_latency.py", "at_most=2.0", "at_most=9.0")

    text = prose(bench.pytest("--passmark-plan"))

    assert "TAMPERED: " in text
    assert "latency: latency <= 2 s" in text


@pytest.mark.parametrize("flag", ["--passmark-plan", "--passmark-freeze"])
def test_workers_are_refused(bench: Bench, flag: str) -> None:
    """Under xdist no process has both all tests and the terminal, and the workers would run them."""
    bench.write("test_latency.py", VALUE)

    result = bench.pytest(flag, "-n2")

    assert USAGE_ERROR == result.ret
    assert "need all tests in one process: leave out -n" in result.stderr.str()
    assert not (bench.folder / "passmarks.lock").exists()


@pytest.mark.parametrize(
    "others",
    [("--passmark-freeze",), ("--passmark-amend=latency", "--passmark-why=it is slow")],
    ids=["freeze", "amend"],
)
def test_looking_and_changing_are_done_one_at_a_time(bench: Bench, others: tuple[str, ...]) -> None:
    """What is shown must be what holds."""
    bench.write("test_latency.py", VALUE)

    result = bench.pytest("--passmark-plan", *others)

    assert USAGE_ERROR == result.ret
    assert "one at a time" in result.stderr.str()


def test_nothing_marked_is_an_error(bench: Bench) -> None:
    """A folder without marks has nothing to plan for."""
    bench.write("test_plain.py", "def test_plain():\n    pass\n")

    result = bench.pytest("--passmark-plan")

    assert USAGE_ERROR == result.ret
    assert "no collected test carries a passmark or claim" in result.stderr.str()
