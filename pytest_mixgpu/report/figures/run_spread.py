"""All registered runs with the lengths of their rounds; what became of those that did not complete, in words.

A run is one lane with a point a round, or a box where there are many. Of more than `MAX_LANES` runs a lane holds all of
one role.
"""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures.look import BLUE, INK, VERMILION, WIDTH
from pytest_mixgpu.report.figures.made import counted, finite, make_figure, run_label
from pytest_mixgpu.report.figures.phase_bars import lane_axis
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    import altair as alt

    from pytest_mixgpu.report.figures.draw import Row

MAX_LANES = 40
_BOX = "A box reaches from the first quartile to the third, its line from the shortest round to the longest."
MAX_POINTS = 30
"""Of more rounds in a lane a box is drawn."""


class Lane(NamedTuple):
    """One run, or all of one role, with the lengths of its measured rounds in seconds."""

    label: str
    rounds_s: list[float]
    num_runs: int
    num_left: int
    """Runs that did not complete."""
    ended: str
    """In words: how those ended."""


def run_figures(records: Sequence[RunRecord]) -> tuple[Figure, ...]:
    """Draw every registered run, in the order of registration."""
    if not records:
        return ()
    ordered = sorted(records, key=lambda run: (run.header.registered_at, run.id))
    is_grouped = len(ordered) > MAX_LANES
    return (_figure(ordered, _groups(ordered) if is_grouped else _single(ordered), is_grouped=is_grouped),)


def _single(runs: Sequence[RunRecord]) -> list[Lane]:
    labels = _labels(runs)
    return [
        Lane(label, _rounds_s(run), 1, int(run.status != "completed"), "" if run.status == "completed" else _ended(run))
        for run, label in zip(runs, labels, strict=True)
    ]


def _labels(runs: Sequence[RunRecord]) -> list[str]:
    """Name runs, those of one name apart."""
    seen: dict[str, int] = {}
    labels = []
    for run in runs:
        label = run_label(run)
        seen[label] = seen.get(label, 0) + 1
        labels.append(label if seen[label] == 1 else f"{label} ({seen[label]})")
    return labels


def _groups(runs: Sequence[RunRecord]) -> list[Lane]:
    groups: dict[str, list[RunRecord]] = {}
    for run in runs:
        label = clean(f"{run.header.name} {run.header.leg}".strip(), limit=40)
        groups.setdefault(label if label in groups or len(groups) < MAX_LANES - 1 else "others", []).append(run)
    return [_group(label, members) for label, members in groups.items()]


def _group(label: str, runs: Sequence[RunRecord]) -> Lane:
    left = [run for run in runs if run.status != "completed"]
    counts = {status: sum(run.status == status for run in left) for status in ("failed", "stopped", "aborted")}
    ended = ", ".join(f"{count} {status}" for status, count in counts.items() if count)
    return Lane(label, [one for run in runs for one in _rounds_s(run)], len(runs), len(left), ended)


def _rounds_s(run: RunRecord) -> list[float]:
    return finite(line.round_s for line in run.measured_rounds)


def _ended(run: RunRecord) -> str:
    return f"{run.status} after {counted(len(run.measured_rounds), 'measured round')}"


