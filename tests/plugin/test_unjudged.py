"""A marked test that says nothing of its mark: UNJUDGED, by name, and never green."""

from typing import NamedTuple

import pytest

from tests.plugin.bench import Bench

MARK = '@pytest.mark.passmark("latency", metric="latency", at_most=2.0, unit="s")\n'


class Silence(NamedTuple):
    """A test that never judges, how pytest counts it, and what is said of its mark."""

    body: str
    outcome: dict[str, int]
    said: str


CASES = {
    "never judges": Silence(MARK + "def test_it(): pass", {"failed": 1}, "without passmark.judge"),
    "returns early": Silence(MARK + "def test_it(passmark): return", {"failed": 1}, "without passmark.judge"),
    "raises": Silence(MARK + "def test_it(passmark): raise ValueError('broken')", {"failed": 1}, "failed before"),
    "skips": Silence(MARK + "def test_it(passmark): pytest.skip('no')", {"skipped": 1}, "skipped before"),
    "is skipped": Silence(
        "@pytest.mark.skip\n" + MARK + "def test_it(passmark): pass", {"skipped": 1}, "skipped before"
    ),
    "xfails": Silence(
        "@pytest.mark.xfail\n" + MARK + "def test_it(passmark): raise ValueError('broken')", {"xfailed": 1}, "xfail"
    ),
    "set-up fails": Silence(
        "@pytest.fixture\ndef gone(): raise ValueError('gone')\n" + MARK + "def test_it(gone, passmark): pass",
        {"errors": 1},
        "failed before",
    ),
    "judges another": Silence(
        MARK + "def test_it(passmark): passmark.judge(1.0, id='throughput')", {"failed": 1}, "throughput"
    ),
    "has no mark": Silence("def test_it(passmark): passmark.judge(1.0)", {"failed": 1}, "found none"),
    "claims what has no runs": Silence(
        "@pytest.mark.claim('named', checks=['devices-named'])\ndef test_it(): pass",
        {"failed": 1},
        "without claim.judge",
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_mark_is_unjudged(bench: Bench, case: Silence) -> None:
    """Whatever the test's own outcome is, the closing lines say that nothing was judged."""
    bench.write("test_it.py", f"import pytest\n\n\n{case.body}\n")

    result = bench.pytest()

    said = result.stdout.str()
    assert case.outcome == result.parseoutcomes(), said
    assert case.said in said
    assert "passed" not in said
    if "no mark" not in case.said and "found none" not in case.said:
        assert "UNJUDGED" in said


def test_xfail_of_a_mark_that_is_missed(bench: Bench) -> None:
    """An expected failure keeps its verdict: the bound was missed, and it is said."""
    bench.write(
        "test_it.py", f"import pytest\n\n\n@pytest.mark.xfail\n{MARK}def test_it(passmark): passmark.judge(3.0)\n"
    )

    result = bench.pytest()

    assert {"xfailed": 1} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["FAIL*latency*3.00 s <= 2 s*"])


def test_one_of_two_marks(bench: Bench) -> None:
    """A test that judges one of its marks and forgets the other fails for the other."""
    second = MARK.replace('"latency", metric', '"second", metric')
    bench.write(
        "test_it.py", f"import pytest\n\n\n{second}{MARK}def test_it(passmark): passmark.judge(1.0, id='latency')\n"
    )

    result = bench.pytest()

    assert {"failed": 1} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["*UNJUDGED*second*"])
    assert "PASS" == bench.verdicts(bench.folder.name)["latency"].word


@pytest.mark.parametrize("workers", [("-n", "2"), ("-p", "no:xdist")], ids=" ".join)
def test_failing_set_up_is_reported_once(bench: Bench, workers: tuple[str, ...]) -> None:
    """Under xdist as without it, the mark of a test that never began is listed once."""
    bench.write("test_it.py", f"import pytest\n\n\n{CASES['set-up fails'].body}\n")

    result = bench.pytest(*workers)

    assert {"errors": 1} == result.parseoutcomes()
    assert 1 == len([line for line in result.outlines if line.startswith("UNJUDGED") and "latency" in line])
