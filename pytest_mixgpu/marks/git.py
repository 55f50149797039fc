"""The git witness: from a lock's path to what its repository says of it, as a value. Guesses nothing, writes nothing.

A date in git can be set by hand; that is said where the date is shown. Only a push that others saw bounds it.
"""

import os
import subprocess
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.lock_file import lock_digest, parse_lock

Problem = Literal["", "no-git", "no-repository", "shallow", "untracked", "uncommitted", "not-in-history", "unreadable"]

_TIMEOUT_S = 30.0
_SAFE_VARIABLES = ("PATH", "HOME", "USER", "LANG", "XDG_CONFIG_HOME", "SYSTEMROOT", "TMPDIR")


class Bringing(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A commit that brought one state of the lock."""

    lock_digest: str
    commit: str
    author_date: str
    committer_date: str


class GitWitness(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What git says of the lock's present content. With a problem, the rest is empty."""

    problem: Problem = ""
    message: str = ""
    """One sentence on the problem."""
    remedy: str = ""
    """What to do about it."""
    commit: str = ""
    """The commit that brought the lock's present content."""
    author_date: str = ""
    committer_date: str = ""
    """ISO 8601; when the commit was made, or last rewritten."""
    head: str = ""
    ancestor: bool = False
    """Whether that commit is in the history of HEAD."""
    clean: bool = False
    """Whether the file on disk is what HEAD holds."""
    first_run_at: str = ""
    brought: tuple[Bringing, ...] = ()
    """The commits in the history of HEAD that changed the lock, newest first, as far as they can be read as one."""
    before_first_run: bool | None = None
    """Whether author's and committer's date both lie before the first run; None: there was no run, or no date."""


def witness(lock_path: Path, first_run_at: str | None) -> GitWitness:
    """Ask git which commit brought the lock's present content, and whether that was before the first run.

    Args:
        lock_path: the lock; it need not exist.
        first_run_at: when the first run was registered, ISO 8601; None or empty if there was none.
    """
    folder, name = lock_path.resolve().parent, lock_path.name
    try:
        found = _ask(folder, name)
    except FileNotFoundError:
        return _problem("no-git", "git is not installed", "install git and judge in a clone of the repository")
    except (OSError, subprocess.SubprocessError) as error:
        return _problem("unreadable", f"git did not answer: {error}", "see that `git status` works here")
    if found.problem or not first_run_at:
        return found
    return msgspec.structs.replace(found, first_run_at=first_run_at, before_first_run=is_before(found, first_run_at))


def parse_moment(text: str) -> datetime | None:
    """Read an ISO 8601 moment with its offset; None where it is none."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None


def is_before(found: GitWitness | Bringing, moment: str) -> bool | None:
    """Say whether author's and committer's date both lie before a moment; None where one of them is no date."""
    dates = [parse_moment(text) for text in (found.author_date, found.committer_date, moment)]
    author, committer, limit = dates
    if author is None or committer is None or limit is None:
        return None
    return max(author, committer) <= limit


def _ask(folder: Path, name: str) -> GitWitness:
    if not folder.is_dir():
        return _problem("no-repository", f"there is no folder {folder}", "judge in a clone of the repository")
    inside = _git(folder, "rev-parse", "--is-inside-work-tree")
    if inside.returncode or inside.stdout.strip() != "true":
        return _without_repository(inside.stderr)
    if _git(folder, "rev-parse", "--is-shallow-repository").stdout.strip() != "false":
        return _problem(
            "shallow",
            "this is a shallow clone: the commit that brought the lock may be cut off",
            "git fetch --unshallow (in CI: a checkout with its whole history)",
        )
    if not _git(folder, "ls-files", "--", name).stdout.strip():
        return _problem("untracked", f"{name} is not under version control", f"git add {name} && git commit")
    head = _git(folder, "rev-parse", "--verify", "HEAD").stdout.strip()
    # Not `git status`: it takes the index's word (assume-unchanged, skip-worktree) and sees through filters.
    if not head or not _is_in_head(folder, name):
        return _problem("uncommitted", f"{name} differs from what is committed", f"git commit {name}")
    return _commit_of(folder, name, head)


def _is_in_head(folder: Path, name: str) -> bool:
    """Whether the file's bytes on disk are those that HEAD holds; ends of lines may be another system's."""
    blob = _git_bytes(folder, "cat-file", "blob", f"HEAD:./{name}")
    if blob.returncode:
        return False
    return blob.stdout.replace(b"\r\n", b"\n") == (folder / name).read_bytes().replace(b"\r\n", b"\n")


def _commit_of(folder: Path, name: str, head: str) -> GitWitness:
    log = _git(folder, "log", "-1", "--format=%H%x00%aI%x00%cI", "HEAD", "--", name)
    commit, _, dates = log.stdout.strip().partition("\0")
    author, _, committer = dates.partition("\0")
    here = _git(folder, "rev-parse", "--verify", f"HEAD:./{name}").stdout.strip()
    there = _git(folder, "rev-parse", "--verify", f"{commit}:./{name}").stdout.strip() if commit else ""
    if log.returncode or not commit or not here or here != there:
        return _problem(
            "not-in-history", f"no commit in the history of HEAD brought {name} as it is now", f"git commit {name}"
        )
    ancestor = _git(folder, "merge-base", "--is-ancestor", commit, head).returncode == 0
    return GitWitness(
        commit=commit,
        author_date=author,
        committer_date=committer,
        head=head,
        ancestor=ancestor,
        clean=True,
        brought=tuple(_history(folder, name)),
    )


def _history(folder: Path, name: str) -> Iterator[Bringing]:
    log = _git(folder, "log", "--format=%H%x00%aI%x00%cI", "HEAD", "--", name)
    for line in log.stdout.splitlines():
        commit, author, committer = line.split("\0")
        blob = _git(folder, "cat-file", "blob", f"{commit}:./{name}")
        try:
            lock = parse_lock(blob.stdout, where=name) if blob.returncode == 0 else None
        except LockError:
            continue
        if lock is not None:
            yield Bringing(lock_digest=lock_digest(lock), commit=commit, author_date=author, committer_date=committer)


def _without_repository(stderr: str) -> GitWitness:
    if "dubious ownership" in stderr:
        return _problem(
            "unreadable",
            "git refuses to read this repository, which belongs to another user",
            "git config --global --add safe.directory for it",
        )
    return _problem(
        "no-repository",
        "there is no git repository here (an archive holds no history)",
        "judge in a clone of the repository, with its whole history",
    )


def _git(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    done = _git_bytes(folder, *arguments)
    return subprocess.CompletedProcess(
        done.args, done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode(errors="replace")
    )


def _git_bytes(folder: Path, *arguments: str) -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder, deaf to variables that would point it to another repository or rewrite history."""
    environment = {name: os.environ[name] for name in _SAFE_VARIABLES if name in os.environ}
    environment |= {"LC_ALL": "C", "GIT_OPTIONAL_LOCKS": "0", "GIT_NO_REPLACE_OBJECTS": "1", "GIT_TERMINAL_PROMPT": "0"}
    return subprocess.run(
        ["git", *arguments], cwd=folder, env=environment, capture_output=True, timeout=_TIMEOUT_S, check=False
    )


def _problem(problem: Problem, message: str, remedy: str) -> GitWitness:
    return GitWitness(problem=problem, message=message, remedy=remedy)
