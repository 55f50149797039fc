"""Whether two sessions differ is told from runs, never from rounds, and never from one run."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_ind

from pytest_mixgpu.marks.apart import MAX_VALUES, apart

values = st.lists(st.integers(50, 100_000), min_size=2, max_size=12, unique=True).map(
    lambda found: [one / 100 for one in found]
)


@pytest.mark.parametrize(
    ("a", "b", "answer", "difference"),
    [
        pytest.param([1.0, 1.1, 0.9], [2.0, 2.1, 1.9], "apart", 1.0, id="apart"),
        pytest.param([1.0, 1.1, 0.9], [1.05, 1.2, 0.95], "not told apart", 0.05, id="close"),
        pytest.param([1.0], [2.0], "unknown", 1.0, id="one-run-each"),
        pytest.param([1.0, 1.1], [2.0], "unknown", 0.95, id="one-run"),
        pytest.param([1.0, 1.0], [2.0, 2.0], "unknown", 1.0, id="all-alike"),
        pytest.param([1.0, 1.0], [2.0, 2.1], "unknown", 1.05, id="one-all-alike"),
        pytest.param([], [2.0, 2.0], "unknown", None, id="nothing"),
        pytest.param([math.inf, 1.0], [2.0, 2.1], "unknown", None, id="not-finite"),
        pytest.param([1e308, -1e308], [1.0, 2.0], "unknown", None, id="huge"),
        pytest.param([1.0] * (MAX_VALUES + 1), [2.0, 2.1], "unknown", None, id="too-many"),
    ],
)
def test_the_answer_and_why(a: list[float], b: list[float], answer: str, difference: float | None) -> None:
    """Where nothing can be said, it is said why."""
    found = apart(a, b)

    assert answer == found.answer
    assert (difference is None) == (found.difference is None)
    assert found.difference is None or found.difference == pytest.approx(difference)
    assert found.why
    assert (found.interval is None) == (answer == "unknown")


def test_a_ratio_is_compared_as_a_factor() -> None:
    """Twice as fast is as far as half as fast."""
    there, back = (
        apart([1.0, 1.1, 0.9], [2.0, 2.2, 1.8], is_ratio=True),
        apart([2.0, 2.2, 1.8], [1.0, 1.1, 0.9], is_ratio=True),
    )

    assert (there.is_factor, there.difference, back.difference) == (True, 2.0, 0.5)
    assert there.interval is not None
    assert back.interval == pytest.approx((1 / there.interval[1], 1 / there.interval[0]))


@given(values, values)
def test_the_interval_is_welchs(a: list[float], b: list[float]) -> None:
    """As scipy has it, and the answer is whether it holds zero."""
    found = apart(a, b)
    assert found.interval is not None
    expected = ttest_ind(b, a, equal_var=False).confidence_interval(0.95)

    assert found.interval == pytest.approx((expected.low, expected.high), rel=1e-6, abs=1e-6)
    assert (found.answer == "apart") == (not found.interval[0] <= 0 <= found.interval[1])


@given(values, values)
def test_sides_changed_round_change_the_sign_alone(a: list[float], b: list[float]) -> None:
    """Which side is called A decides nothing."""
    one, two = apart(a, b), apart(b, a)

    assert one.answer == two.answer
    assert one.difference == pytest.approx(-(two.difference or 0.0))
    assert one.resolvable == two.resolvable or one.resolvable == pytest.approx(two.resolvable)
