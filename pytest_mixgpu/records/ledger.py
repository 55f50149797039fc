"""The ledger: from entries to a chain of lines in `ledger.jsonl`, and back with every fault named. Imports no torch.

Each line holds the SHA-256 of the line before it, over its raw bytes, so an edit, a deletion or a reordering breaks the
chain. The chain alone cannot show that its own end was cut off or that it was rebuilt whole: that needs a head that was
kept outside.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path

import msgspec
from filelock import FileLock, Timeout

from pytest_mixgpu.errors import LedgerError
from pytest_mixgpu.records.chain import FIRST_PREV, LedgerEntry, LedgerReading, read_chain, read_line, story_faults

__all__ = ["Ledger", "LedgerEntry", "sync_folder", "utc_now", "write_all"]


class Ledger:
    """A hash chain in one file, shared by all sessions that report into one folder.

    Args:
        path: the file; it need not exist.
        lock_timeout_s: how long another session may hold it before that is an error.
    """

    def __init__(self, path: Path, *, lock_timeout_s: float = 60.0) -> None:
        self.path = path
        self._lock_timeout_s = lock_timeout_s

    @property
    def head(self) -> str:
        """SHA-256 of the last whole line; empty where there is none."""
        return self.read().head

    @property
    def count(self) -> int:
        """Number of whole lines."""
        return self.read().count

    def read(self) -> LedgerReading:
        """Read what is there, faults and all."""
        reading = read_chain(self._raw(), name=str(self.path))
        if reading.torn:
            # Perhaps somebody is writing at this moment: with the lock held nobody is.
            try:
                with self._locked():
                    reading = read_chain(self._raw(), name=str(self.path))
            except (OSError, LedgerError):
                return reading
        return reading

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all entries of a chain that is whole.

        Raises:
            LedgerError: the chain is broken; names the first fault.
        """
        reading = self.read()
        if reading.faults:
            raise LedgerError(_refusal(reading))
        return reading.entries

    def verify(self, *, head: str = "", count: int | None = None) -> tuple[str, ...]:
        """Return what is wrong with the chain, one sentence a fault; empty if nothing is.

        Args:
            head: a head that was kept outside this file: some line of this ledger must have had it.
            count: how many lines the ledger had then.
        """
        raw = self._raw()
        faults = list(read_chain(raw, name=str(self.path)).faults)
        if head:
            heads = [sha256(line).hexdigest() for line in raw.split(b"\n")[:-1]]
            at = heads.index(head) + 1 if head in heads else None
            if at is None:
                faults.append(
                    f"{self.path}: no line has the head {head[:12]}… that was kept outside: it was rebuilt or cut"
                )
            elif count is not None and at != count:
                faults.append(f"{self.path}: the head {head[:12]}… stands at line {at}, expected line {count}")
        return tuple(faults)

    def append(self, entry: LedgerEntry) -> LedgerEntry:
        """Add an entry to the end and have the disk hold it before this returns.

        The first entry of a new ledger is preceded by an `open` that binds the ledger to the entry's lock. A torn last
        line, as a killed writer leaves it, is cut off, and a `repair` entry says so.

        Returns:
            The entry as written, with its place and the hash before it.

        Raises:
            LedgerError: the chain is broken, or the entry does not fit to it (a run closed twice, say).
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self._locked():
            raw = self._raw()
            reading = read_chain(raw, name=str(self.path))
            if reading.faults:
                raise LedgerError(_refusal(reading))
            placed = _place(_with_preface(entry, reading), reading)
            story = story_faults([*reading.entries, *placed], name=str(self.path))
            if story:
                raise LedgerError(f"{story[0]}; nothing was written")
            lines = b"".join(msgspec.json.encode(one) + b"\n" for one in placed)
            self._write(lines, keep_bytes=len(raw) - len(reading.torn))
            return placed[-1]

    @contextmanager
    def _locked(self) -> Iterator[None]:
        try:
            lock = FileLock(f"{self.path}.lock").acquire(timeout=self._lock_timeout_s)
        except Timeout as error:
            raise LedgerError(
                f"{self.path}: another session has held it for {self._lock_timeout_s:.0f} s, expected it to be free "
                "in an instant; end that session, or report into another folder (`--mixgpu-report`)"
            ) from error
        with lock:
            yield

    def _raw(self) -> bytes:
        try:
            return self.path.read_bytes()
        except FileNotFoundError:
            return b""

    def _write(self, lines: bytes, *, keep_bytes: int) -> None:
        is_new = not self.path.exists()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            os.ftruncate(handle, keep_bytes)
            os.lseek(handle, 0, os.SEEK_END)
            write_all(handle, lines)
            os.fsync(handle)
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self.path.parent)


def utc_now() -> str:
    """Return the host's clock in UTC as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def write_all(handle: int, raw: bytes) -> None:
    """Write all bytes to a file descriptor, however many calls that takes."""
    view = memoryview(raw)
    while view:
        view = view[os.write(handle, view) :]


def sync_folder(folder: Path) -> None:
    """Have the disk hold the names of the files in a folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _with_preface(entry: LedgerEntry, reading: LedgerReading) -> list[LedgerEntry]:
    """Return what has to be written for an entry: before it an opening or a repair."""
    cut = ""
    if reading.torn:
        cut = f"cut off a torn last line of {len(reading.torn)} bytes, SHA-256 {sha256(reading.torn).hexdigest()}"
    if not reading.entries and entry.event != "open":
        opening = LedgerEntry(
            at=entry.at,
            event="open",
            session=entry.session,
            suite=entry.suite,
            plan_digest=entry.plan_digest,
            lock_digest=entry.lock_digest,
            note=cut,
        )
        return [opening, entry]
    if cut and reading.entries:
        return [LedgerEntry(at=utc_now(), event="repair", note=cut), entry]
    return [entry]


def _place(fresh: list[LedgerEntry], reading: LedgerReading) -> list[LedgerEntry]:
    """Give each entry its place and the hash of the line before it."""
    prev, placed = reading.head or FIRST_PREV, []
    for n, entry in enumerate(fresh, start=reading.count):
        placed.append(msgspec.structs.replace(entry, n=n, prev=prev))
        line = msgspec.json.encode(placed[-1])
        read_line(line)
        prev = sha256(line).hexdigest()
    return placed


def _refusal(reading: LedgerReading) -> str:
    return (
        f"{reading.faults[0]}. A broken ledger is not added to: restore it from a copy, or report into another folder "
        "(`--mixgpu-report`)"
    )
