"""From a record, its folder and its ledger entries to what does not match. Judges nothing, imports no torch."""

from pathlib import Path

from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.digests import folder_digests
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RECORD_NAME, entry_for

_BOUND = (
    "run_id", "session", "suite", "role", "name", "leg", "repeat", "seed", "rehearsal", "plan_digest", "lock_digest",
)  # fmt: skip
"""Fields that stand in the ledger and in the record's header alike."""


def check_record(record: RunRecord, folder: Path, registered: LedgerEntry, closed: LedgerEntry | None) -> list[str]:
    """Return what does not match, one sentence each; empty if all does.

    Args:
        record: a record as it was read.
        folder: the run's folder.
        registered: the ledger's entry of its registration.
        closed: the ledger's entry of its close; None if it never closed.
    """
    run_id = registered.run_id
    faults = []
    expected = entry_for(record.header, at=record.header.registered_at)
    for entry in (registered, closed):
        for field in _BOUND if entry is not None else ():
            stated, sealed = getattr(expected, field), getattr(entry, field)
            if stated != sealed:
                faults.append(f"run {run_id}: the record says {field} {stated!r}, the ledger says {sealed!r}")
    if expected.at != registered.at:
        faults.append(
            f"run {run_id}: the record says it was registered at {expected.at!r}, the ledger {registered.at!r}"
        )
    if closed is None:
        return list(dict.fromkeys(faults))
    if record.digest != closed.record_digest:
        faults.append(
            f"run {run_id}: the record has the digest {record.digest[:12]}…, it was sealed with "
            f"{closed.record_digest[:12]}…: it was changed after it was closed"
        )
    if record.status != closed.status:
        faults.append(f"run {run_id}: the record says {record.status}, the ledger says {closed.status}")
    if record.outcome is not None:
        faults += _file_faults(run_id, record.outcome.files, folder_digests(folder, without=(RECORD_NAME,)))
    return list(dict.fromkeys(faults))


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
