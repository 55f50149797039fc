"""Accuracy on the validation data over time and over samples, beside the target: how soon each run was good enough."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.marks.comparison import reaches
from pytest_mixgpu.marks.timings import accuracy_points, first_at_target
from pytest_mixgpu.records.model import Evaluation, RunRecord
from pytest_mixgpu.report.figures.chosen import ORDER
from pytest_mixgpu.report.figures.look import INK, PURPLE, SERIES_COLOURS, SERIES_SHAPES, WIDTH
from pytest_mixgpu.report.figures.made import make_figure, run_label
from pytest_mixgpu.report.figures.thin import spread_indices
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    import altair as alt

MAX_RUNS = 30
MAX_LOOKS = 100
"""Looks at the validation data of one run that are drawn."""


class Over(NamedTuple):
    """What accuracy is drawn over."""

    name: str
    axis: str
    place: Callable[[Evaluation], float]
    said: Callable[[float], str]


def learning_figures(runs: Sequence[RunRecord], target: float | None) -> tuple[Figure, ...]:
    """Draw what runs learned, over seconds of training and over samples.

    Args:
        runs: of any role; those that never looked at the validation data are left out.
        target: share that counts as done, 0 to 1; None where nothing says it.
    """
    found = [run for run in runs if _looks(run)]
    if not found:
        return ()
    found.sort(key=lambda run: (ORDER.index(run.header.role), run.header.name, run.header.repeat))
    return (
        _figure(found, target, Over("time", "seconds of training", lambda one: one.training_s, units.format_duration)),
        _figure(found, target, Over("samples", "training samples", lambda one: float(one.samples_seen), _count)),
    )


def _count(samples: float) -> str:
    return f"{units.format_count(round(samples))} samples"


def _looks(run: RunRecord) -> list[Evaluation]:
    return [
        one
        for one in run.evaluations
        if one.split == "validation" and one.num_total > 0 and math.isfinite(one.training_s)
    ]


def _figure(runs: Sequence[RunRecord], target: float | None, over: Over) -> Figure:
    name, axis, place, said = over
    drawn = [runs[index] for index in spread_indices(len(runs), MAX_RUNS)]
    names = list(dict.fromkeys(clean(run.header.name, limit=40) for run in runs))
    at_target = {run.id: None if target is None else first_at_target(run, target) for run in runs}
    shown = {run.id: [_looks(run)[index] for index in spread_indices(len(_looks(run)), MAX_LOOKS)] for run in drawn}
    lowest = _lowest([float(accuracy_points(one)) for looks in shown.values() for one in looks], target)
    return make_figure(
        id=f"accuracy-{name}",
        title=_title(runs, at_target, target, over),
        alt=f"Accuracy on the validation data over {axis}, a line for each run, beside the target as a dashed line. "
        "A ring is the first look at which a run was at the target.",
        head=("run", "after", "right, %", "right of", "at the target"),
        rows=[
            (
                run_label(run),
                said(place(one)),
                f"{float(accuracy_points(one)):.2f}",
                f"{one.num_correct} of {one.num_total}",
                "not known" if target is None else "yes" if reaches(one.num_correct, one.num_total, target) else "no",
            )
            for run in drawn
            for one in shown[run.id]
        ],
        chart=lambda: _chart(names, axis, lowest),
        datasets={
            "looks": [
                {
                    "x": place(one),
                    "y": float(accuracy_points(one)),
                    "name": clean(run.header.name, limit=40),
                    "run": run.id,
                }
                for run in drawn
                for one in shown[run.id]
            ],
            "firsts": [
                {"x": place(one), "y": float(accuracy_points(one))}
                for run in drawn
                if (one := at_target[run.id]) is not None
            ],
            "target": [] if target is None else [{"y": 100 * target, "text": f"target {units.format_percent(target)}"}],
        },
        notes=[
            "The target is set for the test set, which is looked at once; here it stands beside validation data.",
            *(
                [f"{len(drawn)} of {len(runs):,} runs are drawn, spread evenly over roles."]
                if len(drawn) < len(runs)
                else []
            ),
        ],
    )


def _title(
    runs: Sequence[RunRecord], at_target: Mapping[str, Evaluation | None], target: float | None, over: Over
) -> str:
    """Say when the first run of each name under test was at the target."""
    if target is None:
        return "Accuracy on validation data; nothing says from where on it is good enough"
    first = {run.header.name: run for run in reversed(runs) if run.header.role in {"fleet", "mixed", "reference"}}
    told = []
    for run in reversed(first.values()):
        at = at_target[run.id]
        told.append(f"{run_label(run)} {'never was' if at is None else f'after {over.said(over.place(at))}'}")
    asked = f"Accuracy on validation data beside the target of {units.format_percent(target)}"
    return f"{asked}; at it: {', '.join(told)}" if told else asked


def _lowest(scores: Sequence[float], target: float | None) -> float:
    """Return where the axis starts: at 0, or a little below everything where all lies close to the top."""
    least = min([*scores, 100.0 if target is None else 100 * target])
    return 0.0 if least < 60 else 5 * math.floor((least - 2) / 5)


def _chart(names: Sequence[str], axis: str, lowest: float) -> "alt.TopLevelMixin":
    import altair as alt

    colours = alt.Scale(domain=list(names), range=[SERIES_COLOURS[i % len(SERIES_COLOURS)] for i in range(len(names))])
    shapes = alt.Scale(domain=list(names), range=[SERIES_SHAPES[i % len(SERIES_SHAPES)] for i in range(len(names))])
    legend = alt.Legend(title=None, columns=6)
    colour = alt.Color("name:N", scale=colours, legend=legend)
    shape = alt.Shape("name:N", scale=shapes, legend=legend)
    title = "right, % of the validation data" + (f" (from {lowest:g} on)" if lowest else "")
    x = alt.X("x:Q", title=axis, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    y = alt.Y("y:Q", title=title, scale=alt.Scale(domain=[lowest, 100]))
    looks, target = alt.Chart(alt.NamedData("looks")), alt.Chart(alt.NamedData("target"))
    firsts = alt.Chart(alt.NamedData("firsts"))
    return alt.layer(
        target.mark_rule(strokeDash=[6, 4], color=PURPLE, strokeWidth=2).encode(y=y),
        target.mark_text(align="right", baseline="top", dx=-4, dy=5).encode(
            x=alt.value(WIDTH + 60), y=y, text="text:N"
        ),
        looks.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour, detail="run:N"),
        looks.mark_point(filled=True, size=40, opacity=1).encode(x=x, y=y, color=colour, shape=shape),
        firsts.mark_point(size=190, color=INK, strokeWidth=1.5, shape="circle").encode(x=x, y=y),
    ).properties(width=WIDTH + 60, height=260)
