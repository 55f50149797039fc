"""Held-out samples are drawn by class, and the draw never moves."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.splits import stratified


@given(labels=st.lists(st.integers(min_value=0, max_value=6), max_size=80), seed=st.integers(), data=st.data())
def test_split_is_a_stratified_partition(labels: list[int], seed: int, data: st.DataObject) -> None:
    """Nothing is lost or doubled, as many are held out as was asked, and each class by its share to within one."""
    num_held = data.draw(st.integers(min_value=0, max_value=len(labels)))

    kept, held = stratified(labels, num_held, seed)

    assert list(range(len(labels))) == sorted((*kept, *held))
    assert num_held == len(held)
    assert list(kept) == sorted(kept)
    assert list(held) == sorted(held)
    counts = Counter(labels[number] for number in held)
    for label, size in Counter(labels).items():
        assert abs(counts[label] - num_held * size / len(labels)) < 1


def test_split_is_pinned() -> None:
    """The same seed holds out the same samples on every machine and version."""
    assert stratified([0, 1] * 10, 6, 0)[1] == (4, 7, 9, 10, 15, 18)


def test_seed_matters() -> None:
    """Another seed holds out others."""
    assert stratified([0] * 100, 10, 0) != stratified([0] * 100, 10, 1)


@pytest.mark.parametrize("num_held", [-1, 4])
def test_too_many_are_refused(num_held: int) -> None:
    """No more can be held out than there are."""
    with pytest.raises(PlanError, match="are to be held out of 3"):
        stratified([0, 0, 1], num_held, 0)
