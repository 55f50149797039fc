"""Warm-ups come first, stay beside the values, and nothing but the work is timed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.timing.clocks import WallClock, clock_for
from pytest_mixgpu.timing.sampling import take_samples
from pytest_mixgpu.timing.summary import Summary, summarise
from tests.fakes import StepClock


def test_warmups_are_kept_beside_the_values() -> None:
    """Each go is timed from the clock before to the clock after; the first ones are warm-ups."""
    clock = StepClock()
    steps = iter([5.0, 4.0, 1.0, 2.0, 3.0])

    samples = take_samples(
        lambda: clock.advance(next(steps)), name="gemm", num_warmups=2, num_samples=3, clock=clock, devices=["cpu:h:0"]
    )

    assert (5.0, 4.0) == samples.warmups_s
    assert (1.0, 2.0, 3.0) == samples.values_s
    assert ("step", ("cpu:h:0",)) == (samples.clock, samples.devices)


def test_preparation_is_not_timed() -> None:
    """What is done before each go does not count."""
    clock = StepClock()

    samples = take_samples(
        lambda: clock.advance(1.0),
        name="gemm",
        num_warmups=0,
        num_samples=2,
        clock=clock,
        prepare=lambda: clock.advance(100.0),
    )

    assert (1.0, 1.0) == samples.values_s


@pytest.mark.parametrize(("num_warmups", "num_samples"), [(0, 0), (-1, 1)], ids=["no sample", "negative warm-ups"])
def test_nothing_measured_is_refused(num_warmups: int, num_samples: int) -> None:
    """A sample of nothing does not exist."""
    with pytest.raises(ValueError, match="at least 1 sample"):
        take_samples(lambda: None, name="gemm", num_warmups=num_warmups, num_samples=num_samples)


def test_a_cpu_is_timed_by_the_wall() -> None:
    """Work on a CPU is done when its call returns."""
    clock = clock_for("cpu")

    assert isinstance(clock, WallClock)
    assert clock.now_s() <= clock.now_s()


def test_a_device_without_a_clock_is_named() -> None:
    """A device that we cannot wait for is refused by its name."""
    with pytest.raises(ValueError, match="'tpu:0'"):
        clock_for("tpu:0")


def test_a_summary_says_how_many_and_how_far_apart() -> None:
    """Number, median and range, of the values as they are."""
    assert Summary(n=4, median_s=2.5, low_s=1.0, high_s=10.0) == summarise([10.0, 1.0, 2.0, 3.0])


@pytest.mark.parametrize("values", [[], [float("nan")], [1.0, float("inf")]], ids=["none", "nan", "infinite"])
def test_no_summary_of_nothing(values: list[float]) -> None:
    """No value, NaN and infinity are not summarised away."""
    with pytest.raises(ValueError, match="summarise"):
        summarise(values)


@given(st.lists(st.floats(0, 1e6), min_size=1))
def test_the_median_lies_in_the_range(values: list[float]) -> None:
    """Low, median and high are in this order."""
    summary = summarise(values)

    assert summary.low_s <= summary.median_s <= summary.high_s
    assert summary.spread >= 0
