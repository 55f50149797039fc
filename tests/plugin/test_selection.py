"""pytest's own flags: `-k`, `-x`, `-q`, `-v`, `-s`, `-n`, `-p no:xdist` leave verdicts what they are."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mixgpu.marks.lock import read_lock
from tests.plugin.bench import Bench, bench_of_e1, prose, word_of
from tests.plugin.suite_texts import VALUE
from tests.sample_doctors import only, with_score

RECORDS = "--mixgpu-records=reports"


def judged_in(e1: Bench) -> set[str]:
    """The ids of which the last session said more than that it left them out."""
    return {id_ for id_, one in e1.verdicts().items() if "no test of this session judged it" not in one.reason}


@pytest.mark.parametrize("word", ["-q", "-s", "-rA"])
def test_output_flags_keep_the_verdicts(e1: Bench, word: str) -> None:
    """However much is printed, the closing line counts the same."""
    result = e1.pytest(RECORDS, word, "-k", "fast_enough or wait")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert {"passed": 1, "rehearsed": 1, "deselected": 8} == result.parseoutcomes()
    assert re.search(r"\bMET \(rehearsal\): 16 devices .*? x, at least 1.4 x was asked \(e1-speedup, ", prose(result))


def test_verbose_says_rehearsed(e1: Bench) -> None:
    """`-v` shows the word beside the test."""
    e1.pytest(RECORDS, "-v").stdout.fnmatch_lines(["*test_time_per_phase*REHEARSED*", "*test_wait_for_gpus*PASSED*"])


def test_one_test_by_its_name(e1: Bench) -> None:
    """A node id alone is judged as among the others."""
    e1.pytest(RECORDS)
    before = word_of(e1.verdicts())["e1-parity"]

    result = e1.pytest(RECORDS, "test_e1.py::test_mixed_pool_reaches_the_quality_of_controls_that_themselves_passed")

    assert {"rehearsed": 1} == result.parseoutcomes()
    assert {"e1-quality", "e1-parity"} == judged_in(e1)
    assert before == word_of(e1.verdicts())["e1-parity"]


def test_stops_at_the_first_failure(e1: Bench) -> None:
    """`-x` ends after a verdict that fails; marks that were not reached are listed as unjudged."""
    e1.edit("benchmark.toml", "target = 0.95", "target = 0.94")

    result = e1.pytest(RECORDS, "-x")

    assert 1 == result.ret
    assert 1 == result.parseoutcomes()["failed"]
    assert re.search(r"UNJUDGED .*\be1-wait\b.*: frozen in passmarks.lock", prose(result))


def test_failing_test_judges_its_mark_too(e1: Bench) -> None:
    """A claim that fails does not hide the verdict on the mark of the same test, nor what follows from it."""
    doctored = only(lambda run: with_score(run, 10), name="control-a")
    bad = bench_of_e1(e1.folder.parent / "bad", doctor=doctored)

    result = bad.pytest(RECORDS, "-k", "quality_of_controls")

    assert {"failed": 1, "deselected": 9} == result.parseoutcomes()
    verdicts = bad.verdicts()
    assert "VOID" == verdicts["e1-parity"].word
    assert "control-a" in verdicts["e1-parity"].reason
    assert {"e1-quality", "e1-parity"} == judged_in(bad)


@pytest.mark.parametrize("workers", [("-n", "0"), ("-n", "2")], ids=["n0", "n2"])
def test_real_runs_pass_plainly(e1: Bench, workers: tuple[str, ...]) -> None:
    """Statuses are of their own only where something stood in: runs on the plan's pools are plain passes."""
    real = bench_of_e1(e1.folder.parent / "real", rehearsal=False)

    result = real.pytest(RECORDS, *workers)

    # Prices are left open in the plan, and a cost that is not stated is not made up.
    assert {"passed": 9, "failed": 1} == result.parseoutcomes(), result.stdout.str()
    assert "PASS" == real.verdicts()["e1-speedup"].word
    assert () == real.verdicts()["e1-speedup"].qualifiers
    result.stdout.fnmatch_lines(["*11.2 x*"])


