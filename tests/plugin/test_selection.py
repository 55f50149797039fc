"""pytest's own flags: `-k`, `-x`, `-q`, `-v`, `-s`, `-n`, `-p no:xdist` leave verdicts what they are."""

import re

import pytest

from tests.plugin.bench import Bench, bench_of_e1, prose, word_of
from tests.sample_doctors import only, with_score

RECORDS = "--mixgpu-records=reports"


@pytest.mark.parametrize("word", ["-q", "-s", "-rA"])
def test_output_flags_keep_the_verdicts(e1: Bench, word: str) -> None:
    """However much is printed, the closing line counts the same."""
    result = e1.pytest(RECORDS, word, "-k", "fast_enough or wait")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert {"passed": 1, "rehearsed": 1, "deselected": 8} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["PASS (rehearsal)*e1-speedup*"])


def test_verbose_says_rehearsed(e1: Bench) -> None:
    """`-v` shows the word beside the test."""
    e1.pytest(RECORDS, "-v").stdout.fnmatch_lines(["*test_time_per_phase*REHEARSED*", "*test_wait_for_gpus*PASSED*"])


def test_one_test_by_its_name(e1: Bench) -> None:
    """A node id alone is judged as among the others."""
    e1.pytest(RECORDS)
    before = word_of(e1.verdicts())["e1-parity"]

    result = e1.pytest(RECORDS, "test_e1.py::test_mixed_pool_reaches_the_quality_of_controls_that_themselves_passed")

    assert {"rehearsed": 1} == result.parseoutcomes()
    assert {"e1-quality", "e1-parity"} == set(e1.verdicts())
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
    assert {"e1-quality", "e1-parity"} == set(verdicts)


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
