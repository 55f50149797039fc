"""A marked test that says nothing of its mark: UNJUDGED, by name, and never green."""

from typing import NamedTuple

import pytest

from pytest_mixgpu.marks.model import Verdict
from tests.plugin.bench import Bench

MARK = '@pytest.mark.passmark("latency", metric="latency", at_most=2.0, unit="s")\n'


class Silence(NamedTuple):
    """A test that never judges, the word that pytest has for it, and what is said of its mark."""

    body: str
    status: str
    said: str


GONE = "@pytest.fixture\ndef gone(): raise ValueError('gone')\n\n\n"
CLAIM = "@pytest.mark.claim('latency', checks=['devices-named'])\n"
CASES = {
    "never_judges": Silence(MARK + "def test_it(): pass", "FAILED", "without passmark.judge"),
    "returns_early": Silence(MARK + "def test_it(passmark): return", "FAILED", "without passmark.judge"),
    "raises": Silence(MARK + "def test_it(passmark): raise ValueError('broken')", "FAILED", "failed before"),
    "skips": Silence(MARK + "def test_it(passmark): pytest.skip('no')", "SKIPPED", "skipped before"),
    "is_skipped": Silence("@pytest.mark.skip\n" + MARK + "def test_it(passmark): pass", "SKIPPED", "skipped before"),
    "xfails": Silence("@pytest.mark.xfail\n" + MARK + "def test_it(): raise ValueError('broken')", "XFAIL", "xfail"),
    "set_up_fails": Silence(GONE + MARK + "def test_it(gone, passmark): pass", "ERROR", "failed before"),
    "judges_another": Silence(
        MARK + "def test_it(passmark): passmark.judge(1.0, id='other')", "FAILED", "failed before"
    ),
    "claims_nothing": Silence(CLAIM + "def test_it(claim): pass", "FAILED", "without claim.judge"),
    "claims_a_number": Silence(CLAIM + "def test_it(passmark): passmark.judge(1.0)", "FAILED", "failed before"),
}


class Silent(NamedTuple):
    """What one session said of all these tests."""

    result: pytest.RunResult
    verdicts: dict[str, Verdict]


@pytest.fixture(scope="module")
def silent(tmp_path_factory: pytest.TempPathFactory) -> Silent:
    """One file a case, all in one session."""
    bench = Bench.new(tmp_path_factory.mktemp("silent") / "silent")
    for name, case in CASES.items():
        text = case.body.replace("latency", name, 1).replace("test_it", f"test_{name}")
        bench.write(f"test_{name}.py", f"import pytest\n\n\n{text}\n")
    result = bench.pytest("-v")
    return Silent(result, bench.verdicts("silent"))


@pytest.mark.parametrize("name", CASES)
def test_mark_is_unjudged(silent: Silent, name: str) -> None:
    """Whatever the test's own outcome is, its mark is listed as unjudged, with the reason."""
    verdict = silent.verdicts[name]

    assert "UNJUDGED" == verdict.word
    assert CASES[name].said in verdict.reason
    silent.result.stdout.fnmatch_lines([f"test_{name}.py::test_{name} {CASES[name].status}*"])
    silent.result.stdout.fnmatch_lines([f"UNJUDGED* {name}*"])


def test_silence_is_never_green(silent: Silent) -> None:
    """None of these tests passes."""
    assert not {"passed", "rehearsed", "exploratory", "xpassed"} & set(silent.result.parseoutcomes())


def test_judge_without_a_mark(bench: Bench) -> None:
    """A test that judges without a mark fails with the marker's name."""
    bench.write("test_it.py", "def test_it(passmark): passmark.judge(1.0)\n")

    result = bench.pytest()

    assert {"failed": 1} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["*needs exactly one @pytest.mark.passmark of this test, found none*"])


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
    bench.write("test_it.py", f"import pytest\n\n\n{CASES['set_up_fails'].body}\n")

    result = bench.pytest(*workers)

    assert {"errors": 1} == result.parseoutcomes()
    assert 1 == len([line for line in result.outlines if line.startswith("UNJUDGED") and "latency" in line])
