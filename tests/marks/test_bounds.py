"""Is a bound met: just under, equal, just over, without the noise of binary fractions."""

import math
from decimal import Decimal
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.marks.comparison import exceeds, meets, reaches, share_of
from pytest_mixgpu.marks.model import Comparator

MEASURED = st.floats(min_value=1e-6, max_value=1e6)
SHARES = st.integers(min_value=1, max_value=100).map(lambda hundredths: hundredths / 100)


@pytest.mark.parametrize(
    ("value", "comparator", "bound", "expected"),
    [
        pytest.param(11.199999, "at_least", 11.2, False, id="at-least-just-under"),
        pytest.param(11.2, "at_least", 11.2, True, id="at-least-equal"),
        pytest.param(11.200001, "at_least", 11.2, True, id="at-least-just-over"),
        pytest.param(4.999999, "at_most", 5.0, True, id="at-most-just-under"),
        pytest.param(5.0, "at_most", 5.0, True, id="at-most-equal"),
        pytest.param(5.000001, "at_most", 5.0, False, id="at-most-just-over"),
        pytest.param(0.499999, "within", 0.5, True, id="within-just-under"),
        pytest.param(0.5, "within", 0.5, True, id="within-equal"),
        pytest.param(0.500001, "within", 0.5, False, id="within-just-over"),
        pytest.param(0.0, "within", 0.0, True, id="within-nothing"),
        pytest.param(math.inf, "at_most", 5.0, False, id="never-ended"),
        pytest.param(math.inf, "within", 0.5, False, id="infinitely-far"),
        pytest.param(0.0, "at_least", 11.2, False, id="worst-speed-up"),
    ],
)
def test_bound_is_met_from_equal_on(value: float, comparator: Comparator, bound: float, expected: bool) -> None:  # noqa: FBT001
    """Equal meets a bound, and a millionth decides."""
    assert expected is meets(value, comparator, bound)


@pytest.mark.parametrize("share, whole, expected", [(0.70, 16, 11.2), (0.7, 3, 2.1), (0.1, 3, 0.3), (0.55, 2, 1.1)])  # noqa: PT006
def test_shares_multiply_as_a_person_would(share: float, whole: float, expected: float) -> None:
    """0.7 times 3 is 2.0999999999999996 in binary; a value of 2.1 meets 0.7 of 3 and 2.0999 does not."""
    assert expected == share_of(share, whole)
    assert meets(expected, "at_least", share_of(share, whole))
    assert not meets(expected - 1e-4, "at_least", share_of(share, whole))


@pytest.mark.parametrize("value", [11.2 - 2e-15, 11.2 + 2e-15, 22.4 / 2, 1.12 * 10, 33.6 / 3])
def test_noise_of_binary_fractions_flips_nothing(value: float) -> None:
    """What differs from 11.2 in the sixteenth digit is 11.2, on either side of a bound."""
    assert meets(value, "at_least", 11.2)
    assert meets(value, "at_most", 11.2)
    assert not exceeds(value, 11.2)


@given(share=SHARES, count=st.integers(min_value=1, max_value=1024))
def test_a_share_of_a_count_is_exact(share: float, count: int) -> None:
    """The bound that is applied is the product of the decimals that stand in the marker."""
    assert Fraction(repr(share)) * count == Fraction(Decimal(repr(share_of(share, count))))


@given(value=MEASURED, bound=MEASURED)
def test_at_least_and_at_most_leave_no_gap(value: float, bound: float) -> None:
    """Every finite value meets one of the two, and both only where it is the bound to 12 digits."""
    both = meets(value, "at_least", bound) and meets(value, "at_most", bound)

    assert meets(value, "at_least", bound) or meets(value, "at_most", bound)
    assert both is (not exceeds(value, bound) and not exceeds(bound, value))
    assert not both or math.isclose(value, bound, rel_tol=1e-11)


@given(value=MEASURED, bound=MEASURED, scale=st.sampled_from([1e-3, 1e3]))
def test_a_clear_difference_decides_as_it_looks(value: float, bound: float, scale: float) -> None:
    """Where value and bound differ by more than a billionth, the comparison is the plain one."""
    if not math.isclose(value, bound, rel_tol=1e-9):
        assert (value * scale > bound * scale) is meets(value, "at_least", bound)


@pytest.mark.parametrize("value", [math.nan])
def test_not_a_number_is_refused(value: float) -> None:
    """NaN never meets a bound, and never misses one either."""
    with pytest.raises(ValueError, match="not a number"):
        meets(value, "at_least", 1.0)


@pytest.mark.parametrize(
    ("num_correct", "num_total", "target", "expected"),
    [
        pytest.param(427, 450, 0.95, False, id="one-image-under"),
        pytest.param(428, 450, 0.95, True, id="one-image-over"),
        pytest.param(3302, 3669, 0.9, False, id="pets-under"),
        pytest.param(3303, 3669, 0.9, True, id="pets-over"),
        pytest.param(9, 10, 0.9, True, id="equal"),
        pytest.param(7, 10, 0.7, True, id="equal-where-binary-is-short"),
        pytest.param(0, 0, 0.5, False, id="nothing-scored"),
    ],
)
def test_targets_are_compared_on_whole_counts(num_correct: int, num_total: int, target: float, expected: bool) -> None:  # noqa: FBT001
    """A share of images is a fraction of integers, compared exactly."""
    assert expected is reaches(num_correct, num_total, target)
