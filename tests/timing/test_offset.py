"""Two clocks are bounded by messages in both directions, and the truth lies inside."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.timing.offset import Offset, bound_offset

_TRANSITS = st.lists(st.floats(0, 1), min_size=1, max_size=4)


def test_the_tightest_messages_count() -> None:
    """One quick message each way is enough, however slow the others were."""
    assert Offset(offset_s=5.0, uncertainty_s=0.5) == bound_offset(at_least_s=[1.0, 4.5], at_most_s=[5.5, 9.0])


@given(offset_s=st.floats(-1e3, 1e3), there=_TRANSITS, back=_TRANSITS)
def test_the_truth_lies_within_the_uncertainty(offset_s: float, there: list[float], back: list[float]) -> None:
    """Whatever the messages took, estimate and truth are no further apart than stated."""
    found = bound_offset(
        at_least_s=[offset_s - transit for transit in there], at_most_s=[offset_s + transit for transit in back]
    )

    assert abs(found.offset_s - offset_s) <= found.uncertainty_s + 1e-9


@pytest.mark.parametrize(("there", "back"), [([], [1.0]), ([1.0], [])], ids=["none there", "none back"])
def test_one_direction_says_nothing(there: list[float], back: list[float]) -> None:
    """Without a message each way there is no bound on one side."""
    with pytest.raises(ValueError, match="each direction"):
        bound_offset(at_least_s=there, at_most_s=back)
