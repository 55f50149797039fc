"""Real git repositories for tests: `git` with dates of its own, and locks to commit."""

import os
import subprocess
from pathlib import Path

from msgspec.structs import replace

from pytest_mixgpu.marks.lock import Lock, amend
from pytest_mixgpu.marks.lock_file import lock_text
from tests.judging import e1_marks, freeze_e1
from tests.samples import e1_plan

FIRST, SECOND, THIRD, FOURTH = (f"2026-11-29T{hour}:00:00+00:00" for hour in (10, 11, 12, 13))
AFTER = "2026-11-29T18:00:00+00:00"
"""Later than all of them."""
SPEEDUP, PARITY = "e1-speedup", "e1-parity"


def git(folder: Path, *arguments: str, at: str = FIRST, author_at: str = "", config: tuple[str, ...] = ()) -> str:
    """Run git as a user at a date; return what it wrote."""
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_AUTHOR_DATE": author_at or at,
        "GIT_COMMITTER_DATE": at,
        "GIT_AUTHOR_NAME": "A",
        "GIT_AUTHOR_EMAIL": "a@example.org",
        "GIT_COMMITTER_NAME": "A",
        "GIT_COMMITTER_EMAIL": "a@example.org",
        "GIT_ALLOW_PROTOCOL": "file",
    }
    settings = [part for setting in config for part in ("-c", setting)]
    done = subprocess.run(
        ["git", *settings, *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def new_repository(folder: Path) -> Path:
    """Make an empty repository."""
    folder.mkdir(parents=True)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "config", "uploadpack.allowFilter", "true")
    git(folder, "config", "uploadpack.allowAnySHA1InWant", "true")
    return folder


def commit(folder: Path, text: str | Lock, *, at: str = FIRST, path: str = "passmarks.lock") -> str:
    """Commit a lock, or any text in its place; return the commit."""
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text if isinstance(text, str) else lock_text(text), "utf-8")
    git(folder, "add", "-f", path)
    git(folder, "commit", "-q", "-m", "lock", at=at)
    return git(folder, "rev-parse", "HEAD")


def frozen() -> Lock:
    """Return the lock of E1 as it was frozen first."""
    return freeze_e1(e1_plan())


def amended(lock: Lock, id_: str = SPEEDUP, *, bound: float = 0.6) -> Lock:
    """Amend a mark, or what all marks are bound to."""
    marks = [replace(mark, bound=bound) if mark.id == id_ else mark for mark in e1_marks().marks]
    bindings = replace(lock.bindings, code="ab" * 32) if id_ == "code" else lock.bindings
    return amend(lock, id_, "why", AFTER, marks=marks, claims=lock.claims, plan=None, bindings=bindings)
