"""What git says of a lock, asked of real repositories."""

from pathlib import Path

import pytest

from pytest_mixgpu.marks.git import parse_moment, witness
from tests.repositories import commit, git, new_repository

COMMITTED = "2026-11-29T10:00:00+00:00"
AFTER = "2026-11-29T12:00:00+00:00"


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def test_commit_before_the_first_run_is_witnessed(repository: Path) -> None:
    """The commit, its dates, and that the file is what HEAD holds."""
    commit(repository, "one")
    found = witness(repository / "passmarks.lock", AFTER)

    assert ("", True, True, True) == (found.problem, found.ancestor, found.clean, found.before_first_run)
    assert parse_moment(COMMITTED) == parse_moment(found.committer_date)
    assert len(found.commit) == 40


def test_commit_after_the_first_run_is_told(repository: Path) -> None:
    """Freezing afterwards does not help."""
    commit(repository, "one", at=AFTER)

    assert witness(repository / "passmarks.lock", COMMITTED).before_first_run is False


def test_present_content_is_what_counts(repository: Path) -> None:
    """Of several commits it is the one that brought the lock as it is now, whatever came later elsewhere."""
    commit(repository, "one")
    commit(repository, "two", at="2026-11-29T11:00:00+00:00")
    (repository / "other").write_text("x", "utf-8")
    git(repository, "add", "other")
    git(repository, "commit", "-q", "-m", "other", at=AFTER)

    found = witness(repository / "passmarks.lock", None)

    assert parse_moment("2026-11-29T11:00:00+00:00") == parse_moment(found.committer_date)
    assert found.head != found.commit
    assert found.before_first_run is None


def test_a_date_set_by_hand_needs_both_dates_to_be_early(repository: Path) -> None:
    """A commit that was rewritten after the first run has a late committer's date, whatever its author's says."""
    commit(repository, "one")
    git(repository, "commit", "-q", "--amend", "--date", COMMITTED, "-m", "again", at=AFTER)

    assert witness(repository / "passmarks.lock", "2026-11-29T11:00:00+00:00").before_first_run is False


@pytest.mark.parametrize("stage", ["edited", "staged"])
def test_uncommitted_changes_leave_it_unwitnessed(repository: Path, stage: str) -> None:
    """What is not committed has no date."""
    commit(repository, "one")
    (repository / "passmarks.lock").write_text("two", "utf-8")
    if stage == "staged":
        git(repository, "add", "passmarks.lock")

    found = witness(repository / "passmarks.lock", AFTER)

    assert ("uncommitted", "") == (found.problem, found.commit)
    assert "git commit" in found.remedy


def test_untracked_lock_is_unwitnessed(repository: Path) -> None:
    """A lock that was never added, in a repository that has commits."""
    commit(repository, "one")
    (repository / "suite").mkdir()
    (repository / "suite" / "passmarks.lock").write_text("mine", "utf-8")

    assert "untracked" == witness(repository / "suite" / "passmarks.lock", AFTER).problem


def test_added_lock_without_a_commit_is_unwitnessed(repository: Path) -> None:
    """A repository without a first commit has no HEAD."""
    (repository / "passmarks.lock").write_text("one", "utf-8")
    git(repository, "add", "passmarks.lock")

    assert "uncommitted" == witness(repository / "passmarks.lock", AFTER).problem


def test_shallow_clone_is_unwitnessed(repository: Path, tmp_path: Path) -> None:
    """The commit that brought the lock may be cut off; nothing is guessed from what is left."""
    commit(repository, "one")
    commit(repository, "two")
    git(tmp_path, "clone", "-q", "--depth", "1", f"file://{repository}", "shallow")

    found = witness(tmp_path / "shallow" / "passmarks.lock", AFTER)

    assert "shallow" == found.problem
    assert "--unshallow" in found.remedy


def test_archive_without_git_is_unwitnessed(tmp_path: Path) -> None:
    """No repository, and no repository further up either."""
    (tmp_path / "passmarks.lock").write_text("one", "utf-8")
    found = witness(tmp_path / "passmarks.lock", AFTER)

    assert "no-repository" == found.problem
    assert "clone" in found.remedy


