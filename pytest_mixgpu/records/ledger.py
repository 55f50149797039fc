"""The ledger: from entries to a chain of lines in `ledger.jsonl`, and back with every fault named. Imports no torch.

Each line holds the SHA-256 of the line before it, over its raw bytes, so an edit, a deletion or a reordering breaks the
chain. The chain alone cannot show that its own end was cut off or that it was rebuilt whole: that needs a head that was
kept outside.
"""

import io
import os
from collections.abc import Collection, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO

import msgspec
from filelock import FileLock, Timeout

from pytest_mixgpu.errors import LedgerError
from pytest_mixgpu.records.chain import (
    FIRST_PREV,
    MAX_LINE_BYTES,
    LedgerEntry,
    LedgerReading,
    read_line,
    scan_chain,
    story_fault,
)
from pytest_mixgpu.records.files import opened, state_of, sync_folder, write_all
from pytest_mixgpu.records.known_runs import KnownRuns

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
        self._left: _Left | None = None

    @property
    def head(self) -> str:
        """SHA-256 of the last whole line; empty where there is none. Reads the end of the file only."""
        with self._looked_at() as file:
            size = file.seek(0, os.SEEK_END)
            # What is torn and the line before it are two lines at most, where the ledger is one at all.
            file.seek(max(0, size - 2 * (MAX_LINE_BYTES + 1)))
            *lines, _ = file.read().split(b"\n")
            if len(lines) > 1 or size <= 2 * (MAX_LINE_BYTES + 1):
                return sha256(lines[-1]).hexdigest() if lines else ""
        return self._scan(keep_entries=False).head

    def read(self) -> LedgerReading:
        """Read what is there, faults and all."""
        return self._settled(keep_entries=True)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Return all entries of a chain that is whole.

        Raises:
            LedgerError: the chain is broken; names the first fault.
        """
        reading = self.read()
        if reading.faults:
            raise LedgerError(_refusal(reading))
        return reading.entries

    def places(self, heads: Collection[str]) -> dict[str, int]:
        """Return at which line, counted from 1, each of these heads stands; what is missing stands nowhere.

        A head at line n was the head of this ledger when it had n lines.
        """
        return self._settled(keep_entries=False, heads=heads).places

    def verify(self, *, head: str = "", count: int | None = None) -> tuple[str, ...]:
        """Return what is wrong with the chain, one sentence a fault; empty if nothing is.

        The file is read once from its beginning to its end, and memory does not grow with it. Without `head`, a ledger
        that was cut after a whole line, or written anew from some line on, is not told from a true one.

        Args:
            head: a head that was kept outside this file: some line of this ledger must have had it.
            count: how many lines the ledger had then.
        """
        reading = self._settled(keep_entries=False, heads={head} if head else ())
        faults = list(reading.faults)
        if head:
            at = reading.places.get(head)
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

        The whole ledger is verified before; where nobody has touched the file since this object added to it, that is
        known, and only what it says of the entry's run is looked up.

        Returns:
            The entry as written, with its place and the hash before it.

        Raises:
            LedgerError: the chain is broken, the entry does not fit to it (a run closed twice, say), or it cannot be
                written. What was there before is there still.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self._locked():
                reading = self._verified()
                placed = _place(_with_preface(entry, reading), reading)
                self._refuse_story(placed)
                self._write(placed, torn=reading.torn)
        except OSError as error:
            raise LedgerError(
                f"{self.path}: nothing can be added to it: {error}. What it held is there still; make room or give "
                "this user leave to write, or report into another folder (`--mixgpu-report`)"
            ) from error
        return placed[-1]

    def _verified(self) -> LedgerReading:
        """Read the ledger, with its lock held, unless it is as this object left it."""
        if self._left is not None and self._left.state == state_of(self.path):
            return LedgerReading(head=self._left.head, count=self._left.count, faults=())
        reading = self._scan(keep_entries=False)
        if reading.faults:
            raise LedgerError(_refusal(reading))
        return reading

    def _refuse_story(self, placed: list[LedgerEntry]) -> None:
        with KnownRuns() as known:
            for event, run_id in self._told_of({entry.run_id for entry in placed}):
                known.note(run_id, is_closed=event == "close")
            for entry in placed:
                fault = story_fault(entry, known, is_first=entry.n == 0)
                if fault:
                    raise LedgerError(f"{self.path}, line {entry.n + 1}: {fault}; nothing was written")

    def _told_of(self, run_ids: Collection[str]) -> Iterator[tuple[str, str]]:
        """Give event and run of each line that speaks of these runs."""
        marks = [b'"run_id":' + msgspec.json.encode(run_id) for run_id in run_ids]
        with opened(self.path) as file:
            # The chain is whole by now, so no line is longer than an entry.
            for line in file or ():
                if any(mark in line for mark in marks) and line.endswith(b"\n"):
                    entry = read_line(line[:-1])
                    yield entry.event, entry.run_id

    def _settled(self, *, keep_entries: bool, heads: Collection[str] = ()) -> LedgerReading:
        """Read the ledger as nobody is writing it."""
        reading = self._scan(keep_entries=keep_entries, heads=heads)
        if reading.torn or reading.faults:
            # Perhaps somebody is writing at this moment: with the lock held nobody is.
            try:
                with self._locked():
                    reading = self._scan(keep_entries=keep_entries, heads=heads)
            except (OSError, LedgerError):
                return reading
        return reading

    @contextmanager
    def _looked_at(self) -> Iterator[BinaryIO]:
        """Open the file, or what holds nothing in place of one that is not there or is none: `read` says so."""
        with ExitStack() as stack:
            try:
                file = stack.enter_context(opened(self.path))
            except OSError:
                file = None
            yield io.BytesIO() if file is None else file

    def _scan(self, *, keep_entries: bool, heads: Collection[str] = ()) -> LedgerReading:
        try:
            with opened(self.path) as file:
                if file is None:
                    return LedgerReading(head="", count=0, faults=())
                return scan_chain(file, name=str(self.path), keep_entries=keep_entries, heads=heads)
        except OSError as error:
            return LedgerReading(head="", count=0, faults=(f"{self.path}: it cannot be read: {error}",))

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

    def _write(self, placed: list[LedgerEntry], *, torn: bytes) -> None:
        self._left = None
        lines = [msgspec.json.encode(one) for one in placed]
        is_new = not self.path.exists()
        handle = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o644)
        try:
            # A kill right after this leaves it unsaid that a line was torn; what that was to say never counted.
            os.ftruncate(handle, os.fstat(handle).st_size - len(torn))
            os.lseek(handle, 0, os.SEEK_END)
            # Where this fails midway, the next writer finds a torn line and says so.
            write_all(handle, b"".join(line + b"\n" for line in lines))
            os.fsync(handle)
        finally:
            os.close(handle)
        if is_new:
            sync_folder(self.path.parent)
        self._left = _Left(state=state_of(self.path), head=sha256(lines[-1]).hexdigest(), count=placed[-1].n + 1)


class _Left(msgspec.Struct, frozen=True, kw_only=True):
    """How a ledger was when this process had added to it."""

    state: tuple[int, ...]
    head: str
    count: int


def utc_now() -> str:
    """Return the host's clock in UTC as ISO 8601 with milliseconds."""
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _with_preface(entry: LedgerEntry, reading: LedgerReading) -> list[LedgerEntry]:
    """Return what has to be written for an entry: before it an opening or a repair."""
    cut = ""
    if reading.torn:
        cut = f"cut off a torn last line of {len(reading.torn)} bytes, SHA-256 {sha256(reading.torn).hexdigest()}"
    if not reading.count and entry.event != "open":
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
    if cut and reading.count:
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
