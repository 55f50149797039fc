"""What report folders hold: from ledgers and records to values for the judge. Imports no pytest, judges nothing."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.evidence import LedgerState, LostRun
from pytest_mixgpu.marks.git import GitWitness, witness
from pytest_mixgpu.marks.lock_file import Lock, digests_since
from pytest_mixgpu.records.chain import LedgerReading
from pytest_mixgpu.records.integrity import check_record
from pytest_mixgpu.records.ledger import LedgerEntry
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RunStore, StoredRun

MAX_REPAIRS_TOLD = 3


class StoredRuns(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that one or more report folders hold of a suite."""

    registered: tuple[LedgerEntry, ...]
    records: tuple[RunRecord, ...]
    lost: tuple[LostRun, ...]
    seals: dict[str, tuple[str, ...]]
    ledger: LedgerState
    homes: dict[str, Path]
    """The report folder of each run, by its id."""
    chains: dict[Path, LedgerReading]
    """The ledger of each report folder as it was read, without its entries."""


def read_runs(folders: Sequence[Path], suite: str, *, lock: Lock | None = None) -> StoredRuns:
    """Read all registered runs of a suite, whatever became of them.

    Args:
        folders: report folders.
        suite: whose runs are read.
        lock: the suite's lock as it is now: a ledger that was opened under another one says so.

    Raises:
        RecordError: two folders hold one run: the same folder twice, or a copy of it.
    """
    registered: list[LedgerEntry] = []
    records: list[RunRecord] = []
    lost: list[LostRun] = []
    seals: dict[str, tuple[str, ...]] = {}
    surveyed = [(folder, run) for folder in folders for run in _once(RunStore(folder).survey(suite))]
    found = [run for _, run in surveyed]
    _refuse_twins(found)
    readings = {folder: RunStore(folder).ledger.read() for folder in folders}
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
        ledger=_ledger_state(readings, found, suite, lock),
        homes={run.id: folder for folder, run in surveyed},
        chains={folder: msgspec.structs.replace(reading, entries=()) for folder, reading in readings.items()},
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


def _once(runs: Sequence[StoredRun]) -> tuple[StoredRun, ...]:
    """Each run once: a ledger that registers one twice is broken, and says so itself."""
    return tuple({run.id: run for run in reversed(runs)}.values())[::-1]


def _refuse_twins(runs: Sequence[StoredRun]) -> None:
    seen: dict[str, Path] = {}
    for run in runs:
        if run.id in seen:
            raise RecordError(
                f"run {run.id} stands in {seen[run.id]} and again in {run.folder}: a report folder, or a copy of it, "
                "was given twice; give each once (--mixgpu-records). Where runs were added to both copies, neither "
                "holds them all, and only the one that went on as the original can be judged"
            )
        seen[run.id] = run.folder


def _ledger_state(
    readings: Mapping[Path, LedgerReading], runs: Sequence[StoredRun], suite: str, lock: Lock | None
) -> LedgerState:
    """One folder's head and count; of several, the heads joined and the counts added up."""
    strays = [
        f"{folder}: the run folder {name} is not in the ledger"
        for folder in readings
        for name in RunStore(folder).strays()
    ]
    return LedgerState(
        head="+".join(reading.head for reading in readings.values()),
        count=sum(reading.count for reading in readings.values()),
        faults=(*(fault for reading in readings.values() for fault in reading.faults), *strays),
        notes=(
            *(
                note
                for folder, reading in readings.items()
                for note in (*_torn_notes(folder, reading), *_opening_notes(folder, reading, suite, lock))
            ),
            *_copy_notes(readings),
        ),
        entries=tuple(entry for run in runs for entry in (run.registered, run.closed) if entry is not None),
        running=tuple(run.id for run in runs if run.is_running),
    )


def _torn_notes(folder: Path, reading: LedgerReading) -> Iterator[str]:
    """Say where a writer was killed in the middle of a line: at the end now, and wherever that was repaired."""
    repairs = [entry for entry in reading.entries if entry.note and entry.event in {"open", "repair"}]
    for entry in repairs[:MAX_REPAIRS_TOLD]:
        yield f"{folder}: line {entry.n + 1} of the ledger says that it {entry.note}"
    if len(repairs) > MAX_REPAIRS_TOLD:
        yield f"{folder}: {len(repairs) - MAX_REPAIRS_TOLD} more lines of the ledger say the like"
    if reading.torn and not reading.faults:
        yield (
            f"{folder}: the ledger ends with {len(reading.torn)} bytes of an entry that was never whole, as a killed "
            "writer leaves it; what it was to say does not count"
        )


def _opening_notes(folder: Path, reading: LedgerReading, suite: str, lock: Lock | None) -> Iterator[str]:
    """Say under which lock the ledger was opened, if that is none that the suite's lock ever was."""
    opening = reading.entries[0] if reading.entries else None
    if lock is None or opening is None or opening.event != "open" or opening.suite != suite:
        return
    if opening.lock_digest not in digests_since(lock, 0):
        under = f"the lock {opening.lock_digest[:12]}…" if opening.lock_digest else "no lock"
        yield f"{folder}: the ledger was opened under {under}, which the chain of the present lock does not know"


def _copy_notes(readings: Mapping[Path, LedgerReading]) -> Iterator[str]:
    """Say which ledgers began as one: in which of them later runs belong nobody can tell."""
    begun: dict[str, Path] = {}
    for folder, reading in readings.items():
        if reading.first and reading.first in begun:
            yield f"{begun[reading.first]} and {folder} hold copies of one ledger that went on apart from each other"
        begun.setdefault(reading.first, folder)
