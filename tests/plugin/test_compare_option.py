"""`--mixgpu-compare=A,B`: two report folders side by side, or the field that forbids it; no test is run."""

import json
import re
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest

from tests.plugin.bench import USAGE_ERROR, Bench, bench_of_e1, prose
from tests.sample_doctors import Doctor, only, tamper, with_digests, with_header, with_settings, with_speed
from tests.samples import FIRST_MOMENT, MadeRun, make_experiment

SIDES = ("reports", "reports-b")
OF_ANY = ("ledger_head", "run_ids", "lock_digest")
"""What claims have, too."""
COMPARE = "--mixgpu-compare=reports,reports-b"


def with_sides(folder: Path, doctor: Doctor | None = None) -> Bench:
    """Lay out E1 with the made-up rehearsals of two sessions, each in a folder of its own, judged."""
    bench = bench_of_e1(folder)
    digests = bench.store().records("e1")[0].header.digests
    later = FIRST_MOMENT + timedelta(hours=2)
    make_experiment(bench.folder / "reports-b", digests=digests, session="session-2", at=later, doctor=doctor)
    for side in SIDES:
        result = bench.pytest(f"--mixgpu-records={side}", f"--mixgpu-report={side}")
        assert result.ret in {0, 1}, f"{result.stdout}\n{result.stderr}"
    return bench


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """Two sessions, the second on devices that are half as fast again; not to be changed."""
    return with_sides(tmp_path_factory.mktemp("two"), lambda run: with_speed(run, 1.5))


def refused(bench: Bench, *words: str) -> str:
    """Return why a comparison was refused, as a usage error that runs no test."""
    result = bench.pytest(*words)
    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    assert not (bench.folder / "reports/e1/compare.html").exists()
    assert "test session starts" not in result.stdout.str()
    return " ".join(f"{prose(result)} {result.stderr}".split())


def test_two_sessions_stand_side_by_side(two: Bench) -> None:
    """Value beside value, on the terminal and on a page; nothing is collected, run or registered for it."""
    before = [two.store(side).ledger.head for side in SIDES]
    result = two.pytest(COMPARE, "--mixgpu-report=out")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    text = prose(result)
    for part in ("A: reports/e1/verdicts.json: 8 passed, 2 rehearsed", "e1-speedup A PASS (rehearsal)", "cpu:2"):
        assert part in text
    assert "one run on either side: no difference can be shown" in text
    assert "10 claims are PASS on both sides" in text
    assert text.endswith("page: out/e1/compare.html")
    assert "e1-parity" in (two.folder / "out/e1/compare.html").read_text("utf-8")
    assert "test session starts" not in text
    assert before == [two.store(side).ledger.head for side in SIDES]


@pytest.mark.parametrize("word", ["reports/e1,reports-b/e1", "reports/e1/verdicts.json,reports-b", "reports,reports"])
def test_a_side_is_a_folder_a_suite_or_a_file(two: Bench, word: str) -> None:
    """However it is named, it is the same side."""
    result = two.pytest(f"--mixgpu-compare={word}", "--mixgpu-report=out")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert ("A and B share 8 of their runs" in prose(result)) == (word == "reports,reports")


@pytest.mark.parametrize("words", [("-n", "2"), ("-p", "no:terminal"), ("-qq",)], ids=" ".join)
def test_flags_of_pytest_change_nothing(two: Bench, words: tuple[str, ...]) -> None:
    """It is an answer, not a session of tests."""
    result = two.pytest(COMPARE, "--mixgpu-report=out", *words)

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert prose(result).endswith("page: out/e1/compare.html")


