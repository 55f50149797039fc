"""Absolute rates: training samples a second of every run, with the spread of its rounds; the reference run beside."""

import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.marks.timings import samples_per_s
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures.chosen import ORDER
from pytest_mixgpu.report.figures.look import BLUE, INK, WIDTH
from pytest_mixgpu.report.figures.made import counted, finite, make_figure, run_label, thinned
from pytest_mixgpu.report.figures.phase_bars import lane_axis
from pytest_mixgpu.report.figures.thin import telling_indices
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    import altair as alt

MAX_POINTS = 300


class Rate(NamedTuple):
    """Training samples a second of one run."""

    run: RunRecord
    lane: str
    median: float
    low: float
    high: float
    """Of its rounds."""


def rate_figures(runs: Sequence[RunRecord]) -> tuple[Figure, ...]:
    """Draw the rates of completed runs that have measured rounds."""
    rates = [rate for run in runs if (rate := _rate(run)) is not None]
    return (_figure(rates),) if rates else ()


def _rate(run: RunRecord) -> Rate | None:
    median = samples_per_s(run)
    own = finite(sum(line.samples) / line.round_s for line in run.measured_rounds if line.round_s > 0)
    if run.status != "completed" or median is None or not math.isfinite(median) or not own:
        return None
    header = run.header
    lane = clean(f"{header.name} {header.leg}".strip(), limit=24)
    return Rate(run=run, lane=lane, median=median, low=min(own), high=max(own))


def _figure(rates: list[Rate]) -> Figure:
    rates.sort(key=lambda one: (ORDER.index(one.run.header.role), _leg(one), one.lane, one.run.header.repeat))
    lanes = list(dict.fromkeys(one.lane for one in rates))
    kept = [rates[index] for index in telling_indices([one.median for one in rates], MAX_POINTS)]
    medians = {lane: statistics.median(one.median for one in rates if one.lane == lane) for lane in lanes}
    told = [lane for role in ("fleet", "reference") for lane in lanes if _role_of(rates, lane) == role] or lanes[:1]
    alone = [one.median for one in rates if one.run.header.role == "baseline" and not one.run.header.coordinator]
    said = [f"{lane} trained {units.format_number(medians[lane])} samples/s" for lane in told]
    said += [f"one device alone {units.format_number(statistics.median(alone))}"] if alone else []
    return make_figure(
        id="rates",
        title=", ".join(said),
        alt=f"Training samples a second of {counted(len(rates), 'run')}, a lane for each role: a point is the rate of "
        "a run's median round, the line through it reaches from its slowest round to its fastest.",
        head=("run", "pool", "samples/s", "slowest round", "fastest round"),
        rows=[
            (
                run_label(one.run),
                one.run.header.pool.spec,
                units.format_number(one.median),
                units.format_number(one.low),
                units.format_number(one.high),
            )
            for one in rates
        ],
        chart=lambda: _chart(lanes),
        datasets={
            "rates": [
                {"lane": one.lane, "value": one.median, "low": one.low, "high": one.high, "is_beside": _is_beside(one)}
                for one in kept
            ],
            "texts": [
                {
                    "lane": lane,
                    "value": max(one.high for one in rates if one.lane == lane),
                    "text": units.format_number(value),
                }
                for lane, value in medians.items()
            ],
        },
        notes=thinned(len(kept), len(rates), "runs"),
    )


def _leg(one: Rate) -> int:
    legs = ("before", "after")
    return legs.index(one.run.header.leg) if one.run.header.leg in legs else len(legs)


def _role_of(rates: Sequence[Rate], lane: str) -> str:
    return next(one.run.header.role for one in rates if one.lane == lane)


def _is_beside(one: Rate) -> str:
    return "reference" if one.run.header.role == "reference" else "run"


def _chart(lanes: Sequence[str]) -> "alt.TopLevelMixin":
    import altair as alt

    rates = alt.Chart(alt.NamedData("rates"))
    title = "training samples a second"
    x = alt.X("value:Q", title=title, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=8))
    shapes = alt.Scale(domain=["run", "reference"], range=["circle", "square"])
    texts = alt.Chart(alt.NamedData("texts")).mark_text(align="left", dx=8)
    return alt.layer(
        rates.mark_rule(color=BLUE, opacity=0.8, strokeWidth=2).encode(
            x=alt.X("low:Q", title=title), x2="high:Q", y=lane_axis(lanes)
        ),
        rates.mark_point(filled=True, size=80, color=BLUE, opacity=1).encode(
            x=x, y=lane_axis(lanes), shape=alt.Shape("is_beside:N", scale=shapes, legend=None)
        ),
        texts.encode(x=x, y=lane_axis(lanes), text="text:N", color=alt.value(INK)),
    ).properties(width=WIDTH, height=alt.Step(26))
