"""Speed-up against the ideal: points of one session on one line, the joint interval, the bound, what ran beside."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_mixgpu import units
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.speed_points import SpeedPoint, joint_spread, speed_points
from pytest_mixgpu.marks.statistics import Spread
from pytest_mixgpu.report.figures.look import BLUE, INK, LABEL_WIDTH, SERIES_COLOURS, SERIES_SHAPES, VERMILION
from pytest_mixgpu.report.figures.made import counted, make_figure, thinned
from pytest_mixgpu.report.figures.thin import telling_indices
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    import altair as alt

MAX_POINTS = 300
HEIGHT = 280


def speed_figures(verdicts: Sequence[Verdict], evidence: Evidence | None) -> tuple[Figure, ...]:
    """Draw the fleet's speed-up, where there is one."""
    if evidence is None:
        return ()
    points = tuple(one for one in speed_points(evidence) if math.isfinite(one.ratio) and math.isfinite(one.ideal))
    spread = joint_spread(points)
    return () if spread is None else (_figure(points, spread, _bound(verdicts), evidence),)


def _bound(verdicts: Sequence[Verdict]) -> float | None:
    bounds = (one.bound for one in verdicts if one.metric == "speedup")
    return next((bound for bound in bounds if bound is not None and math.isfinite(bound)), None)


def _figure(points: tuple[SpeedPoint, ...], spread: Spread, bound: float | None, evidence: Evidence) -> Figure:
    judged = [one for one in points if one.is_judged]
    ideal = judged[0].ideal
    pool = next((run.header.pool.spec for run in evidence.of("fleet")), "")
    kept = [points[index] for index in telling_indices([one.ratio for one in points], MAX_POINTS)]
    names = list(dict.fromkeys(clean(one.name, limit=40) for one in points))
    sessions = {name: f"session {place}" for place, name in enumerate(dict.fromkeys(one.session for one in points), 1)}
    interval = spread.interval if spread.interval and all(map(math.isfinite, spread.interval)) else None
    said = f"{units.format_number(interval[0])} to {units.format_number(interval[1])}" if interval else ""
    many = f"median of {counted(spread.n, 'run')}" if spread.n > 1 else "one run"
    asked = f"; at least {units.format_exact(bound)} was asked" if bound is not None else ""
    top = _top(points, interval)
    ends = [(one, end) for one in kept if one.is_judged for end in ((1.0, 1.0), (one.ideal, one.ratio))]
    return make_figure(
        id="speedup",
        title=f"{pool} trained {units.format_number(spread.median)} times as fast as one device ({many}); the ideal is "
        f"{units.format_exact(ideal)}{asked}",
        alt="Speed against one device over the number of devices, beside the line of the ideal. "
        + (f"The joint interval of baseline and fleet is {said}." if said else "There is no interval from one run."),
        head=("session", "repeat", "run", "ideal", "times as fast as one device"),
        rows=[
            (
                sessions[one.session],
                str(one.repeat),
                one.name,
                units.format_exact(one.ideal),
                units.format_number(one.ratio),
            )
            for one in points
        ],
        chart=lambda: _chart(names, 1.15 * max(one.ideal for one in points), top),
        datasets={
            "ideal": [{"x": 0.0, "y": 0.0}, {"x": 1.15 * ideal, "y": 1.15 * ideal}],
            "label": [{"x": 0.72 * ideal, "y": 0.72 * ideal, "text": f"ideal: {units.format_exact(ideal)}"}],
            "lines": [{"x": x, "y": y, "line": f"{sessions[one.session]} {one.repeat}"} for one, (x, y) in ends],
            "points": [{"x": one.ideal, "y": one.ratio, "name": clean(one.name, limit=40)} for one in kept],
            "one": [{"x": 1.0, "y": 1.0, "text": "one device"}],
            "interval": [{"x": ideal, "low": interval[0], "high": min(top, interval[1])}] if interval else [],
            "bound": []
            if bound is None
            else [{"x": 0.96 * ideal, "x2": 1.04 * ideal, "y": bound, "text": f"asked: {units.format_exact(bound)}"}],
        },
        notes=[
            *([f"{spread.method[:1].upper()}{spread.method[1:]}."] if spread.method else []),
            f"Points of one session stand on one line; {counted(len(sessions), 'session')}.",
            *(
                [f"The interval reaches beyond the plot, to {said.split(' to ')[1]}."]
                if interval and interval[1] > top
                else []
            ),
            *thinned(len(kept), len(points), "points"),
        ],
    )


def _top(points: Sequence[SpeedPoint], interval: tuple[float, float] | None) -> float:
    """Return where the axis of speed ends: above points and interval, but never so far that points are squeezed."""
    seen = max(max(one.ideal, one.ratio) for one in points)
    return 1.15 * max(seen, min(interval[1], 2 * seen) if interval else 0.0)


def _chart(names: Sequence[str], right: float, top: float) -> "alt.TopLevelMixin":
    import altair as alt

    scale = alt.Scale(domain=[0.0, top], nice=False)
    across = alt.Scale(domain=[0.0, right], nice=False)
    x = alt.X("x:Q", title="devices (ideal speed-up)", scale=across, axis=alt.Axis(tickCount=6))
    axis = alt.Axis(tickCount=6, minExtent=LABEL_WIDTH - 60, maxExtent=LABEL_WIDTH - 60)
    y = alt.Y("y:Q", title="times as fast as one device", scale=scale, axis=axis)
    legend = alt.Legend(title=None, columns=3)
    colours = alt.Scale(domain=list(names), range=[SERIES_COLOURS[i % len(SERIES_COLOURS)] for i in range(len(names))])
    shapes = alt.Scale(domain=list(names), range=[SERIES_SHAPES[i % len(SERIES_SHAPES)] for i in range(len(names))])

    def of(name: str) -> alt.Chart:
        return alt.Chart(alt.NamedData(name))

    return alt.layer(
        of("ideal").mark_line(strokeDash=[6, 4], color=INK, opacity=0.6).encode(x=x, y=y),
        of("label").mark_text(align="right", dx=-10, dy=-6).encode(x=x, y=y, text="text:N"),
        of("one").mark_point(shape="cross", color=INK, filled=True, size=60).encode(x=x, y=y),
        of("one").mark_text(align="right", dx=-12, dy=-8).encode(x=x, y=y, text="text:N"),
        of("bound").mark_rule(color=VERMILION, strokeWidth=3).encode(x=x, x2="x2:Q", y=y),
        of("bound").mark_text(align="left", dx=6).encode(x=alt.X("x2:Q", scale=across), y=y, text="text:N"),
        of("lines").mark_line(color=BLUE, opacity=0.8).encode(x=x, y=y, detail="line:N"),
        of("interval")
        .mark_errorbar(ticks=True, color=INK, thickness=1.5)
        .encode(x=x, y=alt.Y("low:Q", title="times as fast as one device", scale=scale, axis=axis), y2="high:Q"),
        of("points")
        .mark_point(filled=True, size=80, opacity=1)
        .encode(
            x=x,
            y=y,
            color=alt.Color("name:N", scale=colours, legend=legend),
            shape=alt.Shape("name:N", scale=shapes, legend=legend),
        ),
    ).properties(width=460, height=HEIGHT)
