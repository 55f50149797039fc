"""Tables of figures hold what records and verdicts hold: nothing is computed on the way but where it stands."""

import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu import units
from pytest_mixgpu.marks.alignment import waited_for
from pytest_mixgpu.marks.cost import cost_of
from pytest_mixgpu.marks.quality import parity
from pytest_mixgpu.marks.speed_points import speed_points
from pytest_mixgpu.marks.timings import first_at_target, samples_per_s
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures import speed
from pytest_mixgpu.report.figures.bounds import mark_figures
from pytest_mixgpu.report.figures.holdups import holdup_figures
from pytest_mixgpu.report.figures.learning import learning_figures
from pytest_mixgpu.report.figures.parity import parity_figures
from pytest_mixgpu.report.figures.phase_bars import phase_figures
from pytest_mixgpu.report.figures.placement import placement_figures
from pytest_mixgpu.report.figures.rates import rate_figures
from pytest_mixgpu.report.figures.run_spread import run_figures
from pytest_mixgpu.report.figures.speed import speed_figures
from pytest_mixgpu.report.figures.timeline import timeline_figures
from pytest_mixgpu.report.figures.waterfall import cost_figures
from pytest_mixgpu.report.sections.phases import median_round
from pytest_mixgpu.timing.model import PHASES
from pytest_mixgpu.timing.phases import phase_totals
from tests.judging import e1_marks, make_evidence, with_prices, with_runs
from tests.report.figures.seen import cells_of, root_of, words_of
from tests.report.made_verdicts import speedup
from tests.sample_doctors import as_failed, only, with_score
from tests.samples import as_record, e1_plan, make_run

AND_WHOLE, BEYOND = ", and so is the whole 95 % interval", "; the whole 95 % interval lies beyond"
FEW = settings(max_examples=8, deadline=None)
RUNS = st.builds(
    make_run,
    role=st.sampled_from(["fleet", "mixed"]),
    rehearsal=st.booleans(),
    repeat=st.integers(min_value=0, max_value=4),
    speed=st.floats(min_value=0.2, max_value=20.0),
).map(as_record)


def seconds(value: float) -> str:
    return units.format_duration(value) if value else "0"


@FEW
@given(run=RUNS)
def test_phases_are_those_of_one_real_round(run: RunRecord) -> None:
    """Of the median one: they add up to it, participant by participant."""
    figure, line = phase_figures([run])[0], median_round(run)
    assert line is not None
    totals = [phase_totals(segments) for segments in line.segments]

    for phase in PHASES:
        assert cells_of(figure, phase) == [seconds(one[phase]) for one in totals]
    assert cells_of(figure, "sum") == [seconds(sum(one.values())) for one in totals]
    assert len(figure.table.rows) == len(run.devices)
    assert units.format_duration(line.round_s) in figure.title


@FEW
@given(run=RUNS)
def test_the_timeline_holds_every_round(run: RunRecord) -> None:
    """Warm-ups too; each participant computes once a round, and is drawn to do so."""
    figure = timeline_figures([run])[0]
    computed = [one.get("d", "") for one in root_of(figure).iter() if "--compute" in one.get("stroke", "")]
    whole = max(computed, key=len)

    assert cells_of(figure, "lasts") == [units.format_duration(line.round_s) for line in run.rounds]
    assert cells_of(figure, "kind") == ["warm-up" if line.warmup else "measured" for line in run.rounds]
    assert whole.count("M") == len(run.rounds) * len(run.devices)
    assert "coordinator" in words_of(figure)


@FEW
@given(run=RUNS)
def test_every_round_waited_for_one_participant(run: RunRecord) -> None:
    """Counts add up to the measured rounds."""
    figure = holdup_figures([run])[0]
    last = [waited[0] for line in run.measured_rounds if (waited := waited_for(line)) is not None]
    counts = dict(zip(cells_of(figure, "participant"), cells_of(figure, "rounds that waited for it"), strict=True))

    assert counts == {f"{index} · {device.kind}": str(last.count(index)) for index, device in enumerate(run.devices)}
    assert sum(map(int, counts.values())) == len(run.measured_rounds)


