"""`--passmark-freeze`, `--passmark-amend` and `--passmark-why`: the lock, its refusals and its chain."""

from pathlib import Path

import pytest

from pytest_mixgpu.marks.lock import broken_seals, read_lock
from tests.plugin.bench import USAGE_ERROR, Bench, prose
from tests.plugin.suite_texts import VALUE

MOVED = ("at_most=2.0", "at_most=1.8")
AMEND = ("--passmark-amend=latency", "--passmark-why=the network changed")


@pytest.fixture(scope="module")
def frozen_template(tmp_path_factory: pytest.TempPathFactory) -> Bench:
    """A suite of one mark, frozen and committed; not to be changed."""
    bench = Bench.new(tmp_path_factory.mktemp("frozen"))
    bench.write("test_latency.py", VALUE)
    bench.freeze()
    return bench


@pytest.fixture
def frozen(frozen_template: Bench, tmp_path: Path) -> Bench:
    """A suite of one mark, frozen and committed."""
    return frozen_template.copied(tmp_path / "frozen")


def refused(bench: Bench, *words: str) -> str:
    """Run a session that must not change the lock, and return why it did not."""
    lock = bench.folder / "passmarks.lock"
    before = lock.read_bytes() if lock.exists() else b""
    result = bench.pytest(*words)
    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    assert before == (lock.read_bytes() if lock.exists() else b"")
    return result.stderr.str()


def test_freezing_writes_and_runs_nothing(bench: Bench) -> None:
    """The lock holds the mark, the terminal says what to do next, and no test has run."""
    bench.write("test_latency.py", VALUE.replace("passmark.judge(1.5)", "raise RuntimeError('it ran')"))

    result = bench.pytest("--passmark-freeze")

    assert 0 == result.ret
    assert {} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["*passmarks.lock:", "*freeze latency at *", "Commit it before the first run*"])
    lock = read_lock(bench.folder / "passmarks.lock")
    assert lock is not None
    assert [("latency", 2.0, "s")] == [(mark.id, mark.bound, mark.unit) for mark in lock.marks]
    assert "torch" not in bench.modules()


@pytest.mark.parametrize(("metric", "times"), [("round-s", 1), ("round_s", 0), ("latency", 0)])
def test_metric_that_looks_misspelt_is_named(bench: Bench, metric: str, times: int) -> None:
    """Any name is allowed for a number of one's own, so that a typo would first be seen after the runs."""
    bench.write("test_latency.py", VALUE.replace('metric="latency"', f'metric="{metric}"'))

    said = prose(bench.pytest("--passmark-freeze"))

    assert times == said.count(f"no metric of runs is called '{metric}'; if 'round_s' is meant, correct the marker")
    assert times == said.count("no metric of runs is called")


def test_sources_are_listed_in_one_order(frozen: Bench) -> None:
    """A freeze and an amendment list the same files in the same order: git shows what changed and nothing else."""
    lock = frozen.folder / "passmarks.lock"
    before = _source_lines(lock)
    frozen.edit("test_latency.py", *MOVED)
    frozen.pytest(*AMEND)

    assert before == _source_lines(lock)
    assert before == sorted(before)


def _source_lines(lock: Path) -> list[str]:
    listed = lock.read_text("utf-8").partition("[contents.sources]\n")[2].partition("\n[[")[0]
    return [line.partition(" = ")[0] for line in listed.splitlines() if line]


def test_freezing_again_changes_nothing(frozen: Bench) -> None:
    """What is frozen already is left alone, byte by byte."""
    before = (frozen.folder / "passmarks.lock").read_bytes()

    frozen.pytest("--passmark-freeze").stdout.fnmatch_lines(["*nothing to freeze*"])

    assert before == (frozen.folder / "passmarks.lock").read_bytes()


def test_freezing_is_no_amendment(frozen: Bench) -> None:
    """A frozen bound is not moved by freezing again; the refusal says how."""
    frozen.edit("test_latency.py", *MOVED)

    assert "--passmark-amend=latency" in refused(frozen, "--passmark-freeze")


def test_new_mark_is_added(frozen: Bench) -> None:
    """A second mark joins the lock, and the chain says when."""
    frozen.write("test_second.py", VALUE.replace('"latency",', '"second",').replace("test_latency", "test_second"))
    frozen.freeze()

    lock = read_lock(frozen.folder / "passmarks.lock")
    assert lock is not None
    assert ["latency", "second"] == [mark.id for mark in lock.marks]
    assert [("latency",), ("second",)] == [entry.ids for entry in lock.chain]
    frozen.pytest().assert_outcomes(passed=2)


