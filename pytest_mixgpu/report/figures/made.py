"""From rows and a chart of them to a `Figure`: the one way in which this package makes one."""

import math
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures.draw import svg_of
from pytest_mixgpu.report.model import Figure, Table
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    from pytest_mixgpu.report.figures.draw import Chart, Datasets

MAX_TABLE_ROWS = 400
"""A table that is longer is cut, and says so: nobody reads on, and the page stays small."""


def make_figure(  # noqa: PLR0913 - one argument for each part of a figure
    *,
    id: str,  # noqa: A002
    title: str,
    alt: str,
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    chart: "Callable[[], Chart]",
    datasets: "Datasets",
    notes: Sequence[str] = (),
) -> Figure:
    """Put a figure together and draw it, where the library for that is installed.

    A drawing that the library refuses is left out and the figure says why: its table holds the same.
    """
    cells = [tuple(clean(cell) for cell in row) for row in rows]
    said = list(notes)
    if len(cells) > MAX_TABLE_ROWS:
        said.append(f"The table shows {MAX_TABLE_ROWS} of {len(cells):,} rows; the record holds all.")
        del cells[MAX_TABLE_ROWS:]
    try:
        svg = svg_of(chart, datasets, id=id, label=clean(alt))
    except ValueError as error:
        svg = ""
        said.append(f"It could not be drawn: {error}")
    return Figure(
        id=id,
        title=clean(title),
        alt=clean(alt),
        table=Table(head=tuple(map(clean, head)), rows=tuple(cells), caption=clean(title)),
        svg=svg,
        notes=tuple(clean(note) for note in said),
    )


def run_label(record: RunRecord) -> str:
    """Name a run as people do: `baseline before #0`."""
    header = record.header
    return clean(f"{' '.join(part for part in (header.name, header.leg) if part)} #{header.repeat}", limit=60)


def participant_label(record: RunRecord, participant: int) -> str:
    """Name a participant by its number and kind: `3 · rtx4090`."""
    devices = record.devices
    kind = devices[participant].kind if 0 <= participant < len(devices) else "unknown"
    return clean(f"{participant} · {kind}", limit=40)


def finite(values: Iterable[float]) -> list[float]:
    """Leave out what is not a finite number."""
    return [value for value in values if math.isfinite(value)]


def thinned(num_drawn: int, num_all: int, nouns: str) -> list[str]:
    """Say that not all are drawn, where that is so."""
    return [f"{num_drawn:,} of {num_all:,} {nouns} are drawn, the extremes among them."] if num_drawn < num_all else []


def counted(num: int, noun: str) -> str:
    """Write a count with its noun: `1 run`, `3 runs`."""
    return f"{num:,} {noun}" if num == 1 else f"{num:,} {noun}s"