@FEW
@given(run=RUNS)
def test_rates_and_rounds_are_those_of_the_record(run: RunRecord) -> None:
    """The median round's rate, the ends of the rounds' lengths, and each link as it was measured."""
    rate, lengths = samples_per_s(run), [line.round_s for line in run.measured_rounds]
    runs, places = run_figures([run])[0], placement_figures([run])[0]
    assert rate is not None
    assert run.start is not None

    assert cells_of(rate_figures([run])[0], "samples/s") == [units.format_number(rate)]
    for name, value in (("shortest", min(lengths)), ("median", statistics.median(lengths)), ("longest", max(lengths))):
        assert cells_of(runs, name) == [units.format_duration(value)]
    assert sorted(cells_of(places, "host")) == sorted(device.host for device in run.devices)
    assert sorted(cells_of(places, "up")) == sorted(units.format_rate(one.up_bytes_per_s) for one in run.start.links)


def test_a_mark_is_drawn_with_each_of_its_runs() -> None:
    """As many points as values, the bound in words, the interval in the table."""
    values = (1.31, 1.45, 1.5)
    verdict = speedup(value=1.45, n=3, run_values=values, low=1.31, high=1.5, interval=(1.2, 1.7))
    figure = mark_figures([verdict])[0]

    assert figure.title == "Speed-up over one device: 2 of 3 values are at least 1.4 x: PASS, rehearsal"
    assert cells_of(figure, "Speed-up over one device, x") == [
        "at least 1.4 x",
        "1.45",
        "1.31",
        "1.45",
        "1.50",
        "1.20 to 1.70",
    ]
    assert "3 of 3" in words_of(figure)
    assert "asked: at least 1.4 x" in words_of(figure)


@pytest.mark.parametrize(
    ("values", "comparator", "bound", "interval", "said"),
    [
        ((1.5, 1.6), "at_least", 1.4, (1.45, 1.7), f"all of 2 values are at least 1.4 x{AND_WHOLE}"),
        ((1.5, 1.6), "at_least", 1.4, (1.3, 1.8), "all of 2 values are at least 1.4 x: "),
        ((1.3, 1.6), "at_least", 1.4, (1.2, 1.7), "1 of 2 values is at least 1.4 x: "),
        ((1.5, 1.6), "at_most", 1.4, (1.45, 1.7), f"none of 2 values are at most 1.4 x{BEYOND}"),
        ((-0.3, 0.2), "within", 0.5, (-0.4, 0.4), f"all of 2 values are within 0.5 x{AND_WHOLE}"),
        ((1.5,), "at_least", 1.4, None, "1.50 x, at least 1.4 x was asked"),
    ],
)
def test_a_title_says_how_single_values_lie_to_the_bound(
    values: tuple[float, ...], comparator: str, bound: float, interval: tuple[float, float] | None, said: str
) -> None:
    """And how the interval does: the median alone stands above the figure already."""
    verdict = speedup(
        value=values[0], n=len(values), run_values=values, comparator=comparator, bound=bound, interval=interval
    )
    assert f"Speed-up over one device: {said}" in mark_figures([verdict])[0].title


def test_what_cannot_be_negative_is_drawn_from_0_on() -> None:
    """Of an interval that takes the spread as normal the part below 0 is left out, and the figure says so."""
    cut, signed = (
        mark_figures(
            [speedup(value=0.2, bound=1.0, comparator=comparator, n=3, run_values=values, interval=(-0.4, 1.0))]
        )[0]
        for comparator, values in (("at_most", (0.1, 0.2, 0.6)), ("within", (-0.1, 0.2, 0.6)))
    )

    assert "The interval is drawn from 0 on: what is measured here cannot be less." in cut.notes
    assert "−" not in words_of(cut)  # noqa: RUF001 - the sign that the renderer writes
    assert signed.notes == ()
    assert "−" in words_of(signed)  # noqa: RUF001 - as above


def test_the_interval_of_a_speed_up_stays_on_the_plot() -> None:
    """The axis ends above it; where it is very wide it is cut, and the figure says how far it reaches."""
    points = speed_points(make_evidence())

    assert speed._top(points, (1.0, 3.0)) > 3.0
    assert speed._top(points, (1.0, 50.0)) < 50.0
    assert speed._top(points, None) > max(one.ratio for one in points)


