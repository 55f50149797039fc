"""Whole chains, written and read at once: from entries to the bytes of a ledger and back; and a statement about one."""

from collections.abc import Iterable
from hashlib import sha256
from io import BytesIO

import msgspec
from msgspec.structs import replace

from pytest_mixgpu.records.anchors.statement import Statement
from pytest_mixgpu.records.chain import FIRST_PREV, LedgerEntry, LedgerReading, scan_chain

AT = "2026-11-29T12:00:00.000+00:00"
STATEMENT = Statement(
    suite="e1",
    event="register",
    run_id="run-1",
    ledger="1e" * 32,
    head="4e" * 32,
    count=2,
    num_runs=1,
    lock="10" * 32,
    at=AT,
)


def made_good(entries: Iterable[LedgerEntry]) -> bytes:
    """Write entries with the places and hashes that make a chain of them."""
    prev, lines = FIRST_PREV, []
    for n, entry in enumerate(entries):
        lines.append(msgspec.json.encode(replace(entry, n=n, prev=prev)))
        prev = sha256(lines[-1]).hexdigest()
    return b"".join(line + b"\n" for line in lines)


def read_chain(raw: bytes) -> LedgerReading:
    """Read the bytes of a ledger."""
    return scan_chain(BytesIO(raw), name="ledger")


def many_runs(num_runs: int) -> list[LedgerEntry]:
    """Return a ledger of runs that were registered and closed one after the other, their ids in no order."""
    ids = [f"run-{index * 7919 % num_runs}" for index in range(num_runs)]
    entries = [LedgerEntry(at=AT, event="open")]
    for run_id in ids:
        entries.append(LedgerEntry(at=AT, event="register", run_id=run_id))
        entries.append(LedgerEntry(at=AT, event="close", run_id=run_id))
    return entries
