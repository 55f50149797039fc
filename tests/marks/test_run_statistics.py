"""How far runs lie apart: known intervals, none for one run, and what hypothesis makes of the rest."""

import math
import statistics

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.marks.statistics import (
    BOOTSTRAP_RUNS,
    binomial_error_points,
    resolvable_difference,
    resolvable_in_deviations,
    share_covered_by_range,
    spread_of,
    straddles,
    student_factor,
)

UNHURRIED = settings(deadline=None, max_examples=50)
"""The first example imports scipy."""
RATIOS = st.lists(st.floats(min_value=0.5, max_value=50.0), min_size=2, max_size=12)
VALUES = st.lists(st.floats(min_value=-1e6, max_value=1e6), min_size=1, max_size=30)


def test_one_run_has_no_interval() -> None:
    """One run is an observation: its range is itself, and nothing is said of how far runs lie apart."""
    spread = spread_of([1.9])

    assert (1, 1.9, 1.9, 1.9) == (spread.n, spread.median, spread.low, spread.high)
    assert (None, None, "no interval: one run") == (spread.interval, spread.resolvable, spread.method)
    assert resolvable_difference([1.9]) is None


def test_no_run_has_no_spread() -> None:
    """Nothing measured is an error here, so that nobody can print it."""
    with pytest.raises(ValueError, match="no run"):
        spread_of([])


def test_few_runs_get_a_student_interval() -> None:
    """Three runs, by the book: mean plus or minus 4.303 standard errors."""
    spread = spread_of([11.0, 11.2, 11.4])
    half = 4.302652729911275 * 0.2 / math.sqrt(3)

    assert spread.interval == pytest.approx((11.2 - half, 11.2 + half))
    assert "Student" in spread.method


@pytest.mark.parametrize(
    ("n", "rank"),
    [
        pytest.param(6, 0, id="six-runs-take-all"),
        pytest.param(8, 0, id="eight"),
        pytest.param(9, 1, id="nine-drop-one-each-side"),
        pytest.param(20, 5, id="twenty"),
    ],
)
def test_many_runs_get_order_statistics(n: int, rank: int) -> None:
    """From six runs on the interval of the median needs no shape of the spread; ranks are those of the tables."""
    spread = spread_of([float(value) for value in range(n)])

    assert (float(rank), float(n - 1 - rank)) == spread.interval
    assert "order statistics" in spread.method


@pytest.mark.parametrize(("n", "share"), [(1, 0.0), (2, 0.5), (3, 0.75), (5, 0.9375), (6, 0.96875)])
def test_range_of_n_runs_covers_the_median_with_a_known_chance(n: int, share: float) -> None:
    """Three runs cover the true median three times of four; six are needed for more than 95 %."""
    assert share == share_covered_by_range(n)


@UNHURRIED
@given(values=VALUES)
def test_spread_holds_its_own_median(values: list[float]) -> None:
    """Low, median and high are in order, and the interval by ranks lies within the range."""
    spread = spread_of(values)

    assert spread.low <= statistics.median(values) == spread.median <= spread.high
    if spread.interval is not None and "order" in spread.method:
        assert spread.low <= spread.interval[0] <= spread.median <= spread.interval[1] <= spread.high


@UNHURRIED
@given(values=VALUES)
def test_order_of_runs_does_not_matter(values: list[float]) -> None:
    """A spread is of a set of runs."""
    assert spread_of(values) == spread_of(values[::-1])


def test_an_attempt_that_never_ended_leaves_no_interval() -> None:
    """With an infinite value the median stands and an interval does not."""
    spread = spread_of([0.3, 0.4, math.inf])

    assert (0.4, None) == (spread.median, spread.interval)


@pytest.mark.parametrize(
    ("interval", "bound", "expected"),
    [
        pytest.param((10.0, 12.0), 11.2, True, id="inside"),
        pytest.param((11.2, 12.0), 11.2, False, id="touches-from-above"),
        pytest.param((10.0, 11.2), 11.2, False, id="touches-from-below"),
        pytest.param((12.0, 13.0), 11.2, False, id="clear"),
        pytest.param(None, 11.2, False, id="one-run"),
    ],
)
def test_interval_straddles_a_bound_inside_it_only(
    interval: tuple[float, float] | None,
    bound: float,
    expected: bool,  # noqa: FBT001
) -> None:
    """Inconclusive is what holds values on both sides."""
    assert expected is straddles(interval, bound)


def test_standard_error_of_e1s_own_test_set() -> None:
    """Half a point is 18 images of 3,669, and the binomial standard error near 92 % is 0.45 points."""
    assert 0.45 == round(binomial_error_points(3376, 3669), 2)


def test_few_runs_that_are_all_alike_have_no_interval() -> None:
    """An interval of no width would claim certainty; six runs alike do cover the median."""
    few, many = spread_of([1.9] * 3), spread_of([1.9] * 6)

    assert (None, None, "no interval: 3 runs that are all alike do not say how far runs lie apart") == (
        few.interval, few.resolvable, few.method,
    )  # fmt: skip
    assert (1.9, 1.9) == many.interval


@pytest.mark.parametrize(
    ("n", "deviations"),
    [
        pytest.param(2, 11.55, id="two-runs-show-little"),
        pytest.param(3, 3.264, id="three"),
        pytest.param(5, 1.682, id="five"),
        pytest.param(10, 0.996, id="ten-show-one-deviation"),
        pytest.param(34, 0.4949, id="thirty-four-half-a-deviation"),
    ],
)
def test_smallest_difference_is_that_of_the_power_tables(n: int, deviations: float) -> None:
    """A two-sided t test at 5 % with a power of 80 %: 34 pairs for half a standard deviation, as in every textbook."""
    assert deviations == pytest.approx(resolvable_in_deviations(n), rel=1e-3)


