"""From a report to the lines of pytest's terminal summary. Knows no terminal: each line comes with a tone.

Our own words are ASCII here, since a CI log may be.
"""

import textwrap
from collections.abc import Iterable, Iterator, Sequence

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.model import MarkRow, PhaseTable, Report, Tone
from pytest_mixgpu.report.sanitise import clean, clean_for_log
from pytest_mixgpu.report.sentences import claims_sentence, found_and_asked, in_sentences, qualified, sentence
from pytest_mixgpu.report.verdict_rows import KEPT_ELSEWHERE, mark_row
from pytest_mixgpu.timing.model import PHASES

_MAX_PARTICIPANTS = 4
"""Above this, the table shows those that waited least and most; the page has all."""

_FIRST_LINE = 400
"""Characters of a failure's first line: pytest gives 500 to the message of a failure in JUnit XML."""


class Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One line to print."""

    text: str
    tone: Tone = "plain"

    @property
    def markup(self) -> dict[str, bool]:
        """The keywords that pytest's terminal reporter takes."""
        colour = {"good": {"green": True}, "bad": {"red": True, "bold": True}, "caution": {"yellow": True}, "plain": {}}
        return colour[self.tone]


def summary_lines(
    report: Report, *, width: int = 80, page: str = "", again: str = "", verbosity: int = 0
) -> list[Line]:
    """Write the summary of one suite: what was found, then in plain words what was met, and what to do next.

    Args:
        report: of the suite.
        width: of the terminal, in characters.
        page: where the page is.
        again: the command that takes the verdicts again from their records; empty where there are none.
        verbosity: of pytest. From 1 on, what witnesses the marks is shown here too; below 0, no table and no phases;
            below -1, of what plainly passed only how much it is. A verdict that is no plain pass is always told, with
            its qualifiers and notes.
    """
    lines = [Line(text=f"{report.occasion.suite}: {report.headline}", tone=report.tone)]
    for text in report.banner:
        lines += [Line(text=part, tone="caution") for part in _wrap(text, width)]
    if verbosity >= 0:
        lines += _found_lines(report, width, with_witness=verbosity > 0)
    lines += _change_lines(report.marks, width)
    if verbosity >= -1:
        lines += _seal_lines(report, width)
    lines += _closing_lines(report, width, verbosity)
    if page:
        lines += [Line(text=text) for text in _pack(("page:", page), width, "  ", gap=" ")]
    if again:
        # Never wrapped: it is there to be copied.
        lines += [Line(text="to take the verdict again:"), Line(text=f"  {again}")]
    return [Line(text=clean_for_log(line.text), tone=line.tone) for line in lines]


def verdict_text(verdict: Verdict) -> str:
    """Write one verdict in full, as the text with which it fails its test: lines of neutralised text.

    The first line says what was found and what was asked: readers of JUnit XML show it as the failure's message.
    """
    row = mark_row(verdict)
    first = f"{qualified(row.word, row)} {row.id}: {found_and_asked(row) or row.reason}"
    lines = [clean(first, limit=_FIRST_LINE)]
    if not row.is_claim:
        lines += [", ".join(_sureness(row)), row.reason]
    if row.bound_origin:
        lines.append(f"bound: {row.bound}, {row.bound_origin}")
    lines += [f"- {text}" for text in row.details]
    if row.follows_from:
        lines.append(f"follows from: {row.follows_from}")
    if row.run_ids:
        lines.append(f"runs: {', '.join(row.run_ids)}")
    if row.remedy:
        lines.append(f"to do: {row.remedy}")
    return "\n".join(clean_for_log(line) for line in lines if line)


def _found_lines(report: Report, width: int, *, with_witness: bool) -> Iterator[Line]:
    label_width = max((len(qualified(row.word, row)) for row in report.marks), default=0)
    for row in report.marks:
        yield from _mark_lines(row, label_width, width)
    if with_witness:
        yield from _witness_lines(report.marks, width)
    if report.phases:
        yield from _phase_lines(report.phases[0], width)


def _seal_lines(report: Report, width: int) -> Iterator[Line]:
    for seal in report.seals:
        if seal.name in KEPT_ELSEWHERE and seal.text not in {units.NOT_STATED, "0"}:
            yield from (Line(text=text) for text in _wrap(f"{seal.name.lower()}: {seal.text}", width, indent="  "))


def _closing_lines(report: Report, width: int, verbosity: int) -> Iterator[Line]:
    """Say what was met and what was not, what was not met first: whoever reads the end alone has read the verdict."""
    alone, together = in_sentences(report.items)
    plain = [row for row, _ in alone if row.tone == "good" and not row.notes]
    for row, title in alone:
        if verbosity < -1 and row in plain:
            continue
        yield from _told(sentence(row, title), width, row.tone)
        if row.word != "PASS":
            yield from _told(f"follows from {row.follows_from}" if row.follows_from else "", width, first="    ")
            yield from _told(f"to do: {row.remedy}" if row.remedy else "", width, first="    ")
    if verbosity < -1 and plain:
        yield from _told(f"MET: {len(plain)} more", width, "good")
    if together:
        yield from _told(claims_sentence(together, with_ids=verbosity == -1), width, "good")