def test_moved_bound_is_tampered_until_amended(frozen: Bench) -> None:
    """A bound that was moved fails; amended with a reason it counts, and the old one stays in the chain."""
    frozen.edit("test_latency.py", *MOVED)
    tampered = frozen.pytest()
    amended = frozen.pytest(*AMEND)
    later = frozen.pytest()

    tampered.assert_outcomes(failed=1)
    tampered.stdout.fnmatch_lines(
        [
            "*TAMPERED latency*",
            "*latency.bound: the marker in test_latency.py::test_latency has 1.8, passmarks.lock has 2.0*",
        ]
    )
    assert 0 == amended.ret
    lock = read_lock(frozen.folder / "passmarks.lock")
    assert lock is not None
    assert ["freeze", "amend"] == [entry.event for entry in lock.chain]
    assert "the network changed" == lock.chain[-1].why
    assert '"bound":2.0' in lock.chain[-1].was
    assert () == broken_seals(lock)
    later.assert_outcomes(passed=1)
    later.stdout.fnmatch_lines(["*amended*"])


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param(["--passmark-amend=latency"], "--passmark-why", id="no reason"),
        pytest.param(["--passmark-amend=latency", "--passmark-why=  "], "--passmark-why", id="blank reason"),
        pytest.param(["--passmark-why=because"], "--passmark-amend", id="reason of nothing"),
        pytest.param([*AMEND, "--passmark-freeze"], "one at a time", id="both at once"),
        pytest.param(["--passmark-amend=other", "--passmark-why=because"], "latency", id="unknown id"),
        pytest.param([*AMEND], "already as the lock holds it", id="nothing to change"),
    ],
)
def test_amendment_is_refused(frozen: Bench, words: list[str], said: str) -> None:
    """Each refusal says what is missing, and leaves the lock as it was."""
    assert said in refused(frozen, *words)


def test_amending_without_a_lock(bench: Bench) -> None:
    """There is nothing to amend before the first freeze."""
    bench.write("test_latency.py", VALUE)

    assert "--passmark-freeze" in refused(bench, *AMEND)


def test_freezing_without_marks(bench: Bench) -> None:
    """A folder without marks is the wrong folder."""
    bench.write("test_other.py", "def test_other(): pass\n")

    assert "no collected test carries a passmark or claim" in refused(bench, "--passmark-freeze")


def test_broken_collection_freezes_nothing(frozen: Bench) -> None:
    """A test file that cannot be imported hides its marks: the lock stays as it is."""
    frozen.write("test_broken.py", "raise RuntimeError('not collected')\n")
    before = (frozen.folder / "passmarks.lock").read_bytes()

    result = frozen.pytest("--passmark-freeze")

    assert result.ret not in {0, 4}
    assert before == (frozen.folder / "passmarks.lock").read_bytes()


def test_edited_lock_is_tampered(frozen: Bench) -> None:
    """Lock and marker moved together do not fit the chain, and such a lock is not built upon."""
    frozen.edit("test_latency.py", *MOVED)
    frozen.edit("passmarks.lock", "bound = 2.0", "bound = 1.8")

    result = frozen.pytest()

    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["*TAMPERED latency*"])
    assert "Restore the lock from git" in refused(frozen, "--passmark-freeze")


def test_edited_plan_is_tampered(e1: Bench) -> None:
    """A target that was lowered after the runs shows in every mark and claim, by field, values and places."""
    e1.edit("benchmark.toml", "target = 0.95", "target = 0.94")
    e1.edit("benchmark.toml", "rounds = 6", "rounds = 7")

    result = e1.pytest("--mixgpu-records=reports")

    assert 1 == result.ret
    assert "TAMPERED" == e1.verdicts()["e1-speedup"].word
    assert "TAMPERED" == e1.verdicts()["e1-parity"].word
    verdict = e1.verdicts()["e1-speedup"]
    assert "rehearsal.settings.rounds: benchmark.toml has 7, passmarks.lock has 6; restore it" in verdict.reason
    assert "rehearsal.workload.target: benchmark.toml has 0.94, passmarks.lock has 0.95" in verdict.details


def test_amended_plan_supersedes_old_runs(e1: Bench) -> None:
    """Runs under another plan are listed with the reason, and no longer judged."""
    e1.edit("benchmark.toml", "target = 0.95", "target = 0.94")
    amended = e1.pytest("--passmark-amend=plan", "--passmark-why=the target was out of reach")

    result = e1.pytest("--mixgpu-records=reports", "-k", "fast_enough")

    assert 0 == amended.ret, f"{amended.stdout}\n{amended.stderr}"
    ledger, lock = e1.store().ledger.read(), read_lock(e1.folder / "passmarks.lock")
    assert lock is not None
    assert (0, ledger.head, ledger.count) == (
        lock.chain[-1].num_runs, lock.chain[-1].ledger_head, lock.chain[-1].ledger_count,
    )  # fmt: skip
    assert f"after 0 runs, ledger head {ledger.head[:12]}… at line {ledger.count}" in prose(amended)
    assert "bound for the first time, as they are now: judge, tests" in prose(amended)
    assert '"rehearsal.workload.target":0.95' in lock.chain[-1].was
    assert 1 == result.ret
    verdict = e1.verdicts()["e1-speedup"]
    assert "UNJUDGED" == verdict.word
    assert "plan" in " ".join(verdict.details)


def test_lock_that_cannot_be_read(frozen: Bench) -> None:
    """A lock in pieces stops the session with its path, before anything is judged."""
    frozen.write("passmarks.lock", "schema = ")

    result = frozen.pytest()

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines(["*passmarks.lock*"])


def test_two_suites_are_amended_one_by_one(bench: Bench) -> None:
    """An amendment changes one lock; with two suites collected it asks for one folder."""
    for name in ("one", "two"):
        (bench.folder / name).mkdir()
        bench.write(f"{name}/test_{name}.py", VALUE)
    bench.freeze()
    bench.edit("one/test_one.py", *MOVED)

    assert "name one folder" in refused(bench, *AMEND)
    assert 0 == bench.pytest("one", *AMEND).ret
