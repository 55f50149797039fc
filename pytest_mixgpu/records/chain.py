"""From the bytes of `ledger.jsonl` to its entries and to what is wrong with the chain. Opens no file, imports no torch.

Each line holds the hash of the raw bytes of the line before it, so that a line that was changed, cut or moved shows.
Lines are read one after the other, and what is kept of them does not grow with their number unless it is asked for.

What a chain cannot show by itself: that whole lines were taken from its end, or that somebody wrote all of it anew,
with runs left out or other digests in it. Such a ledger is whole in itself. Only a head that was kept where its author
could not change it tells the two apart, and only for the lines up to that head.
"""

import re
from collections.abc import Collection, Iterator
from hashlib import sha256
from typing import BinaryIO, Literal

import msgspec

from pytest_mixgpu.errors import LedgerError
from pytest_mixgpu.records.known_runs import KnownRuns

Event = Literal["open", "register", "close", "repair"]
FIRST_PREV = "0" * 64
"""What the first line holds in place of the hash of a line before it."""

MAX_LINE_BYTES = 65_536
"""No entry is longer: whoever reads a ledger needs to hold no more than this of it."""

MAX_FAULTS = 20
"""So many faults are told in words; of the others, how many there are."""


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

    entries: tuple[LedgerEntry, ...] = ()
    """As far as lines can be read at all; empty where only the chain was looked at."""
    head: str
    """SHA-256 of the last whole line; empty for no line."""
    count: int
    """Number of whole lines."""
    faults: tuple[str, ...]
    """What is wrong with the chain, one sentence a fault, in the order of the lines."""
    torn: bytes = b""
    """Bytes after the last end-of-line: what a killed writer left behind, unless a fault says otherwise."""
    first: str = ""
    """SHA-256 of the first line, by which copies of one ledger are told from others; empty for no line."""
    places: dict[str, int] = {}
    """At which line, counted from 1, each head stands that it ever had, or that was looked for; what is not here stands
    nowhere. A head at line n was the head of this ledger when it had n lines."""


def scan_chain(file: BinaryIO, *, name: str, keep_entries: bool = True, heads: Collection[str] = ()) -> LedgerReading:
    """Read a ledger from an open file, line by line, and name every fault of the chain.

    Args:
        file: at its beginning.
        name: how faults call it.
        keep_entries: whether to return the entries, and the places of all heads; without them memory does not grow with
            the ledger.
        heads: heads whose places are looked for otherwise.

    Raises:
        LedgerError: there is no room in the temporary folder for what has to be remembered of many runs.
    """
    entries: list[LedgerEntry] = []
    places: dict[str, int] = {}
    wanted = frozenset(heads)
    with KnownRuns() as known:
        chain = _Chain(name, known)
        torn: bytes = b""
        for line, digest in _lines(file):
            if not digest:
                torn = line
                chain.take_rest(line)
                break
            entry = chain.take(line, digest)
            if keep_entries and entry is not None:
                entries.append(entry)
            if keep_entries or digest in wanted:
                places[digest] = chain.count
        return LedgerReading(
            entries=tuple(entries),
            head=chain.head if chain.count else "",
            count=chain.count,
            faults=chain.faults(),
            torn=torn,
            first=chain.first,
            places=places,
        )


def is_torn_write(torn: bytes, *, count: int, head: str, known: KnownRuns) -> bool:
    """Say whether what stands after the last whole line is the beginning of an entry that belongs there.

    That is what a writer leaves that was killed in the middle. A close of a run that is closed, or of one that was
    never registered, belongs nowhere.

    Args:
        torn: what stands there.
        count: number of whole lines before it.
        head: SHA-256 of the last of them; empty for none.
        known: the runs that they speak of.
    """
    start = msgspec.json.encode({"n": count, "prev": head or FIRST_PREV, "at": ""})[:-2]
    if not (torn.startswith(start) or start.startswith(torn)) or len(torn) > MAX_LINE_BYTES:
        return False
    event = re.search(rb'"event":"(register|close)","run_id":"([^"]*)"', torn)
    if event is None:
        return True
    expected = None if event.group(1) == b"register" else False
    return known.is_closed(event.group(2).decode(errors="replace")) is expected


