"""Shares add up to the round, nobody goes without, and speed decides as closely as whole steps allow."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.shares import equal_shares, speed_shares

_RATES = st.lists(st.floats(0.01, 1e4), min_size=1, max_size=20)


@pytest.mark.parametrize(
    ("steps", "count", "expected"),
    [(200, 2, (100, 100)), (200, 3, (67, 67, 66)), (3, 3, (1, 1, 1)), (7, 1, (7,))],
    ids=["even", "left over", "just enough", "alone"],
)
def test_equal_shares(steps: int, count: int, expected: tuple[int, ...]) -> None:
    """The first ones take what is left over."""
    assert expected == equal_shares(steps, count)


@pytest.mark.parametrize(
    ("steps", "rates", "expected"),
    [(200, (3.0, 1.0), (150, 50)), (10, (1.0, 1.0, 1.0), (4, 3, 3)), (4, (1000.0, 1.0, 1.0), (2, 1, 1))],
    ids=["in proportion", "ties to the first", "nobody without"],
)
def test_speed_shares(steps: int, rates: tuple[float, ...], expected: tuple[int, ...]) -> None:
    """Shares follow the measured rates, in whole steps."""
    assert expected == speed_shares(steps, rates)


@given(steps=st.integers(20, 5000), rates=_RATES)
def test_shares_add_up(steps: int, rates: list[float]) -> None:
    """Every step is dealt once, and everybody gets one."""
    for shares in (equal_shares(steps, len(rates)), speed_shares(steps, rates)):
        assert steps == sum(shares)
        assert min(shares) >= 1


@pytest.mark.parametrize(("steps", "count"), [(1, 2), (5, 0)], ids=["too few steps", "nobody"])
def test_fewer_steps_than_participants_are_refused(steps: int, count: int) -> None:
    """A participant without a step is no participant."""
    with pytest.raises(PlanError, match="at least one step"):
        equal_shares(steps, count)


@pytest.mark.parametrize("rate", [0.0, -1.0, float("nan"), float("inf")])
def test_an_unmeasured_rate_is_refused(rate: float) -> None:
    """Shares by speed need a speed."""
    with pytest.raises(PlanError, match="measure the baseline"):
        speed_shares(10, (1.0, rate))