def _figure(runs: Sequence[RunRecord], lanes: list[Lane], *, is_grouped: bool) -> Figure:
    num_left = sum(lane.num_left for lane in lanes)
    fate = "all completed" if num_left == 0 else f"{num_left} of them not completed"
    widest = max(lanes, key=lambda lane: _spread(lane.rounds_s))
    spread = f"; the rounds of {widest.label} lie furthest apart, {_range(widest.rounds_s)}" if widest.rounds_s else ""
    end_s = max((max(lane.rounds_s) for lane in lanes if lane.rounds_s), default=1.0)
    boxed = [lane for lane in lanes if len(lane.rounds_s) > MAX_POINTS]
    return make_figure(
        id="runs",
        title=f"{counted(len(runs), 'run')} registered, {fate}{spread}",
        alt="A lane for each registered run" + (" of one role" if is_grouped else "")
        + ", its measured rounds by their length in seconds; a cross and words for one that did not complete.",
        head=("run", "status", "measured rounds", "shortest", "median", "longest"),
        rows=[_cells(lane) for lane in lanes],
        chart=lambda: _chart([lane.label for lane in lanes]),
        datasets={
            "rounds": [{"lane": lane.label, "x": one} for lane in lanes if lane not in boxed for one in lane.rounds_s],
            "boxes": [_box(lane) for lane in boxed],
            "medians": [{"lane": one.label, "x": statistics.median(one.rounds_s)} for one in lanes if one.rounds_s],
            "left": [_mark(lane, end_s) for lane in lanes if lane.num_left],
            "words": [_mark(lane, end_s) for lane in lanes if lane.num_left and _end(lane) < 0.6 * end_s],
            "far": [_mark(lane, end_s) for lane in lanes if lane.num_left and _end(lane) >= 0.6 * end_s],
        },
        notes=[
            *([f"{len(runs):,} runs are put together by role: {len(lanes)} lanes."] if is_grouped else []),
            *([_BOX] if boxed else []),
        ],
    )  # fmt: skip


def _cells(lane: Lane) -> tuple[str, ...]:
    status = lane.ended or "completed"
    if lane.num_runs > 1:
        status = f"{lane.num_runs - lane.num_left} completed" + (f", {lane.ended}" if lane.ended else "")
    if not lane.rounds_s:
        return (lane.label, status, "0", *[units.NOT_MEASURED] * 3)
    values = (min(lane.rounds_s), statistics.median(lane.rounds_s), max(lane.rounds_s))
    return (lane.label, status, str(len(lane.rounds_s)), *map(units.format_duration, values))


def _end(lane: Lane) -> float:
    return max(lane.rounds_s, default=0.0)


def _mark(lane: Lane, end_s: float) -> "Row":
    """Put what became of a run after its last round."""
    return {"lane": lane.label, "x": _end(lane) + 0.02 * end_s, "text": lane.ended}


def _spread(rounds_s: Sequence[float]) -> float:
    return (max(rounds_s) - min(rounds_s)) / statistics.median(rounds_s) if rounds_s and min(rounds_s) > 0 else 0.0


def _range(rounds_s: Sequence[float]) -> str:
    return f"{units.format_duration(min(rounds_s))} to {units.format_duration(max(rounds_s))}"


def _box(lane: Lane) -> "Row":
    first, _, third = statistics.quantiles(lane.rounds_s, n=4, method="inclusive")
    return {"lane": lane.label, "low": min(lane.rounds_s), "first": first, "third": third, "high": max(lane.rounds_s)}


def _chart(lanes: Sequence[str]) -> "alt.TopLevelMixin":
    import altair as alt

    title = "length of a measured round, seconds"

    def of(name: str) -> alt.Chart:
        return alt.Chart(alt.NamedData(name))

    def x(field: str) -> alt.X:
        return alt.X(f"{field}:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=8))

    left = of("left")
    return alt.layer(
        of("boxes").mark_rule(color=BLUE, opacity=0.6).encode(x=x("low"), x2="high:Q", y=lane_axis(lanes)),
        of("boxes").mark_bar(color=BLUE, height=10, opacity=0.6).encode(x=x("first"), x2="third:Q", y=lane_axis(lanes)),
        of("rounds").mark_point(color=BLUE, filled=True, size=45, opacity=1).encode(x=x("x"), y=lane_axis(lanes)),
        of("medians").mark_tick(color=INK, thickness=2, size=14).encode(x=x("x"), y=lane_axis(lanes)),
        left.mark_point(color=VERMILION, shape="cross", angle=45, filled=True, size=110, opacity=1).encode(
            x=x("x"), y=lane_axis(lanes)
        ),
        of("words").mark_text(align="left", dx=9).encode(x=x("x"), y=lane_axis(lanes), text="text:N"),
        of("far").mark_text(align="right", dy=-11).encode(x=x("x"), y=lane_axis(lanes), text="text:N"),
    ).properties(width=WIDTH, height=alt.Step(22))
