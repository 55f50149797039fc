"""The rows that every writer of this room prints: text only, already formatted, with no number left to interpret."""

from typing import Literal

import msgspec

from pytest_mixgpu.marks.model import Word

Tone = Literal["good", "bad", "caution", "plain"]
"""`caution`: passed, but not as a plain pass; or something that wants to be read."""


class Occasion(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a report says of itself: which suite and session, when, and by which lock and ledger."""

    suite: str
    session: str = ""
    made_at: str = ""
    """UTC, ISO 8601."""
    mode: Literal["measured", "records"] = "measured"
    """Whether this session measured, or judged what was recorded before."""
    folder: str = ""
    """Where runs and ledger lie, as the reader will look for them."""
    command: tuple[str, ...] = ()
    again: str = ""
    """The command that takes the verdicts again from the records, one line to copy."""
    titles: dict[str, str] = {}
    """What a mark or claim asks, in words, by its id: the docstring of its test."""
    tests: dict[str, str] = {}
    """Which test judged it, by its id: marks and claims of one test are one item of the checklist."""
    order: tuple[str, ...] = ()
    """Ids in the order of the checklist; those left out follow as they came."""


class Pair(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A named fact."""

    name: str
    text: str


class Answer(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The answer to the question of a suite."""

    short: str
    """`Met`, `Not met`, `Rehearsed, not answered`."""
    sentence: str
    tone: Tone


class Table(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table of text: every row has as many cells as the head."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    caption: str = ""
    marked: tuple[tuple[int, int], ...] = ()
    """Row and column of each cell that differs from most of its row."""
    note: str = ""
    """What was put together or left out to keep it readable."""


class Figure(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A chart, with everything that a reader needs who cannot see it."""

    id: str
    """Anchor on the page."""
    title: str
    """States what is to be seen, with its unit."""
    alt: str
    """The same in a sentence or two, for who cannot see it."""
    table: Table
    """What is drawn, as text."""
    svg: str = ""
    """Drawn by a library that escapes every text; empty where that is not installed."""
    notes: tuple[str, ...] = ()
    """What was put together or left out to keep it readable."""


class Figures(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The charts of a report, by the section in which they stand; a section without data has none."""

    marks: tuple[Figure, ...] = ()
    """One a mark that has a value; the id is `mark-` with that of the mark."""
    time: tuple[Figure, ...] = ()
    quality: tuple[Figure, ...] = ()
    cost: tuple[Figure, ...] = ()
    runs: tuple[Figure, ...] = ()
    conditions: tuple[Figure, ...] = ()


class MarkRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One mark or claim with its verdict."""

    id: str
    is_claim: bool
    word: Word
    status: str
    """What pytest counts it as: `passed`, `rehearsed`, `failed`."""
    tone: Tone
    value: str = ""
    """With its unit; empty for a claim."""
    bound: str = ""
    """With comparator and unit: `>= 11.2 x`."""
    bound_origin: str = ""
    metric: str = ""
    n: int = 0
    spread: str = ""
    """Range of the runs' values; empty for one run, which has none."""
    interval: str = ""
    """With its method; empty where there is none."""
    resolvable: str = ""
    """The smallest difference that so many runs could have shown, with its unit; empty for one run."""
    qualifiers: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    reason: str
    details: tuple[str, ...] = ()
    follows_from: str = ""
    remedy: str = ""
    pool: str = ""
    run_ids: tuple[str, ...] = ()
    amendments: tuple[str, ...] = ()
    witness: tuple[str, ...] = ()
    """What git and heads kept outside show of when it was written, and what they cannot."""
    answer: str = ""
    """`Met`, `Not met`, `Met in rehearsal`."""
    frozen: str = ""
    """When it was frozen; empty where it was not."""
    margin: str = ""
    """How far the value lies from its bound, in a sentence; empty where there is no number."""
    refusal: str = ""
    """Why an official session would not accept it; empty where it would, or where it failed anyway."""
    places: tuple[str, ...] = ()
    """Sections of the page in which its evidence stands, by their anchors."""


class Item(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One item of the checklist: a test with everything that it judges."""

    number: int
    title: str
    status: str
    """What pytest counts the test as."""
    tone: Tone
    answer: str
    """The gravest of its marks' answers."""
    marks: tuple[MarkRow, ...]


class PhaseRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The phases of one participant in one round."""

    participant: str
    kind: str
    device: str
    cells: tuple[str, ...]
    """In the order of `PHASES`."""
    total: str
    overlap: str
    foreign: str
    """Share of its core that other processes took meanwhile."""
    wait_s: float = 0.0
    """To sort by; the only number here that is not text."""


class PhaseTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The phases of one run's median round."""

    run_id: str
    role: str
    name: str
    pool: str
    round_label: str
    """Which round this is, and of how many: `round 3 of 6`."""
    round_s: str
    rows: tuple[PhaseRow, ...]


class RunRow(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One registered run, whatever became of it."""

    run_id: str
    role: str
    name: str
    leg: str
    repeat: str
    seed: str
    pool: str
    status: str
    tone: Tone
    rehearsal: bool
    registered: str
    rounds: str
    """Measured rounds and warm-ups: `6 + 1`."""
    median_round: str
    range_round: str
    samples_rate: str
    test: str
    """Integer counts and share on the test set."""
    leased: str
    reason: str
    faults: tuple[str, ...] = ()
    log: str = ""
    digest: str
    """SHA-256 of its record, to compare with a copy."""
    is_evidence: bool
    """Whether a verdict names it."""
    superseded: str
    """Why it does not count: the field that differs."""


class Section(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A titled part of the page below the verdicts: facts, tables, sentences."""

    title: str
    lead: str = ""
    pairs: tuple[Pair, ...] = ()
    tables: tuple[Table, ...] = ()
    sentences: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        """Whether there is nothing to show under the title."""
        return not (self.pairs or self.tables or self.sentences)


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A whole report, ready to be printed in any format."""

    occasion: Occasion
    question: str
    headline: str
    """`8 passed, 2 rehearsed`."""
    tone: Tone
    answer: Answer
    facts: tuple[Pair, ...]
    """Pool, dates, runs: what a reader asks first."""
    again: str
    """The command that takes the verdicts again; empty where there are no runs to judge."""
    banner: tuple[str, ...]
    """Sentences that stand above everything else: rehearsal, tampering, what is preliminary."""
    items: tuple[Item, ...]
    has_runs: bool
    """Whether runs belong to this suite at all; one of stopwatches and bare numbers has none to list."""
    phases: tuple[PhaseTable, ...]
    runs: tuple[RunRow, ...]
    conditions: Section
    environment: Section
    placement: Section
    scores: Table
    """Of final weights on the test set."""
    cost: Section
    not_shown: Section
    seals: tuple[Pair, ...]
    """Lock digest, ledger head and count, freeze date: what to compare with a copy kept elsewhere."""

    @property
    def marks(self) -> tuple[MarkRow, ...]:
        """Every mark and claim, in the order of the checklist."""
        return tuple(row for item in self.items for row in item.marks)
