"""Which participant each round waited for: the one whose READY came last."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_mixgpu import units
from pytest_mixgpu.marks.alignment import waited_for
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures.chosen import UNDER_TEST, first_of_each, repeats_note
from pytest_mixgpu.report.figures.look import BLUE, WIDTH
from pytest_mixgpu.report.figures.made import make_figure, participant_label, run_label
from pytest_mixgpu.report.figures.phase_bars import lane_axis
from pytest_mixgpu.report.model import Figure

if TYPE_CHECKING:
    import altair as alt

MAX_LANES = 24
MAX_STRIPS = 150
"""Of more rounds only the counts are drawn."""


def holdup_figures(runs: Sequence[RunRecord]) -> tuple[Figure, ...]:
    """Draw whom the measured rounds of each run under test waited for."""
    found = (_figure(run, repeats_note(runs, run)) for run in first_of_each(runs, UNDER_TEST))
    return tuple(figure for figure in found if figure is not None)


def _figure(run: RunRecord, notes: list[str]) -> Figure | None:
    waits: dict[int, list[tuple[int, float]]] = {participant: [] for participant in range(len(run.devices))}
    # Once and no more: the rounds of a very long run are made anew each time somebody looks.
    for position, line in enumerate(run.measured_rounds, 1):
        last = waited_for(line)
        if last is not None:
            waits.setdefault(last[0], []).append((position, last[1]))
    num_rounds = sum(map(len, waits.values()))
    if num_rounds == 0:
        return None
    ranked = sorted(waits, key=lambda one: (-len(waits[one]), one))
    kept = sorted(ranked[:MAX_LANES])
    labels = {one: f"{participant_label(run, one)}: {len(waits[one])} of {num_rounds}" for one in kept}
    first, is_strip = ranked[0], num_rounds <= MAX_STRIPS
    lost_s = sum(wait for found in waits.values() for _, wait in found)
    if len(kept) < len(ranked):
        notes = [*notes, f"The {MAX_LANES} participants that most rounds waited for, of {len(ranked):,}."]
    return make_figure(
        id=f"holdups-{run.header.name}",
        title=f"{run_label(run)}: {len(waits[first])} of {num_rounds} rounds waited for participant "
        f"{participant_label(run, first)}; the last one came {units.format_duration(lost_s / num_rounds)} after the "
        "one before it on average",
        alt="A lane for each participant; "
        + ("a mark for each round that waited for it." if is_strip else "a bar for the rounds that waited for it."),
        head=("participant", "rounds that waited for it", "of", "seconds after the one before, in all"),
        rows=[
            (
                participant_label(run, one),
                str(len(waits[one])),
                str(num_rounds),
                units.format_duration(sum(wait for _, wait in waits[one])) if waits[one] else "0",
            )
            for one in ranked
        ],
        chart=lambda: _chart(list(labels.values()), num_rounds, is_strip=is_strip),
        datasets={
            "rounds": [{"lane": labels[one], "round": place} for one in kept for place, _ in waits[one] if is_strip],
            "counts": [] if is_strip else [{"lane": labels[one], "count": len(waits[one])} for one in kept],
        },
        notes=notes,
    )


def _chart(lanes: Sequence[str], num_rounds: int, *, is_strip: bool) -> "alt.TopLevelMixin":
    import altair as alt

    if not is_strip:
        bars = alt.Chart(alt.NamedData("counts")).mark_bar(color=BLUE)
        x = alt.X("count:Q", title="rounds that waited for it", axis=alt.Axis(tickMinStep=1, format=",d"))
        return alt.layer(bars.encode(x=x, y=lane_axis(lanes))).properties(width=WIDTH, height=alt.Step(18))
    scale = alt.Scale(domain=[0.5, num_rounds + 0.5], nice=False, zero=False)
    x = alt.X("round:Q", title="measured round", scale=scale, axis=alt.Axis(tickMinStep=1, format="d"))
    size = min(160.0, (0.7 * WIDTH / num_rounds) ** 2)
    marks = alt.Chart(alt.NamedData("rounds")).mark_point(shape="square", filled=True, color=BLUE, size=size, opacity=1)
    return alt.layer(marks.encode(x=x, y=lane_axis(lanes))).properties(width=WIDTH, height=alt.Step(20))
