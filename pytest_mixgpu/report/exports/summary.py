"""`summary.md`: a report on one screen, in GitHub-flavoured Markdown, for a pull request or the page of a CI job.

Every text that is not our own goes through `markdown.inert`: no markup, link, image, mention or reference of it acts.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final

from pytest_mixgpu import units
from pytest_mixgpu.report.exports.markdown import code, inert, table
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.model import Item, MarkRow, PhaseTable, Report, RunRow
from pytest_mixgpu.report.sentences import qualified
from pytest_mixgpu.report.whole_files import replace_stream
from pytest_mixgpu.timing.model import PHASES

MAX_RUNS: Final = 40
"""Of more runs those that did not complete, or that count, come first; the page has all."""
MAX_PARTICIPANTS: Final = 16


def write_summary(material: Material, path: Path) -> None:
    """Write the summary beside the page."""
    replace_stream(path, (f"{line}\n" for line in summary_lines(material.report)))


def summary_lines(report: Report) -> Iterator[str]:
    """Write the summary, line by line: what was asked, what the answer is, and on what evidence."""
    yield from _head(report)
    yield from _checklist(report.items)
    yield from _not_plain(report.marks)
    if report.phases:
        yield from _phases(report.phases[0])
    yield from _runs(report.runs)
    yield from _list("What this does not show", report.not_shown.sentences)
    yield from _evidence(report)


def _head(report: Report) -> Iterator[str]:
    yield f"## {inert(report.occasion.suite)}: {inert(report.headline)}"
    yield ""
    if report.question:
        yield f"Asked: {inert(report.question)}"
        yield ""
    for sentence in report.banner:
        yield f"> **Note:** {inert(sentence)}"
        yield ">"
    yield ""


def _checklist(items: Sequence[Item]) -> Iterator[str]:
    if not items:
        yield "No mark and no claim was judged."
        yield ""
        return
    head = ("item", "mark or claim", "verdict", "value", "bound", "runs", "interval (95 %)", "notes")
    yield from table(head, (cells for item in items for cells in _item_cells(item)))
    yield ""


def _item_cells(item: Item) -> Iterator[tuple[str, ...]]:
    asked = f"{item.number}. {inert(item.title)}".strip()
    for place, row in enumerate(item.marks):
        yield ("" if place else asked, *_mark_cells(row))


def _mark_cells(row: MarkRow) -> tuple[str, ...]:
    verdict = qualified(f"**{row.word}**", row)
    runs = "" if row.is_claim else str(row.n)
    interval = row.interval or ("" if row.is_claim else "none")
    return (inert(row.id), verdict, inert(row.value), _bound(row), runs, inert(interval), ", ".join(row.notes))


def _bound(row: MarkRow) -> str:
    origin = f" ({inert(row.bound_origin)})" if row.bound_origin else ""
    return f"{inert(row.bound)}{origin}"


def _not_plain(rows: Sequence[MarkRow]) -> Iterator[str]:
    """Say of all that did not plainly pass why, what it follows from, and what to do."""
    wanted = [row for row in rows if row.status != "passed"]
    if not wanted:
        return
    yield "### Why"
    yield ""
    for row in wanted:
        yield f"- {qualified(f'**{row.word}**', row)} {code(row.id)}: {inert(row.reason)}"
        for name, text in (("follows from", row.follows_from), ("to do", row.remedy)):
            if text:
                yield f"  - {name}: {inert(text)}"
        yield from (f"  - also: {inert(sentence)}" for sentence in row.details)
        yield from (f"  - amended: {inert(sentence)}" for sentence in row.amendments)
    yield ""


def _phases(phases: PhaseTable) -> Iterator[str]:
    yield "### Where the median round went"
    yield ""
    yield f"Run {code(phases.run_id)} on {inert(phases.pool)}, {inert(phases.round_label)}: {inert(phases.round_s)}"
    yield ""
    rows = phases.rows[:MAX_PARTICIPANTS]
    head = ("participant", *PHASES, "in all")
    yield from table(
        head, ((inert(f"{row.participant} {row.kind}"), *map(inert, row.cells), inert(row.total)) for row in rows)
    )
    yield ""
    if len(phases.rows) > len(rows):
        yield f"And {len(phases.rows) - len(rows):,} more participants, on the page."
        yield ""


def _runs(rows: Sequence[RunRow]) -> Iterator[str]:
    if not rows:
        return
    shown = sorted(rows, key=lambda row: (row.status == "completed", not row.is_evidence))[:MAX_RUNS]
    yield "### Runs"
    yield ""
    head = ("run", "role", "pool", "outcome", "rounds", "median round", "test", "counts")
    yield from table(head, (_run_cells(row) for row in rows if row in shown))
    yield ""
    if len(rows) > len(shown):
        yield f"And {len(rows) - len(shown):,} more runs, on the page."
        yield ""


def _run_cells(row: RunRow) -> tuple[str, ...]:
    role = f"{row.name} {row.leg}".strip()
    outcome = f"{row.status}: {inert(row.reason)}" if row.reason else row.status
    counts = "yes" if row.is_evidence else f"no: {inert(row.superseded)}" if row.superseded else "no"
    cells = (inert(text) for text in (role, row.pool))
    numbers = (inert(text) for text in (row.rounds, row.median_round, row.test))
    return (code(row.run_id), *cells, outcome, *numbers, counts)


def _list(title: str, sentences: Sequence[str]) -> Iterator[str]:
    if not sentences:
        return
    yield f"### {title}"
    yield ""
    yield from (f"- {inert(sentence)}" for sentence in sentences)
    yield ""


def _evidence(report: Report) -> Iterator[str]:
    occasion = report.occasion
    yield "### Evidence"
    yield ""
    for seal in report.seals:
        yield f"- {seal.name}: {code(seal.text) if seal.text != units.NOT_STATED else seal.text}"
    if occasion.folder:
        yield f"- Runs and ledger: {code(occasion.folder)}"
    if occasion.made_at:
        yield f"- Judged: {inert(units.format_moment(occasion.made_at))}"
    yield "- Page with every number: `index.html` beside this file"