@pytest.mark.parametrize("n", [2, 3, 6, 20])
@pytest.mark.parametrize("one_sided", [False, True])
def test_smallest_difference_is_found_in_four_cases_of_five(n: int, one_sided: bool) -> None:  # noqa: FBT001
    """What is called resolvable has this power by scipy's own noncentral t distribution."""
    from scipy.stats import nct

    reach = resolvable_in_deviations(n, one_sided=one_sided) * math.sqrt(n)

    assert 0.8 == pytest.approx(float(nct.sf(student_factor(n, one_sided=one_sided), n - 1, reach)), abs=1e-4)


def test_one_run_resolves_nothing() -> None:
    """There is no power without a second run."""
    with pytest.raises(ValueError, match="resolve nothing"):
        resolvable_in_deviations(1)


@UNHURRIED
@given(values=RATIOS, scale=st.floats(min_value=0.1, max_value=10.0))
def test_interval_of_ratios_scales_with_them(values: list[float], scale: float) -> None:
    """Another unit of the baseline is another factor, and the interval takes it along: resamples are the same."""
    plain = spread_of(values, is_ratio=True)
    scaled = spread_of([scale * value for value in values], is_ratio=True)

    assert (plain.interval is None) == (scaled.interval is None) or max(values) < min(values) * (1 + 1e-12)
    if plain.interval is not None and scaled.interval is not None:
        assert [scale * end for end in plain.interval] == pytest.approx(scaled.interval, rel=1e-6)


@UNHURRIED
@given(
    values=st.lists(st.integers(min_value=-1000, max_value=1000), min_size=2, max_size=12),
    scale=st.integers(min_value=1, max_value=64),
    shift=st.integers(min_value=-1000, max_value=1000),
)
def test_interval_of_values_moves_and_scales_with_them(values: list[int], scale: int, shift: int) -> None:
    """Another zero and another unit change nothing else."""
    plain = spread_of([float(value) for value in values])
    moved = spread_of([float(scale * value + shift) for value in values])

    assert (plain.interval is None) == (moved.interval is None)
    if plain.interval is not None and plain.resolvable is not None:
        assert [scale * end + shift for end in plain.interval] == pytest.approx(moved.interval, rel=1e-9, abs=1e-9)
        assert scale * plain.resolvable == pytest.approx(moved.resolvable)


@UNHURRIED
@given(values=RATIOS)
def test_interval_of_ratios_holds_where_it_can(values: list[float]) -> None:
    """Resampled, it lies within the range and holds the median; by Student it is of positive ratios still."""
    spread = spread_of(values, is_ratio=True)

    if spread.interval is None:
        assert len(set(values)) == 1
        assert len(values) < BOOTSTRAP_RUNS
    else:
        assert 0 < spread.interval[0] <= spread.interval[1]
        if "bootstrap" in spread.method:
            assert spread.low <= spread.interval[0] <= spread.median * (1 + 1e-12)
            assert spread.median * (1 - 1e-12) <= spread.interval[1] <= spread.high


def test_interval_of_a_ratio_says_how_it_was_made() -> None:
    """Few runs are not resampled, and that is said; the fixed seed gives the same interval every time."""
    few = spread_of([11.0, 11.2, 11.4], is_ratio=True)
    many = spread_of([11.0, 11.2, 11.4, 11.1, 11.3, 11.25, 11.15], is_ratio=True)

    assert "Student interval of the mean log-ratio, 3 runs; under 6 are too few to resample" in few.method
    assert "bootstrap of the median log-ratio, 7 runs" in many.method
    assert many == spread_of([11.0, 11.2, 11.4, 11.1, 11.3, 11.25, 11.15], is_ratio=True)


def test_ratios_that_are_all_alike_are_not_resampled() -> None:
    """The bootstrap of one value repeated is that value: order statistics say the same and mean it."""
    spread = spread_of([1.9] * 7, is_ratio=True)

    assert (1.9, 1.9) == spread.interval
    assert "order statistics" in spread.method


@pytest.mark.parametrize(
    ("n", "is_ratio"), [(2, False), (3, False), (5, False), (6, False), (9, False), (3, True), (6, True), (9, True)]
)
def test_intervals_cover_the_truth_about_as_often_as_they_say(n: int, is_ratio: bool) -> None:  # noqa: FBT001
    """Of 200 experiments with a known median, 95 % are meant to cover it; under 90 % would be another method's name."""
    import numpy as np

    draws = np.random.default_rng(7).lognormal(mean=0.0, sigma=0.05, size=(200, n)).tolist()
    intervals = [spread_of(values, is_ratio=is_ratio).interval for values in draws]
    covered = sum(interval is not None and interval[0] <= 1.0 <= interval[1] for interval in intervals)

    assert 0.90 <= covered / 200 <= 1.0


def test_the_range_of_three_runs_covers_the_true_median_three_times_of_four() -> None:
    """Why a median of three is told with 75 %: counted, not only worked out."""
    import numpy as np

    draws = np.random.default_rng(7).normal(size=(20_000, 3))
    covered = ((draws.min(axis=1) < 0) & (draws.max(axis=1) > 0)).mean()

    assert 0.75 == pytest.approx(float(covered), abs=0.01)
    assert 0.75 == share_covered_by_range(3)
