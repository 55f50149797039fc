"""From a record, its folder and its ledger entry to what does not match. Judges nothing, imports no torch."""

from pathlib import Path

from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.digests import folder_digests
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RECORD_NAME, entry_for

_BOUND = (
    "run_id", "session", "suite", "role", "name", "leg", "repeat", "seed", "rehearsal", "plan_digest", "lock_digest",
)  # fmt: skip
"""Fields that stand in the ledger and in the record's header alike."""


def check_record(record: RunRecord, folder: Path, entry: LedgerEntry) -> list[str]:
    """Return what does not match, one sentence each; empty if all does.

    Args:
        record: a record as it was read.
        folder: the run's folder.
        entry: the ledger's entry for it: its close, or its registration if it never closed.
    """
    faults = []
    expected = entry_for(record.header, at=entry.at)
    for field in _BOUND:
        stated, sealed = getattr(expected, field), getattr(entry, field)
        if stated != sealed:
            faults.append(f"run {entry.run_id}: the record says {field} {stated!r}, the ledger says {sealed!r}")
    if entry.event != "close":
        return faults
    if record.digest != entry.record_digest:
        faults.append(
            f"run {entry.run_id}: the record has the digest {record.digest[:12]}…, it was sealed with "
            f"{entry.record_digest[:12]}…: it was changed after it was closed"
        )
    if record.status != entry.status:
        faults.append(f"run {entry.run_id}: the record says {record.status}, the ledger says {entry.status}")
    if record.outcome is not None:
        faults += _file_faults(record.id, record.outcome.files, folder_digests(folder, without=(RECORD_NAME,)))
    return faults


def _file_faults(run_id: str, sealed: dict[str, str], found: dict[str, str]) -> list[str]:
    faults = [f"run {run_id}: the file {name} is gone" for name in sorted(sealed.keys() - found.keys())]
    faults += [
        f"run {run_id}: the file {name} was added after it closed" for name in sorted(found.keys() - sealed.keys())
    ]
    faults += [
        f"run {run_id}: the file {name} was changed after it was sealed"
        for name in sorted(sealed.keys() & found.keys())
        if sealed[name] != found[name]
    ]
    return faults