@pytest.mark.parametrize("word", ["FAIL", "VOID", "UNJUDGED", "TAMPERED"])
def test_a_mark_that_was_not_met_says_so_in_its_title(word: str) -> None:
    """Whatever side of the bound the value lies on."""
    assert mark_figures([speedup(word=word, qualifiers=())])[0].title.endswith(f": {word}")


def test_seeds_are_paired_with_their_signs() -> None:
    """Mixed minus the mean of the controls, as the judge has it; the clause that passed is told."""
    doctor = only(lambda run: with_score(run, 437), name="mixed", repeat=1)
    evidence = make_evidence(repeats=3, plan=with_runs(e1_plan(), 3), doctor=doctor)
    figure, found = parity_figures([], evidence)[0], parity(evidence)

    assert cells_of(figure, "mixed minus mean, points") == [f"{found.signed[repeat]:+.3f}" for repeat in range(3)]
    assert cells_of(figure, "controls apart") == [f"{found.own_gaps[repeat]:.3f}" for repeat in range(3)]
    assert f"{abs(statistics.fmean(found.signed.values())):.2f} points below" in figure.title
    assert cells_of(figure, "seed") == [f"seed {evidence.seeds.base + repeat}" for repeat in range(3)]


def test_time_and_samples_to_the_target_are_told() -> None:
    """As the first look that was at the target, or as never."""
    run = as_record(make_run())
    low, high = 0.5, 0.99
    first = first_at_target(run, low)
    assert first is not None
    by_time, by_samples = learning_figures([run], low)
    never, _ = learning_figures([run], high)

    assert f"fleet #0 after {units.format_duration(first.training_s)}" in by_time.title
    assert f"fleet #0 after {first.samples_seen:,} samples" in by_samples.title
    assert "fleet #0 never was" in never.title
    assert cells_of(by_time, "right of") == [
        f"{one.num_correct} of {one.num_total}" for one in run.evaluations if one.split == "validation"
    ]


@pytest.mark.parametrize("has_prices", [True, False])
def test_the_waterfall_ends_at_the_cost_of_one_result(has_prices: bool) -> None:  # noqa: FBT001
    """Its steps add up to the bill; what nobody stated is in no sum, and nobody's price is 0."""
    plan = with_runs(e1_plan(), 2)
    failing = only(lambda run: as_failed(run, after_rounds=2), name="fleet", repeat=1)
    evidence = make_evidence(repeats=2, plan=with_prices(plan) if has_prices else plan, rehearsal=False, doctor=failing)
    cost, figure = cost_of(evidence), cost_figures(evidence)[0]
    unit = cost.currency if has_prices else "device-hours"
    steps = dict(zip(cells_of(figure, "item"), cells_of(figure, unit), strict=True))

    assert steps["people"] == "not stated"
    assert "people" in " ".join(figure.notes)
    if has_prices:
        assert cost.whole.amount is not None
        assert steps["sum"] == units.format_number(cost.whole.amount)
        assert steps[f"one result of {cost.num_results}"] == units.format_number(cost.per_result_whole or 0.0)
        assert steps["failures and reruns"] != "0"
    else:
        assert "hours, not money" in " ".join(figure.notes)


def test_sessions_are_told_apart_beside_the_ideal() -> None:
    """Each point with its session; one run has no interval, and the figure says so."""
    evidence = make_evidence()
    verdicts = [speedup()]
    figure = speed_figures(verdicts, evidence)[0]

    assert set(cells_of(figure, "session")) == {"session 1"}
    assert cells_of(figure, "run") == ["fleet", "baseline with-exchange", "reference"]
    assert "No interval: one run." in figure.notes
    assert "the ideal is 2" in figure.title
    assert speed_figures(verdicts, None) == ()
    assert [mark.id for mark in e1_marks().marks] == ["e1-speedup", "e1-parity"]


def test_a_phase_that_took_time_is_never_told_as_nothing() -> None:
    """In a round of twenty seconds, a millisecond of sending is under a tenth of a percent, and not 0.0 %."""
    figure = phase_figures([as_record(make_run())])[0]

    assert "0.0 %" not in figure.title + figure.alt
    assert "under 0.1 % sending" in figure.title
