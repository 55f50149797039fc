"""A run too large for a timeline: which share of their rounds participants did not compute, as a heat map.

Neighbouring participants and rounds are put together; a cell holds the mean over all that are in it.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_mixgpu import units
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures.look import BLUE, INK, LABEL_WIDTH, WIDTH
from pytest_mixgpu.report.figures.made import make_figure, run_label
from pytest_mixgpu.report.figures.thin import bins
from pytest_mixgpu.report.model import Figure

if TYPE_CHECKING:
    import altair as alt

MAX_COLUMNS = 40
MAX_ROWS = 25


def busy_figure(run: RunRecord, notes: list[str]) -> Figure | None:
    """Draw the share of each round that was not compute, put together into cells."""
    shares = _idle_shares(run)
    num_participants = max(map(len, shares), default=0)
    if num_participants == 0:
        return None
    columns, rows = bins(len(shares), MAX_COLUMNS), bins(num_participants, MAX_ROWS)
    cells = [(row, column, _mean(shares, row, column)) for row in rows for column in columns]
    known = [share for _, _, share in cells if share is not None]
    if not known:
        return None
    mean = sum(known) / len(known)
    lanes = [_name(row) for row in rows]
    return make_figure(
        id=f"timeline-{run.header.name}",
        title=f"{run_label(run)}: of {len(shares):,} rounds of {num_participants:,} participants "
        f"{units.format_percent(mean)} was not compute, {units.format_percent(max(known))} in the worst cell",
        alt="A heat map, groups of participants from top to bottom, groups of rounds from left to right. The darker a "
        "cell, the larger the share of these rounds in which these participants did not compute.",
        head=("participants", *(f"rounds {_name(column)}" for column in columns)),
        rows=[(_name(row), *(units.format_percent(share) for one, _, share in cells if one == row)) for row in rows],
        chart=lambda: _chart(lanes, len(shares), min(known), max(known)),
        datasets={
            "cells": [
                {"lane": _name(row), "start": column.start, "end": column.stop, "share": 100 * share}
                for row, column, share in cells
                if share is not None
            ]
        },
        notes=[
            *notes,
            f"A cell is the mean of up to {max(map(len, columns)):,} rounds and {max(map(len, rows)):,} participants.",
        ],
    )


def _idle_shares(run: RunRecord) -> list[list[float | None]]:
    """Return of each round the share in which each participant did anything but compute."""
    rounds = []
    for line in run.rounds:
        shares: list[float | None] = [None] * (max(line.participants, default=-1) + 1)
        for participant, segments in zip(line.participants, line.segments, strict=False):
            whole_s = sum(segment.duration_s for segment in segments)
            computed_s = sum(segment.duration_s for segment in segments if segment.phase == "compute")
            if 0 < whole_s < float("inf"):
                shares[participant] = 1 - computed_s / whole_s
        rounds.append(shares)
    return rounds


def _mean(shares: Sequence[Sequence[float | None]], row: range, column: range) -> float | None:
    found = [share for place in column for share in shares[place][row.start : row.stop] if share is not None]
    return sum(found) / len(found) if found else None


def _name(group: range) -> str:
    return str(group.start) if len(group) == 1 else f"{group.start} to {group.stop - 1}"


def _chart(lanes: Sequence[str], num_rounds: int, least: float, most: float) -> "alt.TopLevelMixin":
    import altair as alt

    axis = alt.Axis(title="participants", minExtent=LABEL_WIDTH, maxExtent=LABEL_WIDTH, ticks=False, domain=False)
    steps = [100 * (least + (most - least) * part) for part in (0.0, 0.25, 0.5, 0.75, 1.0)]
    title = "not computing, % of the rounds in a cell"
    legend = alt.Legend(title=title, values=steps, format=".3~r", symbolFillColor=BLUE, symbolType="square")
    # A range of one value would make every cell as light as the lightest.
    scale = alt.Scale(domain=[100 * least if most > least else 0.0, 100 * most], range=[0.08, 1.0])
    drawn: alt.TopLevelMixin = (
        alt.Chart(alt.NamedData("cells"))
        .mark_bar(color=BLUE, stroke=INK, strokeOpacity=0.15, strokeWidth=0.5)
        .encode(
            x=alt.X("start:Q", title="round", scale=alt.Scale(domain=[0, num_rounds], nice=False)),
            x2="end:Q",
            y=alt.Y("lane:N", sort=None, scale=alt.Scale(domain=list(lanes)), axis=axis),
            opacity=alt.Opacity("share:Q", scale=scale, legend=legend),
        )
        .properties(width=WIDTH, height=alt.Step(14))
    )
    return drawn
