"""A timeline of every round on the coordinator's clock: one lane a participant, one for the coordinator.

A lane of one phase is one line with gaps, so that thousands of segments stay small. Of more than `MAX_CELLS` rounds and
participants together a heat map is drawn instead.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.marks.alignment import begun_on_coordinator, round_starts_s
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.report.figures.busy import busy_figure
from pytest_mixgpu.report.figures.chosen import UNDER_TEST, first_of_each, repeats_note
from pytest_mixgpu.report.figures.look import INK, WIDTH
from pytest_mixgpu.report.figures.made import make_figure, participant_label, run_label
from pytest_mixgpu.report.figures.phase_bars import (
    Stretch,
    close_up,
    close_up_s,
    lane_axis,
    phase_scales,
    phases_in,
    stretches_of,
)
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sections.phases import median_round
from pytest_mixgpu.timing.model import Phase, Segment

if TYPE_CHECKING:
    import altair as alt

    from pytest_mixgpu.report.figures.draw import Row

MAX_CELLS = 2_500
MAX_STRETCHES = 2_000
NARROWEST = 0.25
"""Of a pixel: what is narrower is left out where there are more stretches than that."""
COORDINATOR = "coordinator"


class Round(NamedTuple):
    """One round on the coordinator's clock."""

    line: RoundLine
    start_s: float
    """Since the first round of the run."""
    stretches: tuple[Stretch, ...]
    """In seconds since the coordinator said GO."""
    unsure_s: dict[str, float]
    """By lane: its stretches may lie earlier or later by so much."""


def timeline_figures(runs: Sequence[RunRecord]) -> tuple[Figure, ...]:
    """Draw all rounds of each run under test that has an exchange."""
    found = []
    for run in first_of_each(runs, UNDER_TEST):
        notes = repeats_note(runs, run)
        num_cells = len(run.rounds) * len(run.devices)
        figure = busy_figure(run, notes) if num_cells > MAX_CELLS else _figure(run, notes)
        found += [] if figure is None else [figure]
    return tuple(found)


def _figure(run: RunRecord, notes: list[str]) -> Figure | None:
    starts = round_starts_s(run)
    if starts is None:
        return None
    rounds = [_aligned(run, line, start_s) for line, start_s in zip(run.rounds, starts, strict=True)]
    lanes = list(dict.fromkeys(one.lane for each in rounds for one in each.stretches))
    lanes.sort(key=lambda lane: lane == COORDINATOR)
    unsure_s = max((value for each in rounds for value in each.unsure_s.values()), default=0.0)
    span_s = max((each.start_s + each.line.round_s for each in rounds), default=0.0)
    middle = next((each for each in rounds if each.line is median_round(run)), None)
    closer = None if middle is None else close_up_s(middle.stretches)
    durations = [each.line.round_s for each in rounds if not each.line.warmup]
    ends = dict.fromkeys(units.format_duration(end(durations)) for end in (min, max))
    drawn, left_out = _seen([one for each in rounds for one in _moved(each.stretches, each.start_s)], span_s)
    num_warm = sum(each.line.warmup for each in rounds)
    return make_figure(
        id=f"timeline-{run.header.name}",
        title=f"{run_label(run)}: {len(durations)} measured rounds of {' to '.join(ends)}, {num_warm} for warming up, "
        f"in {units.format_duration(span_s)}",
        alt=f"Every round of {run_label(run)} from left to right, a lane for each participant and one for the "
        f"coordinator, phase by phase. Clocks are aligned to {units.format_duration(unsure_s)} or better.",
        head=("round", "starts after", "lasts", "kind", "clocks aligned to"),
        rows=[
            (
                str(each.line.index),
                units.format_duration(each.start_s),
                units.format_duration(each.line.round_s),
                "warm-up" if each.line.warmup else "measured",
                units.format_duration(max(each.unsure_s.values(), default=0.0)),
            )
            for each in rounds
        ],
        chart=lambda: _chart(
            lanes,
            phases_in([one for each in rounds for one in each.stretches]),
            span_s,
            has_close_up=closer is not None,
        ),
        datasets={
            "lines": _lines(drawn, lanes),
            "rounds": [{"start": each.start_s, "text": "warm-up" if each.line.warmup else ""} for each in rounds],
            "close": []
            if middle is None or closer is None
            else _lines(close_up(middle.stretches, closer), lanes, 1000.0),
            "unsure": [] if middle is None or closer is None else _error_bars(middle, closer),
        },
        notes=[
            *notes,
            *left_out,
            "Starts of rounds are kept to the millisecond; within one, lanes are aligned by the round's own messages.",
            f"Error bars in the close-up: how unsure a lane's clock is, {units.format_duration(unsure_s)} at most.",
            f"A pixel of the whole timeline is {units.format_duration(span_s / WIDTH)}.",
        ],
    )


def _aligned(run: RunRecord, line: RoundLine, start_s: float) -> Round:
    """Lay all lanes of a round onto the coordinator's clock; one that cannot be aligned begins with its GO."""
    stretches: list[Stretch] = []
    unsure_s: dict[str, float] = {}
    seen = line.coordinator if len(line.coordinator) == len(line.participants) else (None,) * len(line.participants)
    for participant, own, heard, segments in zip(line.participants, line.stamps, seen, line.segments, strict=False):
        lane = participant_label(run, participant)
        offset = None if heard is None else begun_on_coordinator(own, heard)
        stretches += stretches_of(lane, segments, shift_s=0.0 if offset is None else offset.offset_s)
        unsure_s[lane] = 0.0 if offset is None else offset.uncertainty_s
    if line.coordinator:
        stretches += stretches_of(COORDINATOR, _of_coordinator(line))
    return Round(line=line, start_s=start_s, stretches=tuple(stretches), unsure_s=unsure_s)


