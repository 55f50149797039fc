"""From a report and its charts to one self-contained page: no script, no request to anywhere, every text escaped.

jinja2 is imported when a page is made, by `templates`.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_mixgpu import units
from pytest_mixgpu.report.figures.draw import HOW_TO_DRAW
from pytest_mixgpu.report.fold import left_out
from pytest_mixgpu.report.mark_texts import called, command_line, counted_runs, in_groups, open_items, reason_of
from pytest_mixgpu.report.model import Figure, Figures, MarkRow, Report, RunRow
from pytest_mixgpu.report.page_sections import SECTIONS
from pytest_mixgpu.report.sections.phases import as_table
from pytest_mixgpu.report.sections.run_groups import MAX_RUNS, group_table, in_sight, runs_in_words
from pytest_mixgpu.report.templates import page_environment
from pytest_mixgpu.report.whole_files import replace_file
from pytest_mixgpu.report.words import NOTES_IN_WORDS, QUALIFIERS_IN_WORDS, ROLES_IN_WORDS, WORDS_IN_WORDS

if TYPE_CHECKING:
    from jinja2 import Environment

MAX_RUN_IDS: Final = 50
"""So many ids of runs stand with each verdict; all stand in `verdicts.json`."""

_NO_FIGURES: Final = Figures()


def render_page(report: Report, figures: Figures = _NO_FIGURES) -> str:
    """Fill the page.

    Args:
        report: everything that is said in words and tables.
        figures: the charts; one without a drawing is shown as its table.
    """
    runs = in_sight(report.runs)
    environment = _environment(report, runs)
    everything = _all_figures(figures)
    by_mark, others = _by_mark(figures.marks, report.marks)
    return environment.get_template("page.html").render(
        report=report,
        figures=figures,
        mark_figures=by_mark,
        other_mark_figures=others,
        charts_missing="" if all(figure.svg for figure in everything) else HOW_TO_DRAW,
        sections=_sections(report, figures),
        phase_tables=tuple(as_table(phases) for phases in report.phases),
        runs=runs,
        runs_in_words=runs_in_words(report.runs),
        run_groups=group_table(report.runs) if len(report.runs) > MAX_RUNS else None,
        runs_left_out=left_out(len(report.runs), len(runs), "runs", "the ledger and the folder of runs hold all")
        if len(runs) < len(report.runs)
        else "",
        witnesses=_witnesses(report.marks),
        common=_common(report.marks),
        num_amendments=len({text for mark in report.marks for text in mark.amendments}),
        fold=MAX_RUN_IDS,
        words=WORDS_IN_WORDS,
        qualifiers=QUALIFIERS_IN_WORDS,
        notes=NOTES_IN_WORDS,
        open=open_items(report.items),
        tags=_tags(report.marks),
        roles=_roles(report.runs),
    )


def write_page(path: Path, report: Report, figures: Figures = _NO_FIGURES) -> None:
    """Write the page; a reader never sees half of it."""
    replace_file(path, render_page(report, figures).encode("utf-8", "backslashreplace"))


def _environment(report: Report, runs: Sequence[RunRow]) -> "Environment":
    environment = page_environment()
    safe: Callable[[str], str] = environment.filters["safe"]
    marks = [mark for mark in report.marks if not mark.is_claim]
    environment.filters |= {
        "moment": units.format_moment,
        "command": command_line,
        "called": called,
        "reason": reason_of,
        "runs_behind": counted_runs,
        "groups": in_groups,
        "marks": frozenset,
        "anchor": _Anchors(),
        "mark_anchor": _Places("mark", [mark.id for mark in marks], default="marks"),
        "run_anchor": _Places("run", [run.run_id for run in runs], default="runs"),
        # Drawn by a library, and put together anew from elements that can do nothing but be looked at.
        "drawn": lambda figure: safe(figure.svg),
        "tied": lambda text: text.replace(" %", "\u00a0%"),
    }
    return environment


class _Anchors:
    """Gives each figure an anchor of its own, made of nothing but letters, digits and hyphens."""

    def __init__(self) -> None:
        self._taken: dict[str, int] = {}

    def __call__(self, id_: str) -> str:
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in id_[:60])
        count = self._taken[plain] = self._taken.get(plain, 0) + 1
        return f"figure-{plain}" + (f"-{count}" if count > 1 else "")


class _Places:
    """Gives the anchor of a thing by its id: its number on the page, since an id may hold anything and occur twice.

    Of one that is not on the page it gives the anchor of its section.
    """

    def __init__(self, prefix: str, ids: Sequence[str], *, default: str) -> None:
        self._places: dict[str, str] = {}
        for place, id_ in enumerate(ids, start=1):
            self._places.setdefault(id_, f"{prefix}-{place}")
        self._default = default

    def __call__(self, id_: str) -> str:
        return self._places.get(id_, self._default)


def _sections(report: Report, figures: Figures) -> Mapping[str, str]:
    """Name the sections that have something to show, in the order of the page."""
    has_content = {
        "marks": any(not mark.is_claim for mark in report.marks),
        "time": bool(figures.time) or report.has_runs,
        "quality": bool(figures.quality or report.scores.rows),
        "cost": bool(figures.cost) or not report.cost.is_empty,
        "runs": report.has_runs,
        "conditions": bool(figures.conditions)
        or not (report.conditions.is_empty and report.environment.is_empty and report.placement.is_empty),
    }
    return {anchor: title for anchor, title in SECTIONS.items() if has_content.get(anchor, True)}


def _all_figures(figures: Figures) -> tuple[Figure, ...]:
    return (*figures.marks, *figures.time, *figures.quality, *figures.cost, *figures.runs, *figures.conditions)


def _by_mark(figures: Sequence[Figure], marks: Sequence[MarkRow]) -> tuple[dict[str, list[Figure]], tuple[Figure, ...]]:
    """Put each figure with its mark; those that belong to none are given apart."""
    ids = {mark.id for mark in marks}
    found: dict[str, list[Figure]] = {}
    others = []
    for figure in figures:
        id_ = figure.id.removeprefix("mark-")
        if id_ in ids:
            found.setdefault(id_, []).append(figure)
        else:
            others.append(figure)
    return found, tuple(others)


def _common(marks: Sequence[MarkRow]) -> tuple[str, ...]:
    """Find what is said of every mark and claim alike: it stands once. Of a single one nothing is common."""
    if len(marks) < 2:
        return ()
    rest = [set(mark.details) for mark in marks[1:]]
    return tuple(text for text in marks[0].details if all(text in details for details in rest))


def _tags(marks: Sequence[MarkRow]) -> tuple[str, ...]:
    """Explain each tag of the checklist, as often as it stands there: once."""
    said: dict[str, str] = dict(QUALIFIERS_IN_WORDS.items() | NOTES_IN_WORDS.items())
    found = dict.fromkeys(tag for mark in marks for tag in (*mark.qualifiers, *mark.notes))
    return tuple(f"{tag}: {said[tag]}" for tag in found if tag in said)


def _roles(runs: Sequence[RunRow]) -> tuple[tuple[str, str], ...]:
    """Explain the names of runs: each with what its role is."""
    found = dict.fromkeys((run.name, run.role) for run in runs)
    names: dict[str, list[str]] = {}
    for name, role in found:
        names.setdefault(role, []).append(name)
    return tuple((", ".join(names[role]), text) for role, text in ROLES_IN_WORDS.items() if role in names)


def _witnesses(marks: Sequence[MarkRow]) -> list[tuple[str, tuple[str, ...]]]:
    """Give once what witnesses several marks and claims say alike, with their ids."""
    ids: dict[tuple[str, ...], list[str]] = {}
    for mark in marks:
        if mark.witness:
            ids.setdefault(mark.witness, []).append(mark.id)
    return [(", ".join(names), sentences) for sentences, names in ids.items()]
