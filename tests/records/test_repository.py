"""What a repository is asked runs none of its code, follows no variable and fetches nothing; silence has a reason."""

import os
import stat
import zlib
from pathlib import Path

import pytest

from pytest_mixgpu.errors import RepositoryError
from pytest_mixgpu.marks.git import witness
from pytest_mixgpu.records.repository import Repository
from tests.repositories import AFTER, amended, commit, frozen, git, new_repository


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    return new_repository(tmp_path / "repository")


def script(path: Path, body: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{body}\n", "utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def git_that(folder: Path, body: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a git before the real one, which it calls as "$GIT"."""
    real = next(Path(place) / "git" for place in os.environ["PATH"].split(":") if (Path(place) / "git").exists())
    script(folder / "bin" / "git", f'GIT="{real}"\n{body}')
    monkeypatch.setenv("PATH", f"{folder / 'bin'}:{os.environ['PATH']}")


def test_objects_are_read_as_they_are_stored(repository: Path) -> None:
    """Bytes for bytes, whatever is in them; what is not there is None."""
    text = "a\nb\r\n\0 blob 3\n"
    head = commit(repository, text, path="sub/ein Märchen")
    found = Repository.of(repository / "sub")

    assert ("sub/", repository.resolve(), head) == (found.prefix, found.top, found.head())
    assert text.encode() == found.blob("HEAD", "sub/ein Märchen")
    assert found.blob("HEAD", "sub/other") is None
    assert {"00" * 20: None} == found.objects(["00" * 20])
    assert {} == found.objects([])


def test_a_path_is_no_pattern(repository: Path) -> None:
    """`*` is a name like any other."""
    commit(repository, "x", path="a.lock")

    assert Repository.of(repository).blob("HEAD", "*.lock") is None


def test_what_is_ignored_can_be_asked(repository: Path) -> None:
    """The one command that takes no literal paths answers all the same."""
    (repository / ".gitignore").write_text("*.lock\n", "utf-8")
    found = Repository.of(repository)

    assert [0, 1] == [found.run("check-ignore", "--quiet", "--", name).code for name in ("a.lock", "a.txt")]


def hostile(repository: Path, sentinel: Path) -> None:
    """Let a repository's own settings run a command wherever git would run one."""
    run = script(repository.parent / "evil", f"echo ran >> '{sentinel}'\ncat")
    for name in ("post-index-change", "post-checkout", "pre-auto-gc", "reference-transaction"):
        script(repository / ".git" / "hooks" / name, f"echo {name} >> '{sentinel}'")
    for setting in (
        "core.fsmonitor",
        "core.pager",
        "core.editor",
        "core.askPass",
        "core.sshCommand",
        "core.gitProxy",
        "core.alternateRefsCommand",
        "gpg.program",
        "diff.external",
        "diff.evil.textconv",
        "diff.evil.command",
        "filter.evil.clean",
        "filter.evil.smudge",
        "filter.evil.process",
        "credential.helper",
        "pager.log",
        "pager.rev-list",
    ):
        git(repository, "config", setting, str(run))
    git(repository, "config", "log.showSignature", "true")
    for command in ("rev-list", "rev-parse", "log", "cat-file", "ls-tree"):
        git(repository, "config", f"alias.{command}", f"!{run}")
    (repository / ".git" / "info").mkdir(exist_ok=True)
    (repository / ".git" / "info" / "attributes").write_text("* filter=evil diff=evil\n", "utf-8")


def test_asking_runs_no_code_of_the_repository(repository: Path, tmp_path: Path) -> None:
    """No hook, filter, alias, textconv, pager, file watcher or signature program."""
    lock = frozen()
    commit(repository, lock, path="old/passmarks.lock")
    git(repository, "mv", "old", "new")
    git(repository, "commit", "-q", "-m", "move")
    sentinel = tmp_path / "sentinel"
    hostile(repository, sentinel)
    sentinel.unlink(missing_ok=True)
    found = witness(repository / "new" / "passmarks.lock", "2026-01-01T00:00:00+00:00")
    (repository / "new" / "passmarks.lock").write_text("edited", "utf-8")
    edited = witness(repository / "new" / "passmarks.lock", AFTER)
    (repository / "new" / "passmarks.lock").rename(repository / "passmarks.lock")
    untracked = witness(repository / "passmarks.lock", AFTER)

    assert ["", "uncommitted", "untracked"] == [found.problem, edited.problem, untracked.problem]
    assert not sentinel.exists()


def test_a_missing_object_is_fetched_from_nobody(repository: Path, tmp_path: Path) -> None:
    """The remote of a partial clone can be a command, too."""
    commit(repository, frozen())
    commit(repository, amended(frozen()))
    git(tmp_path, "clone", "-q", "--filter=blob:none", f"file://{repository}", "partial")
    sentinel = tmp_path / "sentinel"
    run = script(tmp_path / "evil", f"echo ran >> '{sentinel}'")
    git(tmp_path / "partial", "config", "remote.origin.url", f"ext::{run}")
    git(tmp_path / "partial", "config", "protocol.ext.allow", "always")
    git(tmp_path / "partial", "config", "remote.origin.uploadpack", str(run))
    found = witness(tmp_path / "partial" / "passmarks.lock", AFTER)

    assert {"partial"} == {one.problem for one in found.marks}
    assert not sentinel.exists()


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_CONFIG_PARAMETERS"])
def test_variables_of_the_caller_are_not_passed_on(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, variable: str
) -> None:
    """A hook of git that starts pytest sets them; they may be another repository's."""
    head = commit(repository, "x")
    monkeypatch.setenv(variable, str(tmp_path / "nowhere"))

    assert head == Repository.of(repository).head()


def test_a_bare_repository_has_no_lock(repository: Path, tmp_path: Path) -> None:
    """It has no files; one that lies in an archive could even bring settings."""
    commit(repository, "x")
    git(tmp_path, "clone", "-q", "--bare", str(repository), "bare")

    with pytest.raises(RepositoryError, match="bare repository") as caught:
        Repository.of(tmp_path / "bare")
    assert "no-repository" == caught.value.problem


def test_a_work_tree_that_lies_elsewhere_is_told(repository: Path, tmp_path: Path) -> None:
    """A setting of the repository can say so; what lies beside its history is not what it keeps then."""
    commit(repository, "x")
    (tmp_path / "tree").mkdir()
    git(repository, "config", "core.worktree", str(tmp_path / "tree"))

    with pytest.raises(RepositoryError, match="none of the folders"):
        Repository.of(repository)


def test_another_owner_is_told_with_the_remedy(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Git refuses to read it, as in a container that runs as somebody else."""
    commit(repository, "x")
    git_that(tmp_path, 'GIT_TEST_ASSUME_DIFFERENT_OWNER=1 exec "$GIT" "$@"', monkeypatch)

    with pytest.raises(RepositoryError, match="another user") as caught:
        Repository.of(repository)
    assert "safe.directory" in caught.value.remedy


def test_a_language_of_the_host_changes_no_answer(repository: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What git says is read in one language."""
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    monkeypatch.setenv("LANGUAGE", "de")

    with pytest.raises(RepositoryError, match="no git repository here"):
        Repository.of(repository.parent)


def test_an_answer_that_takes_too_long_is_told(
    repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A huge history must not hold a verdict up; nothing is guessed in its place."""
    commit(repository, "x")
    git_that(tmp_path, 'case "$*" in *rev-list*) exec sleep 60;; esac\nexec "$GIT" "$@"', monkeypatch)
    found = witness(repository / "passmarks.lock", AFTER, patience_s=2.0)

    assert "slow" == found.problem
    assert "git rev-list gave no answer within 2 s" in found.message


def test_a_git_that_is_no_git_is_told(repository: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever it writes is not taken for an answer."""
    commit(repository, "x")
    git_that(tmp_path, "echo true", monkeypatch)

    assert "unreadable" == witness(repository / "passmarks.lock", AFTER).problem


def test_an_object_that_was_forged_is_told(repository: Path) -> None:
    """Git gives out whatever lies under a name; a date that was written into the stored commit is seen all the same."""
    head = commit(repository, "x")
    commit(repository, "y", path="other")
    stored = repository / ".git" / "objects" / head[:2] / head[2:]
    _, _, raw = zlib.decompress(stored.read_bytes()).partition(b"\0")
    forged = raw.replace(b" 17", b" 16")
    assert forged != raw
    stored.chmod(0o644)
    stored.write_bytes(zlib.compress(b"commit %d\0" % len(forged) + forged))
    found = witness(repository / "passmarks.lock", AFTER)

    assert "unreadable" == found.problem
    assert f"object {head[:12]} of the repository is not what its name says" in found.message


def test_a_head_that_was_forged_is_told(repository: Path) -> None:
    """It is not taken for a repository without any commit."""
    head = commit(repository, "x")
    stored = repository / ".git" / "objects" / head[:2] / head[2:]
    stored.chmod(0o644)
    stored.write_bytes(zlib.compress(b"commit 1\0x"))

    assert "unreadable" == witness(repository / "passmarks.lock", AFTER).problem


def test_a_repository_of_longer_ids_is_read_as_well(tmp_path: Path) -> None:
    """SHA-256 in place of SHA-1."""
    folder = tmp_path / "long"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main", "--object-format=sha256")
    head = commit(folder, "x")
    found = witness(folder / "passmarks.lock", AFTER)

    assert (64, "", head) == (len(head), found.problem, found.commit)


def test_a_damaged_repository_is_told(repository: Path) -> None:
    """An object that the history names and nobody has."""
    commit(repository, "x")
    commit(repository, "y")
    blob = git(repository, "rev-parse", "HEAD:passmarks.lock")
    (repository / ".git" / "objects" / blob[:2] / blob[2:]).unlink()
    found = witness(repository / "passmarks.lock", AFTER)

    assert ("unreadable", "git fsck") == (found.problem, found.remedy)


def test_asking_a_submodule_runs_no_code_of_the_repository_around_it(repository: Path, tmp_path: Path) -> None:
    """It is asked which commit it holds, and nothing else."""
    commit(repository, frozen())
    outer = new_repository(tmp_path / "outer")
    git(outer, "submodule", "add", "-q", str(repository), "sub", config=("protocol.file.allow=always",))
    git(outer, "commit", "-q", "-m", "pin")
    sentinel = tmp_path / "sentinel"
    hostile(outer, sentinel)
    sentinel.unlink(missing_ok=True)
    found = witness(outer / "sub" / "passmarks.lock", AFTER)

    assert any("a submodule of outer" in text for text in found.remarks)
    assert not sentinel.exists()
