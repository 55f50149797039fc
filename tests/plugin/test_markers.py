"""The markers: one that cannot be judged as it is written stops the session and names its test."""

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench
from tests.plugin.suite_texts import VALUE

MARK = 'passmark("latency", metric="latency", at_most=2.0, unit="s")'
BAD = [
    pytest.param('passmark("latency", metric="latency", at_moost=2.0, unit="s")', "at_moost", id="unknown keyword"),
    pytest.param('passmark("latency", metric="latency", at_most=2.0)', "unit is missing", id="no unit"),
    pytest.param('passmark("latency", metric="latency", unit="s")', "found 0 comparators", id="no bound"),
    pytest.param('passmark("x", metric="speedup", at_least=1.5, of="ideal", unit="x")', "nothing", id="impossible"),
    pytest.param('passmark(metric="latency", at_most=2.0, unit="s")', "the id", id="no id"),
    pytest.param(
        'passmark("latency", metric="latency", at_most=2.0, unit="s", pool="a40:all")', "pool", id="vague pool"
    ),
    pytest.param('claim("named", checks=["no-such-check"])', "no-such-check", id="unknown check"),
    pytest.param('claim("named")', "checks", id="claim of nothing"),
]


def with_mark(bench: Bench, marker: str) -> None:
    """Write a test that carries it."""
    bench.write("test_latency.py", VALUE.replace(MARK, marker))


@pytest.mark.parametrize(("marker", "said"), BAD)
def test_marker_stops_the_session(bench: Bench, marker: str, said: str) -> None:
    """It is a usage error at collection, also of `--collect-only`."""
    with_mark(bench, marker)
    bench.write("test_other.py", "def test_other(): pass\n")

    result = bench.pytest("--collect-only")

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines([f"*test_latency.py::test_latency: *{said}*"])


def test_marker_fails_its_test_under_xdist(bench: Bench) -> None:
    """A worker cannot end the session with a message, so the test says it, and the others run."""
    with_mark(bench, 'passmark("latency", metric="latency", at_most=2.0)')
    bench.write("test_other.py", "def test_other(): pass\n")

    result = bench.pytest("-n", "2")

    assert 1 == result.ret, f"{result.stdout}\n{result.stderr}"
    result.assert_outcomes(passed=1, failed=1)
    result.stdout.fnmatch_lines(["*test_latency.py::test_latency: *unit is missing*"])
    result.stdout.no_fnmatch_line("*INTERNALERROR*")


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["plain", "xdist"])
def test_twin_ids(bench: Bench, workers: tuple[str, ...]) -> None:
    """Two tests of one suite cannot share an id; both are named, and neither passes for the other."""
    bench.write("test_latency.py", VALUE)
    bench.write("test_twin.py", VALUE.replace("test_latency", "test_twin"))

    result = bench.pytest(*workers)

    assert result.ret in {1, USAGE_ERROR}
    said = f"{result.stdout}\n{result.stderr}"
    assert "test_twin.py::test_twin: the id 'latency' is already that of test_latency.py::test_latency" in said


def test_suites_of_their_own_may_share_ids(bench: Bench) -> None:
    """Ids belong to a suite: two folders with locks of their own do not meet."""
    for name in ("one", "two"):
        (bench.folder / name).mkdir()
        bench.write(f"{name}/test_{name}.py", VALUE)
    bench.freeze()

    result = bench.pytest()

    result.assert_outcomes(passed=2)
    assert {"one", "two"} <= {path.name for path in (bench.folder / "reports").iterdir()}


def test_markers_are_registered(bench: Bench) -> None:
    """`--strict-markers` knows both, and `--markers` explains them."""
    bench.write("test_latency.py", VALUE)

    assert "exploratory" in bench.pytest("--strict-markers").parseoutcomes()
    bench.pytest("--markers").stdout.fnmatch_lines(["@pytest.mark.passmark(id*", "@pytest.mark.claim(id*"])


def test_parametrised_test_shares_a_mark(bench: Bench) -> None:
    """Two cases of one test would judge one mark twice: they are twins."""
    bench.write(
        "test_latency.py",
        VALUE.replace(
            "@pytest.mark.passmark", '@pytest.mark.parametrize("case", [1, 2])\n@pytest.mark.passmark'
        ).replace("(passmark)", "(passmark, case)"),
    )

    result = bench.pytest()

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the id 'latency' is already that of*"])
