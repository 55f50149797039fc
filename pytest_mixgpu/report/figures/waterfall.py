"""What one completed result cost: item by item from setup to people, then what it was compared with, then the quotient.

Where nobody stated a price for devices there is no cost: then their hours are drawn, which are always known.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu import units
from pytest_mixgpu.marks.cost import Bill, Cost, CostItem, comparison_bills, cost_of
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.report.figures.look import BLUE, GREY, INK, VERMILION, WIDTH
from pytest_mixgpu.report.figures.made import counted, make_figure
from pytest_mixgpu.report.figures.phase_bars import lane_axis
from pytest_mixgpu.report.model import Figure
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    import altair as alt


class Step(NamedTuple):
    """One bar of the waterfall, in money or device-hours."""

    name: str
    amount: float | None
    """None is not stated."""
    start: float
    kind: str
    """`item`, `compared` (what was compared with) or `sum`."""


def cost_figures(evidence: Evidence | None) -> tuple[Figure, ...]:
    """Draw the bill of an experiment that has runs."""
    if evidence is None or not evidence.attempts:
        return ()
    cost = cost_of(evidence)
    has_price = cost.whole.amount is not None and math.isfinite(cost.whole.amount)
    unit = clean(cost.currency, limit=20) if has_price else "device-hours"
    steps = _steps(cost, evidence, has_price=has_price)
    return (_figure(steps, cost, unit),) if steps else ()


def _steps(cost: Cost, evidence: Evidence, *, has_price: bool) -> list[Step]:
    """Lay bars one after the other: items of the runs under test, each group of the others, sum, cost of one result."""
    steps: list[Step] = []
    now = 0.0
    compared = comparison_bills(evidence)
    amounts = [(item.name, _amount(item, has_price=has_price), "item") for item in cost.bare.items]
    amounts += [
        (f"{name} runs", bill.amount if has_price else _hours(bill), "compared") for name, bill in compared.items()
    ]
    for name, amount, kind in amounts:
        if amount is not None and not math.isfinite(amount):
            continue
        steps.append(Step(name, amount, now, kind))
        now += amount or 0.0
    steps.append(Step("sum", now, 0.0, "sum"))
    if cost.num_results:
        steps.append(Step(f"one result of {cost.num_results}", now / cost.num_results, 0.0, "sum"))
    return steps


def _amount(item: CostItem, *, has_price: bool) -> float | None:
    if has_price:
        return item.amount
    return item.quantity if item.unit == "device-hours" else None


def _hours(bill: Bill) -> float | None:
    """Add up the items of a bill as those of the runs under test are: None where one is not known."""
    hours = [item.quantity for item in bill.items if item.unit == "device-hours"]
    known = [each for each in hours if each is not None]
    return sum(known) if len(known) == len(hours) else None


def _figure(steps: list[Step], cost: Cost, unit: str) -> Figure:
    total, results = steps[-1 if cost.num_results == 0 else -2].amount, cost.num_results
    largest = max(
        (one for one in steps if one.kind != "sum" and one.amount is not None), key=lambda one: one.amount or 0.0
    )
    one = f"One completed result cost {_said(steps[-1].amount, unit)}" if results else "No run met the target; all cost"
    title = f"{one}; all {_said(total, unit)}" if results else f"{one} {_said(total, unit)}"
    unstated = [step.name for step in steps if step.amount is None]
    lanes = [step.name for step in steps]
    return make_figure(
        id="cost",
        title=f"{title}; largest part: {largest.name}",
        alt="Bars one after the other from setup to people for the runs under test, then what they were compared with, "
        f"then the sum {_said(total, unit)} and its share of {counted(results, 'completed result')}.",
        head=("item", unit, "sum so far"),
        rows=[
            (
                step.name,
                units.NOT_STATED if step.amount is None else units.format_number(step.amount),
                units.format_number(step.start + (step.amount or 0.0)),
            )
            for step in steps
        ],
        chart=lambda: _chart(lanes, unit),
        datasets={
            "bars": [
                {"lane": step.name, "start": step.start, "end": step.start + (step.amount or 0.0), "kind": step.kind}
                for step in steps
                if step.amount is not None
            ],
            "texts": [
                {
                    "lane": step.name,
                    "end": step.start + (step.amount or 0.0),
                    "text": units.NOT_STATED if step.amount is None else units.format_number(step.amount),
                }
                for step in steps
            ],
        },
        notes=[
            *([f"Not stated, and in no sum: {', '.join(unstated)}."] if unstated else []),
            *(
                [f"No price is stated for {', '.join(cost.unpriced_kinds)}: hours, not money."]
                if unit == "device-hours"
                else []
            ),
        ],
    )


def _said(amount: float | None, unit: str) -> str:
    return units.format_money(amount, unit)


def _chart(lanes: list[str], unit: str) -> "alt.TopLevelMixin":
    import altair as alt

    bars, texts = alt.Chart(alt.NamedData("bars")), alt.Chart(alt.NamedData("texts"))
    x = alt.X("start:Q", title=unit, scale=alt.Scale(zero=True), axis=alt.Axis(tickCount=6))
    scale = alt.Scale(domain=["item", "compared", "sum"], range=[BLUE, GREY, VERMILION])
    names = "datum.label == 'item' ? 'runs under test' : datum.label == 'compared' ? 'compared with' : 'sum'"
    legend = alt.Legend(title=None, labelExpr=names, symbolType="square")
    return alt.layer(
        bars.mark_bar(height=14, minBandSize=1).encode(
            x=x, x2="end:Q", y=lane_axis(lanes), color=alt.Color("kind:N", scale=scale, legend=legend)
        ),
        texts.mark_text(align="left", dx=6, color=INK).encode(
            x=alt.X("end:Q", title=unit), y=lane_axis(lanes), text="text:N"
        ),
    ).properties(width=WIDTH - 20, height=alt.Step(22))
