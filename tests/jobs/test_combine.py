"""The new model is the old one plus the sample-weighted mean of the updates, with the same bits every time."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from pytest_mixgpu.jobs.combine import Combination

_SIZE = (1 << 16) + 37
"""More than one stretch, and the last one short."""


def combine(model: NDArray[np.float32], updates: list[NDArray[np.float32]], counts: list[int]) -> None:
    """Combine all at once."""
    Combination(model, updates, counts).advance(model.size)


def _updates(num: int) -> list[NDArray[np.float32]]:
    generator = np.random.default_rng(3)
    return [generator.standard_normal(_SIZE).astype(np.float32) for _ in range(num)]


def test_the_mean_is_weighted_by_samples() -> None:
    """Twice the samples weigh twice."""
    model = np.array([10.0, 10.0], dtype=np.float32)

    combine(model, [np.array([3.0, 0.0], np.float32), np.array([0.0, 3.0], np.float32)], [200, 100])

    np.testing.assert_array_equal(np.array([12.0, 11.0], np.float32), model)


def test_working_in_stretches_changes_no_bit() -> None:
    """The result is that of the plain formula over the whole row, one rounding an operation."""
    updates, counts = _updates(3), [5, 3, 8]
    model = np.ones(_SIZE, dtype=np.float32)
    weights = [np.float32(count / 16) for count in counts]
    expected = model + ((updates[0] * weights[0] + updates[1] * weights[1]) + updates[2] * weights[2])

    combine(model, updates, counts)

    assert expected.tobytes() == model.tobytes()


@pytest.mark.parametrize(
    ("there", "expected"),
    [((0, _SIZE - 38), (0, 0)), ((1 << 16,), (1 << 16,)), ((_SIZE - 1, _SIZE), (1 << 16, _SIZE))],
    ids=["none whole", "one whole", "the short one last"],
)
def test_only_what_came_in_from_everybody_is_combined(there: tuple[int, ...], expected: tuple[int, ...]) -> None:
    """Whole stretches from the front, and the same bits as at once."""
    updates, counts = _updates(2), [1, 2]
    pieces, whole = (np.ones(_SIZE, dtype=np.float32) for _ in range(2))
    combination = Combination(pieces, updates, counts)
    done = []
    for num_there in there:
        combination.advance(num_there)
        done.append(combination.num_done)
    combine(whole, updates, counts)

    assert expected == tuple(done)
    assert pieces[: done[-1]].tobytes() == whole[: done[-1]].tobytes()
    assert (pieces[done[-1] :] == 1).all()


@given(st.lists(st.integers(1, 10_000), min_size=1, max_size=5))
def test_equal_updates_come_through(counts: list[int]) -> None:
    """If all changed the same, that is the change, to the last few bits."""
    model = np.zeros(5, dtype=np.float32)
    update = np.linspace(-1, 1, 5, dtype=np.float32)

    combine(model, [update] * len(counts), counts)

    np.testing.assert_allclose(update, model, rtol=1e-6)


@pytest.mark.parametrize(
    ("sizes", "counts"),
    [([2, 3], [1, 1]), ([2], [1, 1]), ([2, 2], [0, 0])],
    ids=["another length", "a missing update", "no samples"],
)
def test_what_does_not_fit_is_refused(sizes: list[int], counts: list[int]) -> None:
    """A combination of something else is never made."""
    with pytest.raises(ValueError, match="cannot combine"):
        combine(np.zeros(2, np.float32), [np.zeros(size, np.float32) for size in sizes], counts)
