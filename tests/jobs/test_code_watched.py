"""Code is watched from a session's first look to the end of each run: an edit that was taken back is seen too."""

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

import pytest_mixgpu
from pytest_mixgpu.jobs.code import CodeSeen, code_paths, code_seen, own_modules
from pytest_mixgpu.launch.filemarks import look
from pytest_mixgpu.records.model import Outcome, RunRecord
from pytest_mixgpu.records.store import RunStore

REPOSITORY = Path(__file__).parents[2]
STAR = "pytest_mixgpu/jobs/star.py"
TIMEOUT_S = 240
"""Only so that a process that hangs ends."""


def _run_beside_edits(folder: Path, moment: str, left: str = "as-it-was") -> RunRecord:
    """Make a run in a process of its own, with a copy of the package into which somebody writes."""
    shutil.copytree(
        Path(pytest_mixgpu.__file__).parent,
        folder / "copy" / "pytest_mixgpu",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    done = subprocess.run(
        [sys.executable, "-m", "tests.jobs.code_edits", str(folder / "reports"), moment, left],
        cwd=folder,
        env=os.environ | {"PYTHONPATH": os.pathsep.join([str(folder / "copy"), str(REPOSITORY)])},
        capture_output=True,
        text=True,
        timeout=TIMEOUT_S,
        check=False,
    )
    assert 0 == done.returncode, done.stderr
    (record,) = RunStore(folder / "reports").records()
    return record


def _outcome(record: RunRecord) -> Outcome:
    assert record.outcome is not None
    return record.outcome


def test_code_that_nobody_wrote_into_is_the_same_at_the_end(tmp_path: Path) -> None:
    """What the edits below change is what makes the difference."""
    record = _run_beside_edits(tmp_path, "never")

    assert (record.header.digests.code, ()) == (_outcome(record).code_digest, _outcome(record).code_touched)


@pytest.mark.parametrize(
    ("moment", "left", "is_same"),
    [
        pytest.param("during", "as-it-was", True, id="taken-back-during-the-run"),
        pytest.param("before", "as-it-was", True, id="taken-back-before-the-run"),
        pytest.param("during", "a-comment", True, id="a-comment-is-left"),
        pytest.param("during", "other-code", False, id="other-code-is-left"),
        pytest.param("before", "other-code", False, id="other-code-before-the-run"),
    ],
)
def test_every_write_is_seen_whatever_the_file_holds_in_the_end(
    tmp_path: Path,
    moment: str,
    left: str,
    is_same: bool,  # noqa: FBT001
) -> None:
    """The file is named; the digest says whether what is left is other code than the run was registered with."""
    record = _run_beside_edits(tmp_path, moment, left)

    assert (STAR,) == _outcome(record).code_touched
    assert is_same == (record.header.digests.code == _outcome(record).code_digest)


def test_workers_see_what_was_written_since_their_parent_started(tmp_path: Path) -> None:
    """A parent process that is kept holds modules of before; its workers compare the files with its first look."""
    record = _run_beside_edits(tmp_path, "beside-a-parent")

    assert record.start is not None
    assert {(record.header.digests.code, (STAR,))} == {
        (worker.code_digest, worker.code_touched) for worker in record.start.workers
    }


def test_a_digest_is_taken_over_where_the_files_are_the_same() -> None:
    """Equal marks mean the same files, so a worker on the same host reads none of them again."""
    here = code_seen()

    assert "known" == code_seen(CodeSeen(digest="known", marks=here.marks)).digest
    assert here.digest == code_seen(CodeSeen(digest="known", marks="of another host")).digest


@pytest.mark.parametrize("change", ["write", "rewrite", "replace", "set back"])
def test_a_mark_changes_with_every_write(tmp_path: Path, change: str) -> None:
    """Also where content, size and time of modification are as before."""
    path = tmp_path / "a.py"
    path.write_text("a = 1\n")
    before, times = look([path]), path.stat()
    # The kernel stamps files at its ticks, every few milliseconds.
    time.sleep(0.02)

    if change == "write":
        path.write_text("a = 22\n")
    elif change == "replace":
        path.rename(tmp_path / "b.py")
        shutil.copy2(tmp_path / "b.py", path)
    else:
        path.write_text("a = 1\n")
    if change == "set back":
        os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    assert before != look([path])


def test_a_file_that_is_gone_has_no_mark(tmp_path: Path) -> None:
    """To look never fails: the run must be closed whatever became of its code."""
    assert {} == look([tmp_path / "gone.py"])


def test_modules_that_nobody_installed_are_digested_by_name() -> None:
    """This test's own module is one; the library, what is installed and the package itself are not."""
    found = own_modules()

    assert __name__ in found
    assert not {"os", "pytest", "msgspec", "pytest_mixgpu.jobs.code"} & set(found)


def test_the_code_is_watched_where_it_was_loaded() -> None:
    """Every module of the rooms that produce a number is among the files."""
    assert set(look(code_paths())) == set(code_paths())
