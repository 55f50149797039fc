"""What tests are made of, changed after the freeze: noted by name, at the marks that it concerns."""

from pathlib import Path

import pytest

from pytest_mixgpu.marks.lock import Lock, broken_seals, read_lock
from pytest_mixgpu.plugin.bound import judge_paths
from pytest_mixgpu.plugin.measure import package_root
from pytest_mixgpu.records.sources import sources_of
from tests.plugin.bench import Bench, prose

SUITE = '''
import pytest

from taking import take


@pytest.mark.passmark("first", metric="latency", at_most=2.0, unit="s")
def test_first(passmark):
    """It answers within two seconds."""
    passmark.judge(take())


@pytest.mark.passmark("second", metric="latency", at_most=3.0, unit="s")
def test_second(passmark):
    """It answers within three seconds."""
    passmark.judge(1.5)
'''


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A suite of two marks and a helper, frozen and committed; not to be changed."""
    bench = Bench.new(tmp_path_factory.mktemp("sources"))
    bench.write("taking.py", "from units import SECOND\n\n\ndef take():\n    return 1.5 * SECOND\n")
    bench.write("units.py", "SECOND = 1.0\n")
    bench.write("test_latency.py", SUITE)
    bench.freeze()
    return bench


@pytest.fixture
def suite(template: Bench, tmp_path: Path) -> Bench:
    """A copy of it."""
    return template.copied(tmp_path / "suite")


def lock_of(bench: Bench) -> Lock:
    lock = read_lock(bench.folder / "passmarks.lock")
    assert lock is not None
    return lock


def test_a_freeze_binds_code_judge_and_tests(suite: Bench) -> None:
    """With every file that they stand on, by name."""
    lock = lock_of(suite)

    assert {"first", "second"} == set(lock.bindings.tests)
    assert {"taking.py", "units.py", "conftest.py", "test_latency.py::test_first", "test_latency.py::test_second"} == {
        path for path in lock.contents.sources if not path.startswith("pytest_mixgpu/")
    }
    assert {
        "pytest_mixgpu/marks/stated.py",
        "pytest_mixgpu/plugin/stopwatch.py",
        "pytest_mixgpu/timing/sampling.py",
    } <= lock.contents.sources.keys()
    assert (0, "", 0) == (lock.chain[0].num_runs, lock.chain[0].ledger_head, lock.chain[0].ledger_count)


def test_a_changed_helper_is_noted_by_name_until_it_is_amended(suite: Bench) -> None:
    """At the tests that stand on it, said in the terminal though they pass; the amendment clears it and stays."""
    suite.edit("units.py", "1.0", "0.5")
    suite.edit("test_latency.py", "passmark.judge(1.5)", "passmark.judge(1.6)")
    changed = suite.pytest()
    details = {id_: " ".join(verdict.details) for id_, verdict in suite.verdicts(suite.folder.name).items()}
    amended = suite.pytest("--passmark-amend=tests", "--passmark-why=half seconds")
    later = suite.pytest()

    changed.assert_outcomes(passed=2)
    assert "code-changed: the test of first is not as it was frozen (units.py)" in prose(changed)
    assert "as it was frozen (test_latency.py::test_second, units.py)" in details["second"]
    assert 0 == amended.ret
    later.assert_outcomes(passed=2)
    assert "the test of" not in prose(later)
    assert "amended" in prose(later)
    assert () == broken_seals(lock_of(suite))


def test_a_marker_that_is_amended_is_no_changed_test(suite: Bench) -> None:
    """Nor is a comment, a blank line, or a test that is added to the file and frozen. What is said fits 80 columns."""
    suite.edit("test_latency.py", "at_most=2.0", "at_most=1.8")
    suite.edit("test_latency.py", "passmark.judge(take())", "passmark.judge(take())  # seconds\n")
    third = SUITE[SUITE.index('@pytest.mark.passmark("second"') :].replace("second", "third")
    suite.write("test_latency.py", (suite.folder / "test_latency.py").read_text("utf-8") + "\n\n" + third)

    amended = suite.pytest("--passmark-amend=first", f"--passmark-why={'the network was replaced by another ' * 5}")
    frozen = suite.pytest("--passmark-freeze")
    result = suite.pytest()

    assert (0, 0) == (amended.ret, frozen.ret), f"{amended.stderr} {frozen.stderr}"
    result.assert_outcomes(passed=3)
    assert "the test of" not in prose(result)
    start = next(at for at, line in enumerate(amended.stdout.lines) if "passmarks.lock:" in line)
    assert all(len(line) <= 80 for line in amended.stdout.lines[start + 1 :] if not line.startswith("="))


def test_whatever_the_judge_imports_is_bound_with_it() -> None:
    """A module that is added to what judges cannot be left out by oversight."""
    package = package_root() / "pytest_mixgpu"
    bound = {path.relative_to(package).as_posix() for path in judge_paths()}
    judging = ("judge.py", "claims.py", "stated.py", "official.py")
    found = {
        name.partition("::")[0]
        for file in judging
        for name in sources_of(package / "marks" / file, "", folder=package, root=package, search=(package.parent,))
    }

    assert {"marks/metrics.py", "records/bits.py"} <= found
    assert set() == found - bound
