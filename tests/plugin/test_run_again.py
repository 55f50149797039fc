"""Tests that are run again until they are green: plugins, flags and bodies that ask twice. The first word stands."""

import json
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench, prose

BETTER_THE_SECOND_TIME = '''
import pathlib

import pytest

COUNT = pathlib.Path(__file__).parent / "count.txt"


def value():
    """Misses the bound once, and meets it ever after."""
    before = len(COUNT.read_text()) if COUNT.exists() else 0
    COUNT.write_text("x" * (before + 1))
    return 3.0 if before == 0 else 1.0


{decorator}
@pytest.mark.passmark("latency", metric="latency", at_most=2.0, unit="s")
def test_latency(passmark):
    """It answers within two seconds."""
    {body}
'''
JUDGE = "passmark.judge(value())"
PLUGINS = {"rerunfailures": "pytest_rerunfailures", "flaky": "flaky", "repeat": "pytest_repeat"}


class Again(NamedTuple):
    """A way to have a test judged again, and what a session makes of it."""

    plugin: str = ""
    words: tuple[str, ...] = ()
    decorator: str = ""
    body: str = JUDGE
    says: str = "FAIL at 3 s, PASS at 1 s"
    """Among the sentences beside the verdict, or in the closing lines."""


CASES = {
    "reruns": Again("rerunfailures", ("--reruns=2",)),
    "reruns-xdist": Again("rerunfailures", ("--reruns=2", "-n", "1")),
    "flaky": Again("flaky", (), "@pytest.mark.flaky(max_runs=3)", says="was not reported as it was judged"),
    "flaky-xdist": Again("flaky", ("--force-flaky", "-n", "1")),
    "expects-the-failure": Again(body=f"with pytest.raises(pytest.fail.Exception): {JUDGE}\n    {JUDGE}"),
    "ends-pytest-as-a-success": Again(
        body=f"try: {JUDGE}\n    except BaseException: pytest.exit('enough', 0)",
        says="was not reported as it was judged",
    ),
}


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """The mark, frozen with a test that judges once; not to be changed."""
    bench = Bench.new(tmp_path_factory.mktemp("again") / "again")
    bench.write("test_it.py", BETTER_THE_SECOND_TIME.format(decorator="", body=JUDGE))
    bench.freeze()
    return bench


@pytest.fixture
def bench(honest: Bench, tmp_path: Path) -> Bench:
    """The same, to do with as one likes."""
    return honest.copied(tmp_path / "again")


def bench_with(bench: Bench, case: Again) -> Bench:
    """Lay out the test that is judged again."""
    for plugin, module in PLUGINS.items():
        if plugin == case.plugin and find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    bench.write("test_it.py", BETTER_THE_SECOND_TIME.format(decorator=case.decorator, body=case.body))
    return bench


def others_off(plugin: str) -> list[str]:
    """Two plugins that run tests again do not bear each other."""
    return [word for name in PLUGINS if name != plugin for word in ("-p", f"no:{name}")]


@pytest.mark.parametrize("name", CASES)
def test_a_second_attempt_does_not_undo_the_first(bench: Bench, name: str) -> None:
    """However a test comes to be judged again, the mark has failed, in the status and in the file."""
    case = CASES[name]

    result = bench_with(bench, case).pytest(*others_off(case.plugin), *case.words)

    assert 1 == result.ret, f"{result.stdout}\n{result.stderr}"
    (verdict,) = bench.verdicts(bench.folder.name).values()
    assert ("FAIL", 3.0) == (verdict.word, verdict.value)
    assert case.says in " ".join([*verdict.details, prose(result)])
    result.stdout.fnmatch_lines(["FAIL*latency*3.00 s <= 2 s*"])


def test_what_fell_is_in_the_file_once(bench: Bench) -> None:
    """A mark that was judged twice is one row: nobody finds the better word beside the worse."""
    bench_with(bench, CASES["expects-the-failure"]).pytest()

    written = json.loads((bench.folder / "reports" / bench.folder.name / "verdicts.json").read_text())
    assert [("latency", "FAIL")] == [(one["id"], one["word"]) for one in written["verdicts"]]


@pytest.mark.parametrize(
    "case",
    [
        pytest.param(Again("repeat", ("--count=3",)), id="count"),
        pytest.param(Again(decorator="@pytest.mark.parametrize('k', [0, 1])"), id="parameters"),
    ],
)
def test_one_mark_is_no_lottery(bench: Bench, case: Again) -> None:
    """A test that is multiplied would have several verdicts on one mark: it is refused before anything is measured."""
    bench_with(bench, case)
    if case.decorator:
        bench.edit("test_it.py", "test_latency(passmark)", "test_latency(k, passmark)")

    result = bench.pytest(*others_off(case.plugin), *case.words)

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the id 'latency' is already that of*one test is judged once*--mixgpu-runs*"])
    assert not (bench.folder / "count.txt").exists()


@pytest.mark.parametrize("decorator", ["@pytest.mark.xfail", "@pytest.mark.xfail(strict=True)"])
def test_expected_failure_is_a_failure_to_an_official_session(bench: Bench, decorator: str) -> None:
    """Xfail makes pytest content; the verdict stays, and an official session fails on it."""
    bench_with(bench, Again("", (), decorator))

    result = bench.pytest()
    word = bench.verdicts(bench.folder.name)["latency"].word
    (bench.folder / "count.txt").unlink()
    official = bench.pytest("--mixgpu-official")

    assert (0, "FAIL", 1) == (result.ret, word, official.ret)


HOOK = """

import pytest


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(item, call):
    report = yield
    report.outcome = "passed"
    return report
"""


def test_a_report_that_was_changed_afterwards_changes_no_verdict(bench: Bench) -> None:
    """A hook of the suite's own that calls every test passed leaves the verdict, and the status of the session."""
    bench_with(bench, Again())
    bench.write("conftest.py", (bench.folder / "conftest.py").read_text() + HOOK)

    result = bench.pytest()

    assert (1, {"passed": 1}) == (result.ret, result.parseoutcomes())
    assert "FAIL" == bench.verdicts(bench.folder.name)["latency"].word
    assert "was not reported as it was judged" in prose(result)


def test_reporting_is_not_left_out(bench: Bench) -> None:
    """Without it a verdict would leave no trace: the session is refused."""
    result = bench.pytest("-p", "no:mixgpu-reporting")

    assert USAGE_ERROR == result.ret
    assert not (bench.folder / "count.txt").exists()
