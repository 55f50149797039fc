"""How mixed runs and controls are drawn: seed by seed, on a full scale, close up and as differences."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.report.figures.look import BLUE, GREEN, INK, PURPLE, VERMILION, WIDTH
from pytest_mixgpu.report.figures.phase_bars import lane_axis

if TYPE_CHECKING:
    import altair as alt

    from pytest_mixgpu.report.figures.draw import Datasets

_KINDS = ("mixed", "control", "mean of the controls")
_SHAPES = ("diamond", "circle", "stroke")


class Pair(NamedTuple):
    """One seed: the mixed run's accuracy and its controls', in percent of the test set."""

    repeat: int
    lane: str
    mixed: float
    controls: tuple[float, ...]
    signed: float
    """Mixed minus the mean of the controls, in points."""

    @property
    def mean(self) -> float:
        """Of the controls."""
        return statistics.fmean(self.controls)


class Limits(NamedTuple):
    """What the seeds are seen beside; None is not known."""

    target: float | None
    """In percent of the test set."""
    bound: float | None
    """Tolerated distance, in points."""
    resolvable: float | None
    """Smallest difference that so many seeds could have shown, in points."""
    mean: float
    """Of mixed minus controls, in points."""


def parity_rows(pairs: Sequence[Pair], limits: Limits) -> "Datasets":
    """Return what is drawn of these seeds, in percent of the test set."""
    target, bound, resolvable, mean = limits
    close = _close(pairs, target)
    named = [(one, kind, value) for one in pairs for kind, value in _scores(one)]
    return {
        "scores": [{"lane": one.lane, "kind": kind, "value": value} for one, kind, value in named],
        "pairs": [
            {"lane": one.lane, "low": min(one.mixed, *one.controls), "high": max(one.mixed, *one.controls)}
            for one in pairs
        ],
        "bands": [] if bound is None else [
            {"lane": one.lane, "low": max(close[0], one.mean - bound), "high": min(close[1], one.mean + bound)}
            for one in pairs
        ],
        "near": [] if target is None or not close[0] <= target <= close[1] else [{"value": target}],
        "target": [] if target is None else [{"value": target, "text": f"target {units.format_exact(target)} %"}],
        "differences": [{"lane": one.lane, "value": one.signed} for one in pairs],
        "tolerance": [] if bound is None else [{"low": -bound, "high": bound}],
        "mean": [{"value": mean, "text": f"mean {mean:+.2f}"}],
        "resolvable": [] if resolvable is None else [{"value": side * resolvable} for side in (-1, 1)],
    }  # fmt: skip


def _scores(one: Pair) -> list[tuple[str, float]]:
    return [(_KINDS[0], one.mixed), *((_KINDS[1], value) for value in one.controls), (_KINDS[2], one.mean)]


def _close(pairs: Sequence[Pair], target: float | None) -> list[float]:
    """Return the ends of the close-up: all scores with room around, never beyond 0 and 100 %."""
    scores = [value for one in pairs for value in (one.mixed, *one.controls)]
    room = max(1.0, 0.3 * (max(scores) - min(scores)))
    low, high = min(scores) - room, max(scores) + room
    if target is not None and low - 2 * room <= target:
        low = min(low, target - 0.2 * room)
    return [max(0.0, low), min(100.0, high)]


def _reach(pairs: Sequence[Pair], bound: float | None, resolvable: float | None) -> float:
    """Return how far the scale of differences reaches to each side."""
    return 1.15 * max([abs(one.signed) for one in pairs] + [bound or 0.0, resolvable or 0.0, 0.1])


def parity_chart(pairs: Sequence[Pair], limits: Limits) -> "alt.TopLevelMixin":
    """Draw them on a full scale, close up, and as differences beside the tolerance."""
    import altair as alt

    lanes, reach = [one.lane for one in pairs], _reach(pairs, limits.bound, limits.resolvable)

    def of(name: str) -> alt.Chart:
        return alt.Chart(alt.NamedData(name))

    def x(field: str, title: str, domain: list[float]) -> alt.X:
        scale = alt.Scale(domain=domain, nice=False, zero=False)
        return alt.X(f"{field}:Q", title=title, scale=scale, axis=alt.Axis(tickCount=8))

    domain = list(_KINDS)
    legend = alt.Legend(title=None)
    colour = alt.Color("kind:N", scale=alt.Scale(domain=domain, range=[VERMILION, BLUE, INK]), legend=legend)
    shape = alt.Shape("kind:N", scale=alt.Scale(domain=domain, range=list(_SHAPES)), legend=legend)

    def scores(title: str, ends: list[float], *, has_bands: bool) -> alt.LayerChart | alt.FacetChart:
        bands = of("bands").mark_rule(strokeWidth=16, opacity=0.18, color=GREEN)
        target = of("near" if has_bands else "target").mark_rule(strokeDash=[6, 4], color=PURPLE, strokeWidth=2)
        layers = [
            of("pairs").mark_rule(color=INK, opacity=0.4).encode(
                x=x("low", title, ends), x2="high:Q", y=lane_axis(lanes)
            ),
            target.encode(x=x("value", title, ends)),
            of("scores").mark_point(size=90, strokeWidth=2).encode(
                x=x("value", title, ends), y=lane_axis(lanes), color=colour, shape=shape
            ),
        ]  # fmt: skip
        if has_bands:
            layers.insert(0, bands.encode(x=x("low", title, ends), x2="high:Q", y=lane_axis(lanes)))
        else:
            text = of("target").mark_text(align="right", baseline="bottom", dy=-3)
            layers.append(text.encode(x=x("value", title, ends), y=alt.value(0), text="text:N"))
        return alt.layer(*layers).properties(width=WIDTH, height=alt.Step(26))

    title = "mixed minus mean of the controls, percentage points (green: the tolerance)"
    ends, close = [-reach, reach], _close(pairs, limits.target)
    differences = alt.layer(
        of("tolerance").mark_rect(opacity=0.18, color=GREEN).encode(x=x("low", title, ends), x2="high:Q"),
        of("resolvable").mark_rule(strokeDash=[2, 4], color=INK).encode(x=x("value", title, ends)),
        of("mean").mark_rule(color=VERMILION, strokeWidth=2).encode(x=x("value", title, ends)),
        of("mean").mark_text(baseline="bottom", dy=-3).encode(x=x("value", title, ends), y=alt.value(0), text="text:N"),
        of("differences")
        .mark_point(shape="diamond", size=90, strokeWidth=2, color=VERMILION)
        .encode(x=x("value", title, ends), y=lane_axis(lanes)),
    ).properties(width=WIDTH, height=alt.Step(26))
    return alt.vconcat(
        scores("accuracy on the test set, %, full scale", [0.0, 100.0], has_bands=False),
        scores(
            "close-up, % of the test set (green: tolerance around the controls' mean)",
            close,
            has_bands=True,
        ),
        differences,
    )
