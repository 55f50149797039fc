"""What a holder says of itself, beside its lock: from a process to a small file and back to a sentence.

It serves messages, and tells siblings from strangers; the lock alone decides who has a device. Anybody may write into
the folder, so that what is read there is neither followed, waited for nor printed as it stands.
"""

import contextlib
import json
import os
import pwd
import stat
import sys
import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec

_LONGEST_BYTES: Final = 1 << 16
_LONGEST_TEXT: Final = 160


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a device, as it said itself."""

    pid: int
    holder: str
    """What the lease is for."""
    command: str
    since: str
    """UTC, ISO 8601."""
    user: str = ""
    session: str = ""
    """Of the pytest session, the same for all its workers; empty is none."""
    started: int | None = None
    """When the process began, in the kernel's ticks: a number that is given again later is another process."""
    namespace: str = ""
    """The process's view of process numbers: in another container the same number is somebody else."""

    @property
    def text(self) -> str:
        """One sentence for people."""
        place = _safe(f"process {self.pid}{f' of user {self.user}' if self.user else ''}")
        return f"held by {place} since {_safe(self.since)} for {_safe(self.holder)} ({_safe(self.command)})"


def myself(*, holder: str, session: str) -> Holder:
    """Describe this process.

    Args:
        holder: what the lease is for.
        session: of pytest, or empty.
    """
    _, started = _process(os.getpid())
    return Holder(
        pid=os.getpid(),
        holder=holder,
        command=_command(),
        since=datetime.now(UTC).isoformat(timespec="seconds"),
        user=_user(),
        session=session,
        started=started,
        namespace=_namespace(),
    )


def leave_word(lock_file: Path, word: Holder) -> None:
    """Write it beside the lock; a folder that is full or another user's file must not keep a device from being used."""
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=lock_file.parent, prefix=".holder-")
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(word))
            os.fchmod(file.fileno(), 0o644)
        Path(name).replace(word_path(lock_file))


def take_word_back(lock_file: Path) -> None:
    """Remove it, while the lock is still ours: afterwards it may be the next holder's."""
    with contextlib.suppress(OSError):
        word_path(lock_file).unlink()


def word_path(lock_file: Path) -> Path:
    """Where the word of a lock's holder lies."""
    return lock_file.with_suffix(".json")


def read_word(lock_file: Path) -> Holder | None:
    """Read what the holder of a lock left; None where there is nothing that can be read, or its process is gone."""
    word = _read(lock_file)
    return None if word is None or _is_gone(word) else word


def who_holds(lock_file: Path) -> str:
    """Say who holds a lock, if the word that was left still fits."""
    word = _read(lock_file)
    if word is None:
        return "its holder left no word"
    if _is_gone(word):
        return f"its holder left no word (process {word.pid}, the last one that did, is gone)"
    if word.namespace not in {"", _namespace()}:
        return f"{word.text}, in another container"
    state, _ = _process(word.pid)
    return f"{word.text}, which is stopped: SIGCONT lets it go on" if state in {"T", "t"} else word.text


def _read(lock_file: Path) -> Holder | None:
    try:
        # Neither a link that another user planted nor a pipe that never ends.
        handle = os.open(word_path(lock_file), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                return None
            return msgspec.convert(json.loads(file.read(_LONGEST_BYTES)), Holder)
    except (OSError, ValueError, RecursionError, msgspec.ValidationError):
        return None


def _is_gone(word: Holder) -> bool:
    if word.namespace not in {"", _namespace()}:
        return False
    state, started = _process(word.pid)
    if state is None:
        return True
    return None not in {word.started, started} and word.started != started


def _process(pid: int) -> tuple[str | None, int | None]:
    """State of a process, as the kernel letters it, and when it began; None is a process that is not there."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()
        return fields[0], int(fields[19])
    except (OSError, ValueError, IndexError):
        return None, None


def _namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")  # noqa: PTH115 - its target is no path
    except OSError:
        return ""


def _user() -> str:
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def _command() -> str:
    """The program alone: arguments can hold what is nobody's business."""
    return Path(sys.argv[0] if sys.argv and sys.argv[0] else sys.executable).name


def _safe(text: str) -> str:
    """What another user wrote must not steer the reader's terminal."""
    return "".join(letter if letter.isprintable() else "?" for letter in text[:_LONGEST_TEXT])