def test_missing_git_is_unwitnessed(repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine without git still judges everything else."""
    commit(repository, "one")
    monkeypatch.setenv("PATH", str(tmp_path))

    assert "no-git" == witness(repository / "passmarks.lock", AFTER).problem


def test_missing_folder_is_unwitnessed(tmp_path: Path) -> None:
    """A lock in a folder that is not there."""
    assert "no-repository" == witness(tmp_path / "gone" / "passmarks.lock", AFTER).problem


def test_variables_that_point_elsewhere_are_not_followed(
    repository: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """GIT_DIR of another repository cannot lend its history."""
    commit(repository, "one")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "passmarks.lock").write_text("one", "utf-8")
    monkeypatch.setenv("GIT_DIR", str(repository / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(repository))

    assert "no-repository" == witness(elsewhere / "passmarks.lock", AFTER).problem


@pytest.mark.parametrize("first_run", ["", "yesterday", "2026-11-29T12:00:00"])
def test_a_first_run_without_a_whole_date_is_not_compared(repository: Path, first_run: str) -> None:
    """Unknown is neither before nor after."""
    commit(repository, "one")

    assert witness(repository / "passmarks.lock", first_run).before_first_run is None


@pytest.mark.parametrize("flag", ["--assume-unchanged", "--skip-worktree"])
def test_an_edit_that_the_index_is_told_to_overlook_is_seen(repository: Path, flag: str) -> None:
    """`git status` is silent then; the bytes are not."""
    commit(repository, "one")
    git(repository, "update-index", flag, "passmarks.lock")
    (repository / "passmarks.lock").write_text("two", "utf-8")

    assert "uncommitted" == witness(repository / "passmarks.lock", AFTER).problem


def test_an_edit_that_a_filter_undoes_is_seen(repository: Path) -> None:
    """A clean filter may give git the committed bytes for whatever lies there."""
    commit(repository, "one")
    (repository / ".gitattributes").write_text("passmarks.lock filter=forge\n", "utf-8")
    git(repository, "config", "filter.forge.clean", "printf one")
    (repository / "passmarks.lock").write_text("two", "utf-8")
    git(repository, "add", "passmarks.lock")

    assert "uncommitted" == witness(repository / "passmarks.lock", AFTER).problem


def test_ends_of_lines_of_another_system_are_no_edit(repository: Path) -> None:
    """A checkout may write CRLF; the content is the same."""
    git(repository, "config", "core.autocrlf", "true")
    commit(repository, "one\ntwo\n")
    (repository / "passmarks.lock").write_bytes(b"one\r\ntwo\r\n")

    assert "" == witness(repository / "passmarks.lock", AFTER).problem


def test_a_lock_that_is_a_link_is_unwitnessed(repository: Path) -> None:
    """Git holds where a link points to; what lies there may be in no repository at all."""
    elsewhere = repository.parent / "passmarks.lock"
    elsewhere.write_text("one", "utf-8")
    (repository / "passmarks.lock").symlink_to(elsewhere)
    git(repository, "add", "passmarks.lock")
    git(repository, "commit", "-q", "-m", "lock")

    assert "link" == witness(repository / "passmarks.lock", AFTER).problem


def test_a_folder_that_is_a_link_is_followed(repository: Path) -> None:
    """The lock itself lies in the repository, and is what git holds."""
    first = commit(repository, "one", path="suite/passmarks.lock")
    (repository.parent / "link").symlink_to(repository / "suite")

    assert first == witness(repository.parent / "link" / "passmarks.lock", AFTER).commit


def test_a_lock_that_is_not_checked_out_is_told_apart(repository: Path) -> None:
    """A sparse checkout leaves files out that HEAD holds; a lock that nobody wrote is in neither."""
    commit(repository, "one", path="suite/passmarks.lock")
    commit(repository, "x", path="other/file")
    git(repository, "sparse-checkout", "set", "other")
    (repository / "suite").mkdir()
    gone, never = (witness(repository / folder / "passmarks.lock", AFTER) for folder in ("suite", "other"))

    assert ("no-lock", "no-lock") == (gone.problem, never.problem)
    assert "git checkout HEAD" in gone.remedy
    assert "--passmark-freeze" in never.remedy


def test_an_ignored_lock_says_how_to_add_it(repository: Path) -> None:
    """`git add` alone would refuse; one that was added all the same is as good as any."""
    (repository / ".gitignore").write_text("*.lock\n", "utf-8")
    (repository / "passmarks.lock").write_text("one", "utf-8")

    assert "git add -f passmarks.lock" in witness(repository / "passmarks.lock", AFTER).remedy

    commit(repository, "one")

    assert "" == witness(repository / "passmarks.lock", AFTER).problem


def test_a_name_that_is_spelled_otherwise_is_named(repository: Path) -> None:
    """Some file systems find it all the same; git does not."""
    commit(repository, "one", path="Passmarks.lock")
    (repository / "passmarks.lock").write_text("one", "utf-8")
    found = witness(repository / "passmarks.lock", AFTER)

    assert "untracked" == found.problem
    assert "Passmarks.lock" in found.message


def test_a_filter_that_hides_the_bytes_is_named(repository: Path) -> None:
    """As git-lfs does: what is committed is a note, and the lock itself lies elsewhere."""
    (repository / ".gitattributes").write_text("passmarks.lock filter=lfs\n", "utf-8")
    commit(repository, "version https://git-lfs.github.com/spec/v1\n")
    (repository / "passmarks.lock").write_text("one", "utf-8")
    found = witness(repository / "passmarks.lock", AFTER)

    assert "uncommitted" == found.problem
    assert "through the filter lfs" in found.message
    assert ".gitattributes" in found.remedy
