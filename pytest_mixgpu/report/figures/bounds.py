"""One chart a mark: its value against the bound, every run as a point, the interval."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pytest_mixgpu import units
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.figures.look import BLUE, INK, LABEL_WIDTH, VERMILION, WIDTH
from pytest_mixgpu.report.figures.made import counted, finite, make_figure, thinned
from pytest_mixgpu.report.figures.thin import telling_indices
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.verdict_rows import COMPARATORS, value_and_bound

if TYPE_CHECKING:
    import altair as alt

MAX_LANES = 20
MAX_POINTS = 300
_RELATIONS = {"at_least": "at least", "at_most": "at most", "within": "within"}


def mark_figures(verdicts: Sequence[Verdict]) -> tuple[Figure, ...]:
    """Draw every mark that has a finite value and a finite bound; of two verdicts on one mark the first."""
    found: dict[str, Figure] = {}
    for verdict in verdicts:
        value, bound, id_ = verdict.value, verdict.bound, f"mark-{clean(verdict.id)}"
        if value is not None and bound is not None and math.isfinite(value) and math.isfinite(bound):
            found[id_] = found.get(id_) or _figure(verdict, id_, value, bound)
    return tuple(found.values())


def _figure(verdict: Verdict, id_: str, value: float, bound: float) -> Figure:
    metric, unit = clean(verdict.metric, limit=60), clean(verdict.unit, limit=20)
    value_text, bound_text = value_and_bound(verdict)
    bound_text = bound_text.removeprefix(COMPARATORS[verdict.comparator] if verdict.comparator else "").strip()
    asked = f"{_RELATIONS.get(verdict.comparator or '', '')} {bound_text}".strip()
    runs = finite(verdict.run_values) or [value]
    # A bill is one number of many runs.
    single = "one run" if verdict.n < 2 else f"{counted(verdict.n, 'run')} of each role"
    kept = [runs[index] for index in telling_indices(runs, MAX_POINTS)]
    interval = verdict.interval if verdict.interval and all(map(math.isfinite, verdict.interval)) else None
    word = ", ".join((verdict.word, *verdict.qualifiers))
    origin = f" ({verdict.bound_origin})" if verdict.bound_origin else ""
    axis = f"{metric}, {unit}" if unit else metric
    spoken = f"95 % interval {_span(interval, unit)}" if interval else "no interval"
    return make_figure(
        id=id_,
        title=f"{metric} is {value_text}; {asked} was asked{origin}: {word}",
        alt=f"{counted(len(runs), 'run')} drawn, the median {value_text} and {spoken}, beside the bound: {asked}.",
        head=("what", axis),
        rows=[
            ("asked", asked),
            (f"median of {counted(len(runs), 'run')}" if len(runs) > 1 else single, units.format_number(value)),
            *((f"run {place}", units.format_number(one)) for place, one in enumerate(runs, 1) if len(runs) > 1),
            *([("95 % interval", _span(interval, ""))] if interval else []),
        ],
        chart=lambda: _chart(_lanes(kept, single), axis, _domain(verdict, runs, bound), bound),
        datasets={
            "runs": [{"value": one, "lane": lane} for one, lane in zip(kept, _lane_names(kept, single), strict=True)],
            "median": [{"value": value, "lane": _lanes(kept, single)[0], "text": value_text}],
            "interval": [{"low": interval[0], "high": interval[1], "lane": _lanes(kept, single)[0]}]
            if interval
            else [],
            "bound": [{"value": bound, "text": f"asked: {asked}"}],
        },
        notes=_notes(len(kept), len(runs), single),
    )


def _notes(num_drawn: int, num_runs: int, single: str) -> list[str]:
    if num_runs == 1:
        return [f"{single[:1].upper()}{single[1:]}, one number: it has no interval."]
    return thinned(num_drawn, num_runs, "runs")


def _span(interval: tuple[float, float], unit: str) -> str:
    return f"{units.format_number(interval[0])} to {units.format_number(interval[1])} {unit}".strip()


def _lanes(runs: Sequence[float], single: str) -> list[str]:
    if len(runs) == 1:
        return [single]
    return ["median", *dict.fromkeys(_lane_names(runs, single))]


def _lane_names(runs: Sequence[float], single: str) -> list[str]:
    if len(runs) == 1:
        return [single]
    return [f"run {place}" if len(runs) <= MAX_LANES else "runs" for place in range(1, len(runs) + 1)]


def _domain(verdict: Verdict, runs: Sequence[float], bound: float) -> tuple[float, float]:
    """Bound and runs with room around; a distance is shown from 0 on."""
    shown = [*runs, bound, *finite(verdict.interval or ())]
    low, high = min(shown), max(shown)
    room = max(0.2 * (high - low), 0.1 * abs(high)) or 1.0
    if verdict.comparator == "within" and low >= 0:
        return 0.0, high + room
    # What cannot be negative is drawn from 0 on where it comes near.
    return (max(0.0, low - room) if low >= 0 else low - room), high + room


def _chart(lanes: Sequence[str], title: str, domain: tuple[float, float], bound: float) -> "alt.TopLevelMixin":
    import altair as alt

    scale, ticks = alt.Scale(domain=list(domain), nice=False, zero=False), alt.Axis(tickCount=8)
    x = alt.X("value:Q", title=title, scale=scale, axis=ticks)
    side: Literal["left", "right"] = "left" if bound < (domain[0] + domain[1]) / 2 else "right"
    axis = alt.Axis(title=None, minExtent=LABEL_WIDTH, maxExtent=LABEL_WIDTH, ticks=False, domain=False)
    y = alt.Y("lane:N", sort=None, scale=alt.Scale(domain=list(lanes)), axis=axis)
    asked = alt.Chart(alt.NamedData("bound"))
    median = alt.Chart(alt.NamedData("median"))
    return alt.layer(
        alt.Chart(alt.NamedData("interval"))
        .mark_rule(strokeWidth=3, color=BLUE, opacity=0.8)
        .encode(x=alt.X("low:Q", title=title, scale=scale, axis=ticks), x2="high:Q", y=y),
        asked.mark_rule(strokeDash=[6, 4], strokeWidth=2, color=VERMILION).encode(x=x),
        asked.mark_text(dy=-9, align=side, baseline="bottom", color=INK).encode(x=x, y=alt.value(0), text="text:N"),
        alt.Chart(alt.NamedData("runs")).mark_point(size=70, filled=True, color=BLUE, opacity=1).encode(x=x, y=y),
        median.mark_point(size=160, shape="diamond", strokeWidth=2, color=INK).encode(x=x, y=y),
        median.mark_text(dy=-12, color=INK).encode(x=x, y=y, text="text:N"),
    ).properties(width=WIDTH, height=alt.Step(30 if len(lanes) < 8 else 20))