def test_what_is_left_out_is_unjudged_in_the_file_too(e1: Bench) -> None:
    """Whoever reads `verdicts.json` alone sees all frozen marks and claims, and which of them nobody judged."""
    e1.pytest(RECORDS, "-k", "fast_enough")
    verdicts = e1.verdicts()
    lock = read_lock(e1.folder / "passmarks.lock")

    assert lock is not None
    assert set(lock.ids) == set(verdicts)
    assert {"UNJUDGED"} == {one.word for id_, one in verdicts.items() if id_ not in judged_in(e1)}
    assert ("PASS", "UNJUDGED") == (verdicts["e1-speedup"].word, verdicts["e1-parity"].word)
    assert ("parity", "points") == (verdicts["e1-parity"].metric, verdicts["e1-parity"].unit)


@pytest.fixture(scope="module")
def frozen(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """One frozen mark and its test; not to be changed."""
    bench = Bench.new(tmp_path_factory.mktemp("frozen") / "suite")
    bench.write("test_it.py", VALUE)
    bench.freeze()
    return bench


def deleted(bench: Bench) -> None:
    (bench.folder / "test_it.py").unlink()


def renamed(bench: Bench) -> None:
    (bench.folder / "test_it.py").rename(bench.folder / "it.py")


def replaced(bench: Bench) -> None:
    bench.write("test_it.py", "def test_other(): pass\n")


def skipped_whole(bench: Bench) -> None:
    bench.edit("test_it.py", "import pytest", "import pytest\npytest.importorskip('no_such_module')")


def untouched(bench: Bench) -> None:
    """Leave the suite as it was frozen."""


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(deleted, (), id="deleted"),
        pytest.param(renamed, (), id="renamed"),
        pytest.param(replaced, ("-n", "1"), id="mark-removed-xdist"),
        pytest.param(replaced, ("test_it.py",), id="mark-removed-file-named"),
        pytest.param(skipped_whole, (), id="skipped-whole"),
        pytest.param(untouched, ("--ignore=test_it.py",), id="ignored"),
        pytest.param(untouched, ("-k", "nothing"), id="deselected"),
    ],
)
def test_a_frozen_mark_without_a_test_is_unjudged(
    frozen: Bench, tmp_path: Path, change: Callable[[Bench], None], words: tuple[str, ...]
) -> None:
    """Where no test is left that could carry the mark, the lock still does."""
    bench = frozen.copied(tmp_path / "suite")
    change(bench)

    result = bench.pytest(*words)

    assert re.search(r"UNJUDGED latency: frozen in passmarks.lock, and no test", prose(result)), prose(result)
    assert "UNJUDGED" == bench.verdicts(bench.folder.name)["latency"].word


def test_an_official_session_fails_on_a_mark_without_a_test(frozen: Bench, tmp_path: Path) -> None:
    """All tests that are there pass, and the session does not."""
    bench = frozen.copied(tmp_path / "suite")
    replaced(bench)

    result = bench.pytest("--mixgpu-official")

    assert (1, {"passed": 1}) == (result.ret, result.parseoutcomes())


def test_a_suite_below_that_is_ignored_is_unjudged(bench: Bench) -> None:
    """A folder with a lock is missed too: `--ignore` of the whole suite hides no frozen mark."""
    (bench.folder / "suite").mkdir()
    bench.write("suite/test_it.py", VALUE)
    bench.write("test_other.py", "def test_other(): pass\n")
    bench.freeze()

    result = bench.pytest("--ignore=suite")

    assert {"passed": 1} == result.parseoutcomes()
    assert "UNJUDGED" == bench.verdicts("suite")["latency"].word


def test_other_tests_that_are_named_do_not_speak_of_a_suite_above(frozen: Bench, tmp_path: Path) -> None:
    """Who runs one folder of unit tests is not told of the marks of the project."""
    bench = frozen.copied(tmp_path / "suite")
    (bench.folder / "unit").mkdir()
    bench.write("unit/test_other.py", "def test_other(): pass\n")

    result = bench.pytest("unit")

    assert {"passed": 1} == result.parseoutcomes()
    result.stdout.no_fnmatch_line("*UNJUDGED*")


def test_edited_lock_is_tampered_where_no_test_is_left(frozen: Bench, tmp_path: Path) -> None:
    """Taking a mark out of tests and lock alike does not end the chain that froze it."""
    bench = frozen.copied(tmp_path / "suite")
    deleted(bench)
    bench.edit("passmarks.lock", "bound = 2.0", "bound = 9.0")

    bench.pytest()

    assert "TAMPERED" == bench.verdicts(bench.folder.name)["latency"].word