def test_two_sessions_that_really_ran(small: Bench) -> None:
    """The runs of real devices, where nothing but time lies between the sides."""
    for side in SIDES:
        result = small.pytest(f"--mixgpu-report={side}", "-k", "fleet")
        assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"

    said = prose(small.pytest(COMPARE))

    assert re.search(r"small-rate A PASS \(rehearsal\) [\d,.]+ samples/s, at least 1 samples/s was asked n=1", said)
    assert "small-parity A UNJUDGED" in said
    assert "not compared: A is UNJUDGED and B is UNJUDGED" in said
    assert said.endswith("page: reports/small/compare.html")


@pytest.mark.parametrize(
    ("field", "doctor"),
    [
        ("code", lambda run: with_digests(run, code="0" * 64)),
        ("evaluator", lambda run: with_digests(run, evaluator="0" * 64)),
        ("settings.batch_size", only(lambda run: with_settings(run, batch_size=7), name="fleet")),
        ("seed", lambda run: with_header(run, seed=run.header.seed + 7)),
    ],
)
def test_another_experiment_is_refused(tmp_path: Path, field: str, doctor: Callable[[MadeRun], MadeRun]) -> None:
    """The field that forbids it is named, with both values."""
    text = refused(with_sides(tmp_path / "e1", doctor), COMPARE)

    assert "not the same experiment" in text
    assert f"{field}: A has " in text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("--mixgpu-compare=reports", "found 1, expected two"),
        ("--mixgpu-compare=a,b,c", "found 3, expected two"),
        ("--mixgpu-compare=reports,nowhere", "B is missing: there is no verdicts.json in"),
    ],
)
def test_a_side_that_is_not_there_is_named(two: Bench, words: str, expected: str) -> None:
    """A slip is a usage error that says what was found and what was expected."""
    assert expected in refused(two, words)


def test_a_side_that_was_changed_is_named(two: Bench, tmp_path: Path) -> None:
    """A record that does not match its seal is compared with nothing."""
    bench = two.copied(tmp_path / "two")
    tamper(bench.store("reports-b"), bench.registered("reports-b")[1].run_id, b'"num_correct":', b'"num_correct": ')

    assert "B" in refused(bench, COMPARE)
    assert "is tampered with: run " in refused(bench, COMPARE)


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("ledger_head", "0" * 64, "which this ledger never had"),
        ("run_ids", ["nothing"], "its verdicts name run nothing"),
        ("unit", "parsecs", "e1-recorded-first.unit"),
        ("lock_digest", "0" * 64, "lock: A has "),
        ("run_values", [99.0], "of a run, its runs give"),
        ("qualifiers", [], "is not said to be a rehearsal, its runs are"),
    ],
)
def test_verdicts_that_do_not_fit_are_named(
    two: Bench, tmp_path: Path, field: str, value: object, expected: str
) -> None:
    """A file of verdicts is no seal: what it says is held against the ledger and the other side."""
    bench = two.copied(tmp_path / "two")
    path = bench.folder / "reports-b/e1/verdicts.json"
    content = json.loads(path.read_text("utf-8"))
    mark = next(one for one in content["verdicts"] if field in OF_ANY or not one["is_claim"])
    mark[field] = value
    path.write_text(json.dumps(content), "utf-8")

    assert expected.replace("e1-recorded-first", mark["id"]) in refused(bench, COMPARE)


def test_a_headline_that_hides_a_failure_is_named(two: Bench, tmp_path: Path) -> None:
    """It is what is read first."""
    bench = two.copied(tmp_path / "two")
    path = bench.folder / "reports-b/e1/verdicts.json"
    content = json.loads(path.read_text("utf-8"))
    next(one for one in content["verdicts"] if one["is_claim"])["word"] = "VOID"
    path.write_text(json.dumps(content), "utf-8")

    assert "has no VOID" in refused(bench, COMPARE)


def test_folders_without_a_ledger_are_refused(two: Bench, tmp_path: Path) -> None:
    """Without its records nobody can say whether it is the same experiment."""
    bench = two.copied(tmp_path / "two")
    (bench.folder / "reports-b/ledger.jsonl").unlink()

    assert "B is not whole" in refused(bench, COMPARE)