def read_line(line: bytes) -> LedgerEntry:
    """Read one line.

    Raises:
        LedgerError: it is no entry, or not written as this ledger writes.
    """
    if len(line) > MAX_LINE_BYTES:
        raise LedgerError(f"found a line of more than {MAX_LINE_BYTES} bytes, expected an entry")
    try:
        entry = _DECODER.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise LedgerError(f"not an entry of a ledger: {error}") from error
    if _ENCODER.encode(entry) != line:
        raise LedgerError("not written as this ledger writes (blanks, order or repetition of keys)")
    return entry


_DECODER = msgspec.json.Decoder(LedgerEntry)
_ENCODER = msgspec.json.Encoder()


def story_fault(entry: LedgerEntry, known: KnownRuns, *, is_first: bool) -> str:
    """Return why an entry cannot follow those before it: a run closed that never began, or twice; empty if it can."""
    if (entry.event == "open") != is_first:
        return f"found `{entry.event}`, expected `open` as the first line and nowhere else"
    if entry.event not in {"register", "close"}:
        return ""
    if not entry.run_id:
        return f"found a `{entry.event}` of no run, expected the run's id"
    is_closed = known.is_closed(entry.run_id)
    if entry.event == "register":
        return "" if is_closed is None else f"run {entry.run_id} is registered for the second time"
    if is_closed is False:
        return ""
    why = "for the second time" if is_closed else "but was never registered"
    return f"run {entry.run_id} is closed {why}"


class _Chain:
    """Takes lines one after the other and keeps what is wrong with them."""

    def __init__(self, name: str, known: KnownRuns) -> None:
        self.count = 0
        self.head = FIRST_PREV
        self.first = ""
        self._name = name
        self._known = known
        self._told: list[str] = []
        self._num_faults = 0
        self._is_linked = True

    def take(self, line: bytes, digest: str) -> LedgerEntry | None:
        """Take the next whole line; return its entry if it is one."""
        self.count += 1
        prev, self.head = self.head, digest
        self.first = self.first or digest
        try:
            entry = read_line(line)
        except LedgerError as error:
            self._break(str(error))
            return None
        if entry.n != self.count - 1:
            self._break(f"found entry number {entry.n}, expected {self.count - 1}")
        if entry.prev != prev:
            self._break(f"found {entry.prev[:12]}… as the hash of the line before, which has {prev[:12]}…")
        # After a break the lines tell no story: what is missing of it would be taken for what cannot have happened.
        if self._is_linked:
            story = story_fault(entry, self._known, is_first=self.count == 1)
            if story:
                self._say(f"line {self.count}: {story}")
            if entry.event in {"register", "close"}:
                self._known.note(entry.run_id, is_closed=entry.event == "close")
        return entry

    def take_rest(self, torn: bytes) -> None:
        """Take what stands after the last end-of-line."""
        head = self.head if self.count else ""
        if self._is_linked and not is_torn_write(torn, count=self.count, head=head, known=self._known):
            num = f"{len(torn)} bytes" if len(torn) <= MAX_LINE_BYTES else f"more than {MAX_LINE_BYTES} bytes"
            self._say(f"{num} after the last line of the ledger are no entry that belongs there")

    def faults(self) -> tuple[str, ...]:
        """Return what was wrong, the first ones in words."""
        num_more = self._num_faults - len(self._told)
        return (*self._told, *([f"{self._name}: and {num_more} more faults of its chain"] if num_more else []))

    def _break(self, why: str) -> None:
        self._is_linked = False
        self._say(f"line {self.count}: {why}")

    def _say(self, what: str) -> None:
        self._num_faults += 1
        if len(self._told) < MAX_FAULTS:
            self._told.append(f"{self._name}, {what}")


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, str]]:
    """Give each whole line with its hash, then what is left without an end-of-line, with none.

    Of a line that is longer than any entry only the beginning is given.
    """
    while piece := file.readline(MAX_LINE_BYTES + 2):
        if piece.endswith(b"\n"):
            line = piece[:-1]
            yield line, sha256(line).hexdigest()
        elif len(piece) < MAX_LINE_BYTES + 2:
            yield piece, ""
        else:
            yield piece, _hash_to_end_of_line(file, piece)


def _hash_to_end_of_line(file: BinaryIO, start: bytes) -> str:
    """Return the hash of a line of which the start was read; empty where it has no end."""
    whole = sha256(start)
    while piece := file.readline(MAX_LINE_BYTES):
        if piece.endswith(b"\n"):
            whole.update(piece[:-1])
            return whole.hexdigest()
        whole.update(piece)
    return ""
