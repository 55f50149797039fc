"""One chart a mark: its value against the bound, every run as a point, the interval."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from pytest_mixgpu import units
from pytest_mixgpu.marks.comparison import meets
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.figures.look import BLUE, INK, LABEL_WIDTH, VERMILION, WIDTH
from pytest_mixgpu.report.figures.made import counted, finite, make_figure, thinned
from pytest_mixgpu.report.figures.thin import telling_indices
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.verdict_rows import COMPARATORS, value_and_bound
from pytest_mixgpu.report.words import metric_in_words

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
    metric, unit = clean(metric_in_words(verdict.metric), limit=60), clean(verdict.unit, limit=20)
    value_text, bound_text = value_and_bound(verdict)
    bound_text = bound_text.removeprefix(COMPARATORS[verdict.comparator] if verdict.comparator else "").strip()
    asked = f"{_RELATIONS.get(verdict.comparator or '', '')} {bound_text}".strip()
    runs = finite(verdict.run_values) or [value]
    # A bill is one number of many runs.
    alone = "one run" if len(verdict.run_ids) < 2 else "one repeat"
    single = alone if verdict.n < 2 else f"all {counted(len(verdict.run_ids) or verdict.n, 'run')}"
    kept = [runs[index] for index in telling_indices(runs, MAX_POINTS)]
    interval = verdict.interval if verdict.interval and all(map(math.isfinite, verdict.interval)) else None
    domain = _domain(verdict, runs, bound)
    word = ", ".join((verdict.word, *verdict.qualifiers))
    axis = f"{metric}, {unit}" if unit else metric
    spoken = f"95 % interval {_span(interval, unit)}" if interval else "no interval"
    return make_figure(
        id=id_,
        title=f"{metric}: {_finding(verdict, runs, bound, interval)}: {word}",
        alt=f"{counted(len(runs), 'value')} in the order of their repeats, the median {value_text} and {spoken}, "
        f"beside the bound: {asked}.",
        head=("what", axis),
        rows=[
            ("asked", asked),
            (f"median of {counted(len(runs), 'run')}" if len(runs) > 1 else single, units.format_number(value)),
            *(
                (f"{place} of {len(runs):,}", units.format_number(one))
                for place, one in enumerate(runs, 1)
                if len(runs) > 1
            ),
            *([("95 % interval", _span(interval, ""))] if interval else []),
        ],
        chart=lambda: _chart(_lanes(kept, single), axis, domain, bound=bound, value=value),
        datasets={
            "runs": [{"value": one, "lane": lane} for one, lane in zip(kept, _lane_names(kept, single), strict=True)],
            "median": [{"value": value, "lane": _lanes(kept, single)[0], "text": value_text}],
            "interval": []
            if interval is None
            else [{"low": max(domain[0], interval[0]), "high": interval[1], "lane": _lanes(kept, single)[0]}],
            "bound": [{"value": bound, "text": f"asked: {asked}"}],
        },
        notes=_notes(len(kept), len(runs), single, is_cut=interval is not None and interval[0] < domain[0]),
    )


def _finding(verdict: Verdict, runs: Sequence[float], bound: float, interval: tuple[float, float] | None) -> str:
    """Say how single values and interval lie to the bound: more than the median beside it, which stands above."""
    value_text, bound_text = value_and_bound(verdict)
    comparator, _, text = bound_text.partition(" ")
    asked = f"{_RELATIONS.get(verdict.comparator or '', comparator)} {text}".strip()
    if verdict.word not in {"PASS", "FAIL"}:
        return f"{value_text}, not to be used; {asked} was asked"
    if verdict.comparator is None or len(runs) < 2:
        return f"{value_text}, {asked} was asked"
    good = sum(meets(one, verdict.comparator, bound) for one in runs)
    share = "all" if good == len(runs) else "none" if good == 0 else f"{good:,}"
    ends = [meets(end, verdict.comparator, bound) for end in interval or ()]
    whole = "" if not ends else ", and so is the whole 95 % interval" if all(ends) and good == len(runs) else ""
    if ends and not good and not any(ends):
        whole = "; the whole 95 % interval lies beyond"
    return f"{share} of {len(runs):,} values {'is' if good == 1 else 'are'} {asked}{whole}"


def _notes(num_drawn: int, num_runs: int, single: str, *, is_cut: bool) -> list[str]:
    if num_runs == 1:
        return [f"{single[:1].upper()}{single[1:]}, one number: it has no interval."]
    cut = ["The interval is drawn from 0 on: what is measured here cannot be less."] if is_cut else []
    return [*cut, *thinned(num_drawn, num_runs, "values")]


def _span(interval: tuple[float, float], unit: str) -> str:
    return f"{units.format_number(interval[0])} to {units.format_number(interval[1])} {unit}".strip()


def _lanes(runs: Sequence[float], single: str) -> list[str]:
    if len(runs) == 1:
        return [single]
    return ["median", *dict.fromkeys(_lane_names(runs, single))]


def _lane_names(runs: Sequence[float], single: str) -> list[str]:
    if len(runs) == 1:
        return [single]
    return [
        f"{place} of {len(runs)}" if len(runs) <= MAX_LANES else "single values" for place in range(1, len(runs) + 1)
    ]


def _domain(verdict: Verdict, runs: Sequence[float], bound: float) -> tuple[float, float]:
    """Bound, runs and interval with room around; a distance is shown from 0 on."""
    shown = [*runs, bound, *finite(verdict.interval or ())]
    low, high = min(shown), max(shown)
    room = max(0.2 * (high - low), 0.1 * abs(high)) or 1.0
    if min(*runs, bound) < 0:
        return low - room, high + room
    # Durations, ratios, costs and distances are never negative: an interval that takes the spread as normal may be.
    return (0.0 if verdict.comparator == "within" else max(0.0, low - room)), high + room


def _away_from_edges(place: float, domain: tuple[float, float], *, near: float) -> Literal["left", "center", "right"]:
    """Say to which side of a place a text starts, so that it stays on the plot."""
    share = (place - domain[0]) / (domain[1] - domain[0])
    return "left" if share < near else "right" if share > 1 - near else "center"


def _chart(
    lanes: Sequence[str], title: str, domain: tuple[float, float], *, bound: float, value: float
) -> "alt.TopLevelMixin":
    import altair as alt

    scale, ticks = alt.Scale(domain=list(domain), nice=False, zero=False), alt.Axis(tickCount=8)
    x = alt.X("value:Q", title=title, scale=scale, axis=ticks)
    side = _away_from_edges(bound, domain, near=0.5)
    # Beside a value at the edge its text would run into the names of lanes.
    beside = _away_from_edges(value, domain, near=0.15)
    axis = alt.Axis(
        title=None, minExtent=LABEL_WIDTH, maxExtent=LABEL_WIDTH, ticks=False, domain=False, labelPadding=10
    )
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
        median.mark_text(dy=-12, dx={"left": 6, "right": -6}.get(beside, 0), align=beside, color=INK).encode(
            x=x, y=y, text="text:N"
        ),
    ).properties(width=WIDTH, height=alt.Step(30 if len(lanes) < 8 else 20))
