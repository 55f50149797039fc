"""The run store: from lines, written as they happen, to records read whole. Imports no torch.

A run is registered in the ledger before anything of it starts, and closed there with its record's digest. A run that
was never closed is aborted, whatever its record says, and counts.
"""

import errno
import fcntl
import os
from contextlib import ExitStack
from pathlib import Path

import msgspec

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.assemble import assemble
from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.files import opened
from pytest_mixgpu.records.ledger import Ledger
from pytest_mixgpu.records.model import Header, RunRecord
from pytest_mixgpu.records.writer import RECORD_NAME, RunWriter, entry_for

__all__ = ["RECORD_NAME", "RunStore", "RunWriter", "StoredRun", "entry_for"]


class StoredRun(msgspec.Struct, frozen=True, kw_only=True):
    """One registered run and what there is of it."""

    registered: LedgerEntry
    closed: LedgerEntry | None
    record: RunRecord | None
    """None where it cannot be read; without an outcome where the ledger has no close for it."""
    folder: Path
    is_running: bool = False
    """Whether a living process is writing it at this moment."""
    faults: tuple[str, ...] = ()
    """Why it cannot be read, or what was dropped in reading it."""

    @property
    def id(self) -> str:
        """The run's id."""
        return self.registered.run_id


class RunStore:
    """The runs of one report folder, with their ledger.

    Args:
        folder: the report folder; made when the first run is registered.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = Ledger(folder / "ledger.jsonl")

    def register(self, header: Header) -> RunWriter:
        """Register a run in the ledger and open its record. Nothing of the run may have started before.

        Raises:
            RecordError: the header cannot be read back, its id is not a plain name, or its folder is there already.
            LedgerError: the ledger's chain is broken, or the run's id is taken.
        """
        folder = self._run_folder(header.run_id)
        encode(header)
        try:
            folder.mkdir(parents=True)
        except FileExistsError as error:
            raise RecordError(f"{folder} is there already, expected a run id that is new") from error
        except OSError as error:
            raise RecordError(
                f"{folder} cannot be made: {error}; report into another folder (`--mixgpu-report`)"
            ) from error
        with ExitStack() as undo:
            undo.callback(folder.rmdir)
            undo.callback((folder / RECORD_NAME).unlink, missing_ok=True)
            # The record comes first and is locked, so that whoever finds the entry finds a run that is being written.
            writer = RunWriter(folder, header, self.ledger)
            undo.callback(writer.abandon)
            self.ledger.append(entry_for(header, at=header.registered_at))
            undo.pop_all()
        return writer

    def read(self, run_id: str) -> RunRecord:
        """Read one registered run.

        Raises:
            RecordError: it is not registered here, or its record cannot be read.
        """
        stored = next((run for run in self.survey() if run.id == run_id), None)
        if stored is None:
            raise RecordError(f"run {run_id} is not registered in {self.ledger.path}")
        if stored.record is None:
            raise RecordError(f"run {run_id} cannot be read: {'; '.join(stored.faults)}")
        return stored.record

    def records(self, suite: str | None = None) -> tuple[RunRecord, ...]:
        """Return the records of all registered runs that have ended, in the order of registration, aborted ones too.

        What cannot be read, and what a living process is still writing, is left out: `survey` has those.

        Args:
            suite: only the runs of this plan.
        """
        return tuple(run.record for run in self.survey(suite) if run.record is not None and not run.is_running)

    def survey(self, suite: str | None = None) -> tuple[StoredRun, ...]:
        """Return every registered run, in the order of registration, readable or not.

        Args:
            suite: only the runs of this plan.
        """
        reading = self.ledger.read()
        while True:
            runs = self._surveyed(reading.entries, suite)
            if all(run.closed or run.is_running for run in runs):
                return runs
            # A run is let go only after its close is in the ledger: one that seemed open may have closed meanwhile.
            again = self.ledger.read()
            if again.count == reading.count:
                return runs
            reading = again

    def strays(self) -> tuple[str, ...]:
        """Return the names of run folders that the ledger does not know and that hold more than a header.

        A header alone is what a session leaves that was killed while it registered: nothing of that run ever started.
        """
        runs = self.folder / "runs"
        known = {entry.run_id for entry in self.ledger.read().entries if entry.event == "register"}
        unknown = (path for path in runs.iterdir() if path.name not in known) if runs.is_dir() else ()
        return tuple(sorted(path.name for path in unknown if not _is_header_alone(path)))

    def _surveyed(self, entries: tuple[LedgerEntry, ...], suite: str | None) -> tuple[StoredRun, ...]:
        closed = {entry.run_id: entry for entry in reversed(entries) if entry.event == "close"}
        return tuple(
            self._stored(entry, closed.get(entry.run_id))
            for entry in entries
            if entry.event == "register" and suite in {None, entry.suite}
        )

    def _run_folder(self, run_id: str) -> Path:
        if not run_id or run_id != Path(run_id).name or run_id.startswith("."):
            raise RecordError(f"found the run id {run_id!r}, expected a plain name: it becomes a folder")
        return self.folder / "runs" / run_id

    def _stored(self, registered: LedgerEntry, closed: LedgerEntry | None) -> StoredRun:
        folder, record, is_running = self.folder / "runs", None, False
        faults: list[str] = []
        try:
            folder = self._run_folder(registered.run_id)
            path = folder / RECORD_NAME
            is_running = closed is None and _is_locked(path)
            record = _read(path, dropped=faults)
        except (RecordError, OSError) as error:
            faults.append(str(error))
        else:
            if closed is None:
                record = msgspec.structs.replace(record, outcome=None)
        return StoredRun(
            registered=registered,
            closed=closed,
            record=record,
            folder=folder,
            is_running=is_running,
            faults=tuple(faults),
        )


def _read(path: Path, *, dropped: list[str]) -> RunRecord:
    with opened(path) as file:
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return assemble(file, path=path, dropped=dropped)


def _content(path: Path) -> bytes:
    with opened(path) as file:
        if file is None:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path))
        return file.read()


def _is_locked(path: Path) -> bool:
    """Return whether a living process holds the record for writing; False where locks are not known."""
    with opened(path) as file:
        if file is None:
            return False
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        except OSError:
            return False
        return False


def _is_header_alone(folder: Path) -> bool:
    try:
        if [path.name for path in folder.iterdir()] not in ([], [RECORD_NAME]):
            return False
        record = folder / RECORD_NAME
        return not record.is_symlink() and (not record.exists() or _content(record).count(b"\n") <= 1)
    except OSError:
        # Something else than a folder with a file in it was never left by a session.
        return False