def _of_coordinator(line: RoundLine) -> list[Segment]:
    """Return what the coordinator did in a round: read updates, combined, sent the new model; else it waited."""
    seen = line.coordinator
    done: list[tuple[float, float, Phase]] = [(one.first_in_s, one.last_in_s, "send") for one in seen]
    if line.combine_start_s is not None and line.combine_end_s is not None:
        done.append((line.combine_start_s, line.combine_end_s, "combine"))
    done.append((min(one.first_out_s for one in seen), max(one.last_out_s for one in seen), "return"))
    segments: list[Segment] = []
    now_s = 0.0
    for start_s, end_s, phase in (*sorted(done), (line.round_s, line.round_s, "wait")):
        if start_s > now_s:
            segments.append(Segment("wait", now_s, start_s - now_s))
        begun_s = max(now_s, start_s)
        if end_s > begun_s:
            segments.append(Segment(phase, begun_s, end_s - begun_s))
        now_s = max(now_s, end_s)
    return segments


def _moved(stretches: Sequence[Stretch], by_s: float) -> list[Stretch]:
    return [one._replace(start_s=one.start_s + by_s, end_s=one.end_s + by_s) for one in stretches]


def _seen(stretches: Sequence[Stretch], span_s: float) -> tuple[list[Stretch], list[str]]:
    """Leave out what is too narrow to be seen, where there is much of it."""
    if len(stretches) <= MAX_STRETCHES:
        return list(stretches), []
    least_s = NARROWEST * span_s / WIDTH
    kept = [one for one in stretches if one.end_s - one.start_s >= least_s]
    text = f"Stretches shorter than {units.format_duration(least_s)} are too narrow to be seen here and are left out."
    return kept, [text]


def _lines(stretches: Sequence[Stretch], lanes: Sequence[str], scale: float = 1.0) -> "list[Row]":
    """Make of each phase one line through all lanes that is broken between stretches."""
    rows: list[Row] = []
    order = {lane: place for place, lane in enumerate(lanes)}
    for one in sorted(stretches, key=lambda one: (order[one.lane], one.start_s)):
        for x in (scale * one.start_s, scale * one.end_s, None):
            rows.append({"x": x, "lane": one.lane, "phase": one.phase, "place": len(rows)})
    return rows


def _error_bars(middle: Round, window: tuple[float, float]) -> "list[Row]":
    """Put the uncertainty of each lane's clock where its compute closed, or at the left edge of the close-up."""
    rows: list[Row] = []
    zero_s = max(one.end_s for one in middle.stretches if one.phase == "compute")
    for lane, unsure_s in middle.unsure_s.items():
        closed = [one.end_s for one in middle.stretches if one.lane == lane and one.phase == "compute"]
        at_s = max([window[0] + unsure_s, *closed]) - zero_s
        if unsure_s > 0 and math.isfinite(at_s):
            rows.append({"lane": lane, "low": 1000 * (at_s - unsure_s), "high": 1000 * (at_s + unsure_s)})
    return rows


def _chart(lanes: Sequence[str], phases: Sequence[Phase], span_s: float, *, has_close_up: bool) -> "alt.TopLevelMixin":
    import altair as alt

    colour, thickness = phase_scales(phases)

    def lines(name: str, title: str, scale: alt.Scale) -> alt.Chart:
        x = alt.X("x:Q", title=title, scale=scale, axis=alt.Axis(tickCount=8))
        marks = alt.Chart(alt.NamedData(name)).mark_line(strokeCap="butt", invalid="break-paths-filter-domains")
        drawn: alt.Chart = marks.encode(x=x, y=lane_axis(lanes), color=colour, strokeWidth=thickness, order="place:Q")
        return drawn

    whole_scale = alt.Scale(domain=[0.0, span_s], nice=False)
    close_scale = alt.Scale(nice=False, zero=False)
    starts = alt.Chart(alt.NamedData("rounds"))
    whole = alt.layer(
        starts.mark_rule(color=INK, opacity=0.35).encode(x="start:Q"),
        starts.mark_text(align="left", baseline="bottom", dx=2, dy=-2).encode(
            x="start:Q", y=alt.value(0), text="text:N"
        ),
        lines("lines", "seconds since the first round, on the coordinator's clock", whole_scale),
    ).properties(width=WIDTH, height=alt.Step(20))
    if not has_close_up:
        return whole
    bars = alt.Chart(alt.NamedData("unsure")).mark_errorbar(ticks=True, color=INK, thickness=1.5)
    title = "close-up of the median round: milliseconds since the last compute closed, on the coordinator's clock"
    close = alt.layer(
        lines("close", title, close_scale),
        bars.encode(x=alt.X("low:Q", title=title), x2="high:Q", y=lane_axis(lanes)),
    ).properties(width=WIDTH, height=alt.Step(20))
    return alt.vconcat(whole, close)
