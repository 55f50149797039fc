"""Anchors in git: each a commit of its own, found in the history of HEAD whatever became of the file."""

import os
import subprocess
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.anchors.git import GitVoucher
from pytest_mixgpu.records.anchors.making import keep_outside
from pytest_mixgpu.records.anchors.reading import read_anchors
from tests.records.chains import STATEMENT

IDENTITY = ("-c", "user.name=A Reader", "-c", "user.email=reader@localhost", "-c", "commit.gpgsign=false")


def git(folder: Path, *words: str, check: bool = True) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, *words], cwd=folder, check=check, capture_output=True, text=True, env=dict(os.environ)
    )
    return done.stdout


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    """A suite in a folder of a repository in which somebody may commit."""
    folder = tmp_path / "repository" / "suite"
    folder.mkdir(parents=True)
    git(folder, "init", "--quiet", "--initial-branch=main", str(folder.parent))
    git(folder, "config", "user.name", "A Reader")
    git(folder, "config", "user.email", "reader@localhost")
    git(folder, "config", "commit.gpgsign", "false")
    (folder / "plan").write_text("a plan\n")
    git(folder, "add", ".")
    git(folder, "commit", "--quiet", "-m", "A plan")
    return folder


def test_commit_holds_the_statement_alone(suite: Path) -> None:
    """What is staged stays staged, what is changed stays changed."""
    (suite / "staged").write_text("staged\n")
    git(suite, "add", "staged")
    (suite / "plan").write_text("edited\n")

    path = keep_outside(STATEMENT, suite, [GitVoucher()])

    assert f"suite/anchors/{path.name}\n" == git(suite, "show", "--name-only", "--format=", "HEAD")
    assert ["A  staged", " M plan"] == sorted(git(suite, "status", "--short").splitlines(), reverse=True)
    assert "Anchor of e1: run run-1 registered" in git(suite, "log", "-1")


def test_commit_is_what_vouches(suite: Path) -> None:
    """With its hash and the committer's date."""
    keep_outside(STATEMENT, suite, [GitVoucher()])
    (anchor,) = read_anchors(suite).anchors

    assert STATEMENT == anchor.statement
    assert [git(suite, "rev-parse", "HEAD").strip()] == [proof.by for proof in anchor.proofs]
    assert [git(suite, "log", "-1", "--format=%cI").strip()] == [proof.at for proof in anchor.proofs]


def test_statement_that_nobody_committed_is_no_anchor(suite: Path) -> None:
    """It is read, and said to vouch for nothing."""
    path = keep_outside(STATEMENT, suite, [GitVoucher()])
    git(suite, "reset", "--quiet", "--soft", "HEAD~1")
    reading = read_anchors(suite)

    assert [False] == [anchor.is_vouched for anchor in reading.anchors]
    assert [f"anchors/{path.name} is neither committed nor signed nor stamped: it vouches for nothing"] == list(
        reading.said
    )


@pytest.mark.parametrize("committed", [True, False], ids=["removal-committed", "removed"])
def test_removed_anchor_is_read_from_history(suite: Path, *, committed: bool) -> None:
    """Deleting the file, and committing that, takes nothing back."""
    path = keep_outside(STATEMENT, suite, [GitVoucher()])
    path.unlink()
    path.parent.rmdir()
    if committed:
        git(suite, "commit", "--quiet", "-a", "-m", "Tidy")
    reading = read_anchors(suite)

    assert [STATEMENT] == [anchor.statement for anchor in reading.anchors if anchor.is_vouched]
    assert any("is gone from its folder" in text for text in reading.said)


def test_edited_anchor_is_a_fault(suite: Path) -> None:
    """What was committed still stands beside it."""
    path = keep_outside(STATEMENT, suite, [GitVoucher()])
    path.write_bytes(path.read_bytes().replace(b'"count": 2', b'"count": 3'))
    reading = read_anchors(suite)

    assert [STATEMENT] == [anchor.statement for anchor in reading.anchors]
    assert [path.name in fault and "edited or renamed" in fault for fault in reading.faults] == [True]


