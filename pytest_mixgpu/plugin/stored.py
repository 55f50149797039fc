"""What report folders hold: from ledgers and records to values for the judge. Imports no pytest, judges nothing."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.evidence import LedgerState, LostRun
from pytest_mixgpu.marks.git import GitWitness, witness
from pytest_mixgpu.records.integrity import check_record
from pytest_mixgpu.records.ledger import LedgerEntry
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RunStore, StoredRun


class StoredRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one or more report folders hold of a suite."""

    registered: tuple[LedgerEntry, ...]
    records: tuple[RunRecord, ...]
    lost: tuple[LostRun, ...]
    seals: dict[str, tuple[str, ...]]
    ledger: LedgerState


def read_runs(folders: Sequence[Path], suite: str) -> StoredRuns:
    """Read all registered runs of a suite, whatever became of them.

    Raises:
        RecordError: two folders hold one run: the same folder twice, or a copy of it.
    """
    registered: list[LedgerEntry] = []
    records: list[RunRecord] = []
    lost: list[LostRun] = []
    seals: dict[str, tuple[str, ...]] = {}
    found = [run for folder in folders for run in RunStore(folder).survey(suite)]
    _refuse_twins(found)
    for run in found:
        registered.append(run.registered)
        # One that is still being written counts as it stands: it was registered, and it has no outcome yet.
        if run.record is None:
            lost.append(_lost(run))
            continue
        records.append(run.record)
        faults = check_record(run.record, run.folder, run.registered, run.closed)
        if faults:
            seals[run.id] = tuple(faults)
    return StoredRuns(
        registered=tuple(registered),
        records=tuple(records),
        lost=tuple(lost),
        seals=seals,
        ledger=_ledger_state(folders, found),
    )


def witness_of(lock_path: Path, runs: Sequence[LedgerEntry]) -> GitWitness:
    """What git says of the lock, and whether it came before the first of these runs."""
    return witness(lock_path, min((run.at for run in runs), default=None))


def _lost(run: StoredRun) -> LostRun:
    entry = run.registered
    return LostRun(
        run_id=run.id,
        role=entry.role,
        name=entry.name,
        repeat=entry.repeat or 0,
        session=entry.session,
        rehearsal=bool(entry.rehearsal),
        was_closed=run.closed is not None,
        faults=run.faults,
    )


def _refuse_twins(runs: Sequence[StoredRun]) -> None:
    seen: dict[str, Path] = {}
    for run in runs:
        if run.id in seen:
            raise RecordError(
                f"run {run.id} stands in {seen[run.id]} and again in {run.folder}: a report folder, or a copy of it, "
                "was given twice; give each once (--mixgpu-records)"
            )
        seen[run.id] = run.folder


def _ledger_state(folders: Sequence[Path], runs: Sequence[StoredRun]) -> LedgerState:
    """One folder's head and count; of several, the heads joined and the counts added up."""
    readings = [RunStore(folder).ledger.read() for folder in folders]
    torn = [(folder, reading) for folder, reading in zip(folders, readings, strict=True) if reading.torn]
    strays = [
        f"{folder}: the run folder {name} is not in the ledger"
        for folder in folders
        for name in RunStore(folder).strays()
    ]
    return LedgerState(
        head="+".join(reading.head for reading in readings),
        count=sum(reading.count for reading in readings),
        faults=(
            *(fault for reading in readings for fault in reading.faults),
            *strays,
        ),
        notes=tuple(
            f"{folder}: the ledger ends with {len(reading.torn)} bytes of an entry that was never whole, as a killed "
            "writer leaves it; what it was to say does not count"
            for folder, reading in torn
            if not reading.faults
        ),
        entries=tuple(entry for run in runs for entry in (run.registered, run.closed) if entry is not None),
        running=tuple(run.id for run in runs if run.is_running),
    )
