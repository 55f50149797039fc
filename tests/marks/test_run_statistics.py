"""How far runs lie apart: known intervals, none for one run, and what hypothesis makes of the rest."""

import math
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.marks.statistics import (
    binomial_error_points,
    resolvable_difference,
    share_covered_by_range,
    spread_of,
    straddles,
)

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


@given(values=VALUES)
def test_spread_holds_its_own_median(values: list[float]) -> None:
    """Low, median and high are in order, and the interval by ranks lies within the range."""
    spread = spread_of(values)

    assert spread.low <= statistics.median(values) == spread.median <= spread.high
    if spread.interval is not None and "order" in spread.method:
        assert spread.low <= spread.interval[0] <= spread.median <= spread.interval[1] <= spread.high


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
