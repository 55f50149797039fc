"""What stands for very much: the ends are always among it, and no item is in two groups or in none."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.report.figures.thin import bins, spread_indices, telling_indices

COUNTS = st.integers(min_value=0, max_value=500)
LIMITS = st.integers(min_value=2, max_value=60)


@given(count=COUNTS, limit=LIMITS)
def test_indices_are_spread_evenly_with_both_ends(count: int, limit: int) -> None:
    """Few are kept whole; of many, no gap is twice as wide as another, and one more."""
    found = spread_indices(count, limit)

    assert len(found) == min(count, limit)
    assert found == sorted(set(found))
    if count:
        assert (found[0], found[-1]) == (0, count - 1)
    gaps = [right - left for left, right in pairwise(found)]
    assert max(gaps, default=0) - min(gaps, default=0) <= 1


@given(values=st.lists(st.floats(allow_nan=False), max_size=200), limit=LIMITS)
def test_extremes_are_always_told(values: list[float], limit: int) -> None:
    """The largest and the smallest are what a reader looks for."""
    kept = [values[index] for index in telling_indices(values, limit)]

    assert len(kept) == min(len(values), limit)
    if values:
        assert (min(kept), max(kept)) == (min(values), max(values))


@given(count=COUNTS, limit=LIMITS)
def test_groups_hold_each_item_once(count: int, limit: int) -> None:
    """Neighbours stay together, and groups are of one size or one more."""
    groups = bins(count, limit)
    sizes = [len(group) for group in groups]

    assert [item for group in groups for item in group] == list(range(count))
    assert len(groups) == min(count, limit)
    assert max(sizes, default=0) - min(sizes, default=0) <= 1
