"""The one writer of a run: from lines, as they happen, to `record.jsonl` and its close in the ledger. Imports no torch.

A line survives a kill of the process from the moment that `write` returns, and the record a full disk.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from pathlib import Path

import msgspec

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.assemble import Story, assemble
from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.digests import folder_digests
from pytest_mixgpu.records.files import sync_folder, write_all
from pytest_mixgpu.records.ledger import Ledger
from pytest_mixgpu.records.model import Header, Line, Outcome, RunRecord

RECORD_NAME = "record.jsonl"


class RunWriter:
    """The one writer of one run. Made by `RunStore.register`."""

    def __init__(self, folder: Path, header: Header, ledger: Ledger) -> None:
        self.folder = folder
        self._header = header
        self._ledger = ledger
        self._path = folder / RECORD_NAME
        self._story = Story()
        self._size_bytes = 0
        self._handle: int | None = None
        try:
            with self._explained():
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND | os.O_CLOEXEC
                self._handle = os.open(self._path, flags, 0o644)
                # Held until the process ends or the run is closed: tells one that goes on from one that was aborted.
                fcntl.flock(self._handle, fcntl.LOCK_EX)
                self._append(header)
                os.fsync(self._handle)
                sync_folder(folder)
        except BaseException:
            self.abandon()
            raise

    def write(self, line: Line) -> None:
        """Add a line; it survives a kill of this process from here on.

        Raises:
            RecordError: the line could not be read back, cannot follow those before it, cannot be written, or the run
                is closed. The lines before it are there in any case.
        """
        if isinstance(line, Header | Outcome):
            raise RecordError(
                f"run {self._header.run_id}: a {type(line).__name__.lower()} is written by `register` and `close` only"
            )
        self._append(line)

    def close(self, outcome: Outcome) -> RunRecord:
        """Write the outcome with the digest of every other file of the run, seal the record in the ledger, and read it.

        Args:
            outcome: how the run ended; its `files` are filled in here.

        Raises:
            RecordError: the outcome cannot be written.
            LedgerError: the close cannot be written. The run is aborted in either case.
        """
        try:
            files = folder_digests(self.folder, without=(RECORD_NAME,))
            self._append(msgspec.structs.replace(outcome, files=files))
            with self._explained():
                if self._handle is not None:
                    os.fsync(self._handle)
                with self._path.open("rb") as file:
                    record = assemble(file, path=self._path)
            self._ledger.append(entry_for(self._header, record=record, at=outcome.finished_at))
        finally:
            self.abandon()
        return record

    def abandon(self) -> None:
        """Let go of the record without closing the run: it is aborted from here on."""
        handle, self._handle = self._handle, None
        if handle is not None:
            os.close(handle)

    def _append(self, line: Line) -> None:
        where = f"run {self._header.run_id}"
        if self._handle is None:
            raise RecordError(f"{where} is closed: nothing can be added to its record")
        raw = encode(line)
        story = copy(self._story)
        story.take(line, where=where)
        with self._explained():
            try:
                write_all(self._handle, raw + b"\n")
            except OSError:
                # Half a line would spoil the next one; to take it away needs no room.
                os.ftruncate(self._handle, self._size_bytes)
                raise
        self._story, self._size_bytes = story, self._size_bytes + len(raw) + 1

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise RecordError(
                f"run {self._header.run_id}: its record {self._path} cannot be written: {error}. The lines before are "
                "there still; make room, or report into another folder (`--mixgpu-report`)"
            ) from error


def entry_for(header: Header, *, at: str, record: RunRecord | None = None) -> LedgerEntry:
    """Return the ledger's entry for a run: its registration, or with a record its close."""
    return LedgerEntry(
        at=at,
        event="register" if record is None else "close",
        run_id=header.run_id,
        session=header.session,
        suite=header.suite,
        role=header.role,
        name=header.name,
        leg=header.leg,
        repeat=header.repeat,
        seed=header.seed,
        rehearsal=header.rehearsal,
        plan_digest=header.digests.plan,
        lock_digest=header.digests.lock,
        record_digest="" if record is None else record.digest,
        status="" if record is None else record.status,
    )