def test_anchors_of_merged_branches_are_found(suite: Path) -> None:
    """A history of two lines holds both."""
    git(suite, "checkout", "--quiet", "-b", "side")
    keep_outside(STATEMENT, suite, [GitVoucher()])
    git(suite, "checkout", "--quiet", "main")
    keep_outside(replace(STATEMENT, run_id="run-2"), suite, [GitVoucher()])
    git(suite, "merge", "--quiet", "-m", "Both", "side")

    assert ["run-1", "run-2"] == sorted(anchor.statement.run_id for anchor in read_anchors(suite).anchors)


def test_shallow_clone_vouches_for_nothing(suite: Path, tmp_path: Path) -> None:
    """It cannot say since when a file is there, nor which are gone; it says what to do."""
    keep_outside(STATEMENT, suite, [GitVoucher()])
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{suite.parent}", "clone")
    reading = read_anchors(tmp_path / "clone" / "suite")

    assert [False] == [anchor.is_vouched for anchor in reading.anchors]
    assert any("git fetch --unshallow" in text for text in reading.said)


def test_unfinished_merge_is_refused(suite: Path) -> None:
    """A commit of one file alone would not be possible then."""
    git(suite, "checkout", "--quiet", "-b", "side")
    (suite / "plan").write_text("theirs\n")
    git(suite, "commit", "--quiet", "-a", "-m", "Theirs")
    git(suite, "checkout", "--quiet", "main")
    (suite / "plan").write_text("ours\n")
    git(suite, "commit", "--quiet", "-a", "-m", "Ours")
    git(suite, "merge", "side", check=False)

    with pytest.raises(AnchorError, match="a merge is not finished"):
        GitVoucher().check(suite)
    with pytest.raises(AnchorError, match="failed"):
        keep_outside(STATEMENT, suite, [GitVoucher()])
    assert [] == list((suite / "anchors").iterdir())
    assert "anchors" not in git(suite, "status", "--short")


def test_ignored_folder_is_refused(suite: Path) -> None:
    """Before the first run is registered."""
    (suite / ".gitignore").write_text("anchors/\n")

    with pytest.raises(AnchorError, match=r"take it out of \.gitignore"):
        GitVoucher().check(suite)


def test_filter_that_changes_it_is_refused(suite: Path) -> None:
    """A commit of something else would be found as an edited statement for ever."""
    (suite / ".gitattributes").write_text("*.json filter=louder\n")
    git(suite, "config", "filter.louder.clean", "tr a-z A-Z")
    before = git(suite, "rev-parse", "HEAD")

    with pytest.raises(AnchorError, match="a filter of this repository"):
        keep_outside(STATEMENT, suite, [GitVoucher()])
    assert before == git(suite, "rev-parse", "HEAD")
    assert "anchors" not in git(suite, "status", "--short")


def test_nobody_who_commits_is_refused(suite: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git would make up a name; on a machine that builds, the environment may give one."""
    monkeypatch.setenv("HOME", str(suite))
    for variable in ("XDG_CONFIG_HOME", "GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "EMAIL"):
        monkeypatch.delenv(variable, raising=False)
    git(suite, "config", "user.useConfigOnly", "true")
    git(suite, "config", "--unset", "user.name")
    git(suite, "config", "--unset", "user.email")

    with pytest.raises(AnchorError, match="does not know who commits"):
        GitVoucher().check(suite)
    for variable in ("GIT_AUTHOR", "GIT_COMMITTER"):
        monkeypatch.setenv(f"{variable}_NAME", "A Builder")
        monkeypatch.setenv(f"{variable}_EMAIL", "builder@localhost")
    GitVoucher().check(suite)
    keep_outside(STATEMENT, suite, [GitVoucher()])
    assert "A Builder" in git(suite, "log", "-1")


def test_folder_without_a_repository_is_refused(tmp_path: Path) -> None:
    """And, where anchors lie there, said when they are read."""
    with pytest.raises(AnchorError, match="no git repository"):
        GitVoucher().check(tmp_path)
    (tmp_path / "anchors").mkdir()
    assert any("no git repository" in text for text in read_anchors(tmp_path).said)