def _told(text: str, width: int, tone: Tone = "plain", *, first: str = "") -> Iterator[Line]:
    if text:
        yield from (Line(text=line, tone=tone) for line in _wrap(text, width, indent="    ", first=first))


_ALWAYS_SAID = ("code-changed: ", "instruments: ")
"""What begins so stands in the terminal whatever the word is."""


def wrapped(text: str, width: int) -> list[str]:
    """Break one sentence into lines of neutralised text for a terminal of that width."""
    return [clean_for_log(line) for line in _wrap(text, width, indent="    ")]


def _mark_lines(row: MarkRow, label_width: int, width: int) -> Iterator[Line]:
    head = f"{qualified(row.word, row):<{label_width}}  {row.id}"
    facts = [head, *_facts(row)]
    yield from (Line(text=text, tone=row.tone) for text in _pack(facts, width, " " * (label_width + 2)))


def _change_lines(rows: Sequence[MarkRow], width: int) -> Iterator[Line]:
    """Name once what changed behind several marks and what instruments cost, also behind one that passed."""
    said = dict.fromkeys(text for row in rows for text in row.details if text.startswith(_ALWAYS_SAID))
    for change in said:
        yield from (Line(text=text) for text in _wrap(change, width, indent="    ", first="  "))


def _witness_lines(rows: Sequence[MarkRow], width: int) -> Iterator[Line]:
    """Write once what is said of several marks."""
    for witness in dict.fromkeys(row.witness for row in rows if row.witness):
        ids = ", ".join(row.id for row in rows if row.witness == witness)
        yield from (Line(text=text) for text in _wrap(f"witness of {ids}:", width, indent="    ", first="  "))
        for seen in witness:
            yield from (Line(text=text) for text in _wrap(f"- {seen}", width, indent="      ", first="    "))


def _facts(row: MarkRow) -> Iterator[str]:
    if not row.is_claim:
        # A failed measurement can have no bound that applies; what was measured is still said.
        bound = f"(bound {row.bound})" if row.bound and not row.n else row.bound
        yield " ".join(part for part in (row.value, bound) if part)
    yield from _sureness(row)


def _sureness(row: MarkRow) -> Iterator[str]:
    """Say how many runs stand behind a number, how far apart they were, and what is noted of it."""
    if not row.is_claim:
        if row.n:
            yield f"n={row.n}" + (" (one run)" if row.n == 1 else "")
        if row.spread:
            yield f"spread {row.spread}"
        if row.interval:
            yield f"95 % {row.interval}"
        elif row.n:
            yield "no interval"
        if row.resolvable:
            yield f"could show {row.resolvable}"
    if row.notes:
        yield ", ".join(row.notes)


def _phase_lines(table: PhaseTable, width: int) -> Iterator[Line]:
    title = f"phases of the median round ({table.round_label}, {table.round_s}) of {table.name} on {table.pool}"
    yield from (Line(text=text) for text in _wrap(title, width, indent="  "))
    rows = table.rows
    left_out = 0
    if len(rows) > _MAX_PARTICIPANTS:
        half = _MAX_PARTICIPANTS // 2
        left_out = len(rows) - 2 * half
        rows = (*rows[:half], *rows[-half:])
    cells = [("", *PHASES), *((f"{row.participant} {row.kind}", *row.cells) for row in rows)]
    yield from (Line(text=text) for text in _aligned(cells, width))
    if left_out:
        yield Line(text=f"  and {left_out} more participants, on the page")


def _aligned(cells: Sequence[Sequence[str]], width: int) -> Iterator[str]:
    """Put cells below each other; where the terminal is too narrow for that, name each cell and wrap the row."""
    widths = [max(len(line[column]) for line in cells) for column in range(len(cells[0]))]
    if 2 + sum(widths) + len(widths) - 1 > width:
        for first, *rest in cells[1:]:
            named = (f"{name} {cell}" for name, cell in zip(cells[0][1:], rest, strict=True))
            yield from _pack((f"  {first}:", *named), width, "    ")
        return
    for first, *rest in cells:
        padded = (f"{cell:>{wide}}" for cell, wide in zip(rest, widths[1:], strict=True))
        yield "  " + " ".join((f"{first:<{widths[0]}}", *padded)).rstrip()


def _wrap(text: str, width: int, *, indent: str = "", first: str = "") -> list[str]:
    return textwrap.wrap(
        text, width, initial_indent=first, subsequent_indent=indent, break_on_hyphens=False, break_long_words=False
    ) or [""]


def _pack(parts: Iterable[str], width: int, indent: str, *, gap: str = "  ") -> list[str]:
    """Put whole facts on a line as long as they fit, the next ones on an indented line; a fact too long is wrapped."""
    lines: list[str] = []
    for part in parts:
        if lines and len(lines[-1]) + len(gap) + len(part) <= width:
            lines[-1] += f"{gap}{part}"
        else:
            lines += _wrap(part, width, indent=indent, first=indent if lines else "")
    return lines
