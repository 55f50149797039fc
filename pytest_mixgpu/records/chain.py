"""From the bytes of `ledger.jsonl` to its entries and to what is wrong with the chain. Reads no file, imports no torch.

Each line holds the hash of the raw bytes of the line before it, so that a line that was changed, cut or moved shows.
"""

import re
from hashlib import sha256
from typing import Literal

import msgspec

from pytest_mixgpu.errors import LedgerError

Event = Literal["open", "register", "close", "repair"]
FIRST_PREV = "0" * 64
"""What the first line holds in place of the hash of a line before it."""


class LedgerEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """One line of the ledger. What does not apply to an event is empty, and is left out of the line."""

    n: int = -1
    """Place in the ledger, from 0; set when it is appended."""
    prev: str = ""
    """SHA-256 of the raw bytes of the line before; set when it is appended."""
    at: str
    """UTC, ISO 8601, as the host's clock said."""
    event: Event
    """`open` is the first line of a ledger and binds it to a lock; `repair` says that a torn line was cut off."""
    run_id: str = ""
    session: str = ""
    suite: str = ""
    role: str = ""
    name: str = ""
    leg: str = ""
    repeat: int | None = None
    seed: int | None = None
    rehearsal: bool | None = None
    plan_digest: str = ""
    lock_digest: str = ""
    record_digest: str = ""
    """SHA-256 of the closed record's bytes; `close` only."""
    status: str = ""
    """How the run ended; `close` only."""
    note: str = ""
    """In a `repair`: how many bytes were cut off, and their SHA-256."""


class LedgerReading(msgspec.Struct, frozen=True, kw_only=True):
    """A ledger as it lies there."""

    entries: tuple[LedgerEntry, ...]
    """As far as lines can be read at all."""
    head: str
    """SHA-256 of the last whole line; empty for no line."""
    count: int
    """Number of whole lines."""
    faults: tuple[str, ...]
    """What is wrong with the chain, one sentence a fault."""
    torn: bytes = b""
    """Bytes after the last end-of-line: what a killed writer left behind."""


def read_chain(raw: bytes, *, name: str) -> LedgerReading:
    """Read a ledger's bytes and name every fault of the chain.

    Args:
        raw: the bytes.
        name: how faults call the file.
    """
    *lines, torn = raw.split(b"\n")
    entries: list[LedgerEntry] = []
    faults: list[str] = []
    prev = FIRST_PREV
    for number, line in enumerate(lines, start=1):
        try:
            entry = read_line(line)
        except LedgerError as error:
            faults.append(f"{name}, line {number}: {error}")
        else:
            entries.append(entry)
            if entry.n != number - 1:
                faults.append(f"{name}, line {number}: found entry number {entry.n}, expected {number - 1}")
            if entry.prev != prev:
                claimed = f"{entry.prev[:12]}… as the hash of the line before"
                faults.append(f"{name}, line {number}: found {claimed}, which has {prev[:12]}…")
        prev = sha256(line).hexdigest()
    if not faults:
        faults += story_faults(entries, name=name)
    return LedgerReading(
        entries=tuple(entries), head=prev if lines else "", count=len(lines), faults=tuple(faults), torn=torn
    )


def is_torn_write(reading: LedgerReading) -> bool:
    """Say whether what stands after the last whole line is the beginning of an entry that belongs there.

    That is what a writer leaves that was killed in the middle. A close of a run that is closed, or of one that was
    never registered, belongs nowhere.
    """
    start = msgspec.json.encode({"n": reading.count, "prev": reading.head or FIRST_PREV, "at": ""})[:-2]
    if not (reading.torn.startswith(start) or start.startswith(reading.torn)):
        return False
    event = re.search(rb'"event":"(register|close)","run_id":"([^"]*)"', reading.torn)
    if event is None:
        return True
    story = {(entry.event, entry.run_id) for entry in reading.entries}
    name, run_id = event.group(1), event.group(2).decode(errors="replace")
    if ("close", run_id) in story:
        return False
    return (("register", run_id) in story) is (name == b"close")


def read_line(line: bytes) -> LedgerEntry:
    """Read one line.

    Raises:
        LedgerError: it is no entry, or not written as this ledger writes.
    """
    try:
        entry = msgspec.json.decode(line, type=LedgerEntry)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise LedgerError(f"not an entry of a ledger: {error}") from error
    if msgspec.json.encode(entry) != line:
        raise LedgerError("not written as this ledger writes (blanks, order or repetition of keys)")
    return entry


def story_faults(entries: list[LedgerEntry], *, name: str) -> list[str]:
    """Return what cannot have happened: a run closed that never began, or twice, or an entry before the opening."""
    faults: list[str] = []
    open_runs: set[str] = set()
    seen: set[str] = set()
    for number, entry in enumerate(entries, start=1):
        where = f"{name}, line {number}"
        if (entry.event == "open") != (number == 1):
            faults.append(f"{where}: found `{entry.event}`, expected `open` as the first line and nowhere else")
        if entry.event == "register":
            if entry.run_id in seen:
                faults.append(f"{where}: run {entry.run_id} is registered for the second time")
            seen.add(entry.run_id)
            open_runs.add(entry.run_id)
        if entry.event == "close":
            if entry.run_id not in open_runs:
                why = "for the second time" if entry.run_id in seen else "but was never registered"
                faults.append(f"{where}: run {entry.run_id} is closed {why}")
            open_runs.discard(entry.run_id)
    return faults
