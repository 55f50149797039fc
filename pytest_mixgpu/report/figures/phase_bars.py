"""The phases of the median round, participant by participant: one real round of each run under test."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.report.figures.chosen import UNDER_TEST, first_of_each, repeats_note
from pytest_mixgpu.report.figures.look import LABEL_WIDTH, PHASE_COLOURS, PHASE_HEIGHTS, WIDTH
from pytest_mixgpu.report.figures.made import make_figure, participant_label, run_label
from pytest_mixgpu.report.figures.thin import telling_indices
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sections.phases import median_round
from pytest_mixgpu.timing.model import PHASES, Phase, Segment
from pytest_mixgpu.timing.phases import phase_totals

if TYPE_CHECKING:
    import altair as alt

    from pytest_mixgpu.report.figures.draw import Row

MAX_LANES = 24
CLOSE_UP_SHARE = 0.2
"""Where the part after the last compute is less of a round than this, it is drawn once more on its own scale."""


class Stretch(NamedTuple):
    """A segment in its lane, in seconds."""

    lane: str
    phase: Phase
    start_s: float
    end_s: float


def phase_figures(runs: Sequence[RunRecord]) -> tuple[Figure, ...]:
    """Draw the median round of each run under test that has an exchange."""
    found = ((run, median_round(run)) for run in first_of_each(runs, UNDER_TEST))
    return tuple(_figure(run, line, repeats_note(runs, run)) for run, line in found if line is not None)


def _figure(run: RunRecord, line: RoundLine, notes: list[str]) -> Figure:
    totals = [phase_totals(segments) for segments in line.segments]
    whole_s = sum(sum(one.values()) for one in totals) or 1.0
    shares = {phase: sum(one[phase] for one in totals) / whole_s for phase in PHASES}
    kept = telling_indices([one["compute"] for one in totals], MAX_LANES)
    lanes = [participant_label(run, line.participants[place]) for place in kept]
    stretches = [
        one for lane, place in zip(lanes, kept, strict=True) for one in stretches_of(lane, line.segments[place])
    ]
    window = close_up_s(stretches)
    said = ", ".join(f"{phase} {_share(shares[phase])}" for phase in PHASES if shares[phase] > 0)
    if len(kept) < len(totals):
        notes = [
            *notes,
            f"{len(kept)} of {len(totals):,} participants, spread evenly from the least compute to the most.",
        ]
    return make_figure(
        id=f"phases-{run.header.name}",
        title=f"{run_label(run)}: of its median round of {units.format_duration(line.round_s)}, "
        f"{_share(shares['compute'])} was compute, {_share(shares['send'])} sending, "
        f"{_share(shares['queue'])} queueing",
        alt=f"Round {line.index} of {run_label(run)}, counted from 0, a bar for each participant from the word to "
        f"start to the end of the round, its phases in order. Shares over all participants: {said}.",
        head=("participant", *PHASES, "sum"),
        rows=[
            (
                participant_label(run, participant),
                *(units.format_duration(one[phase]) if one[phase] else "0" for phase in PHASES),
                units.format_duration(sum(one.values())),
            )
            for participant, one in zip(line.participants, totals, strict=True)
        ],
        chart=lambda: _chart(lanes, phases_in(stretches), has_close_up=window is not None),
        datasets={
            "whole": [_row(one, 1.0) for one in stretches],
            "close": [] if window is None else [_row(one, 1000.0) for one in close_up(stretches, window)],
        },
        notes=notes,
    )


def _share(share: float) -> str:
    """Write a share of a round; one that took time is never nothing."""
    return "under 0.1 %" if 0 < share < 0.0005 else units.format_percent(share)


def stretches_of(lane: str, segments: Sequence[Segment], *, shift_s: float = 0.0) -> list[Stretch]:
    """Lay segments into a lane; those that are not finite are left out."""
    found = [
        Stretch(lane, one.phase, shift_s + one.start_s, shift_s + one.start_s + one.duration_s) for one in segments
    ]
    return [one for one in found if math.isfinite(one.start_s) and math.isfinite(one.end_s) and one.end_s > one.start_s]


def close_up_s(stretches: Sequence[Stretch]) -> tuple[float, float] | None:
    """Return the window around the end of the last compute, where what came after is too little to be seen beside it.

    Its ends are counted from the start of the round.
    """
    ends = [one.end_s for one in stretches]
    computed = [one.end_s for one in stretches if one.phase == "compute"]
    if not ends or not computed:
        return None
    start_s, end_s = max(computed), max(ends)
    rest_s = end_s - start_s
    whole_s = end_s - min(one.start_s for one in stretches)
    return (start_s - 0.15 * rest_s, end_s) if 0 < rest_s < CLOSE_UP_SHARE * whole_s else None


def close_up(stretches: Sequence[Stretch], window: tuple[float, float]) -> list[Stretch]:
    """Cut stretches to a window and count them from the end of the last compute, which lies in it."""
    low, high = window
    zero_s = max(one.end_s for one in stretches if one.phase == "compute")
    cut = (one._replace(start_s=max(low, one.start_s), end_s=min(high, one.end_s)) for one in stretches)
    kept = (one for one in cut if one.end_s > one.start_s)
    return [one._replace(start_s=one.start_s - zero_s, end_s=one.end_s - zero_s) for one in kept]


def phases_in(stretches: Sequence[Stretch]) -> list[Phase]:
    """Return the phases that occur, in their order."""
    found = {one.phase for one in stretches}
    return [phase for phase in PHASES if phase in found]


def phase_scales(phases: Sequence[Phase]) -> "tuple[alt.Color, alt.StrokeWidth]":
    """Return how phases are told apart: by colour and, again, by how thick they are."""
    import altair as alt

    domain = list(phases)
    colours = alt.Scale(domain=domain, range=[PHASE_COLOURS[phase] for phase in phases])
    widths = alt.Scale(type="ordinal", domain=domain, range=[PHASE_HEIGHTS[phase] for phase in phases])
    legend = alt.Legend(title=None, columns=len(domain))
    return (
        alt.Color("phase:N", scale=colours, legend=legend),
        alt.StrokeWidth("phase:N", scale=widths, legend=legend),
    )


def lane_axis(lanes: Sequence[str]) -> "alt.Y":
    """Return an axis with one lane each."""
    import altair as alt

    axis = alt.Axis(title=None, minExtent=LABEL_WIDTH, maxExtent=LABEL_WIDTH, ticks=False, domain=False)
    return alt.Y("lane:N", sort=None, scale=alt.Scale(domain=list(lanes)), axis=axis)


def _row(one: Stretch, scale: float) -> "Row":
    return {"lane": one.lane, "phase": one.phase, "start": scale * one.start_s, "end": scale * one.end_s}


def _chart(lanes: Sequence[str], phases: Sequence[Phase], *, has_close_up: bool) -> "alt.TopLevelMixin":
    import altair as alt

    colour, thickness = phase_scales(phases)

    def panel(name: str, title: str) -> alt.Chart:
        x = alt.X("start:Q", title=title, scale=alt.Scale(nice=False, zero=False), axis=alt.Axis(tickCount=8))
        rules = alt.Chart(alt.NamedData(name)).mark_rule(strokeCap="butt")
        drawn: alt.Chart = rules.encode(x=x, x2="end:Q", y=lane_axis(lanes), color=colour, strokeWidth=thickness)
        return drawn.properties(width=WIDTH, height=alt.Step(22))

    whole = panel("whole", "seconds since the word to start, on each participant's own clock")
    if not has_close_up:
        return whole
    return alt.vconcat(whole, panel("close", "close-up of the exchange: milliseconds since the last compute closed"))
