"""A model travels as one row: parameters and floating buffers, nothing else, and nothing is lost on the way."""

import numpy as np
import pytest
import torch

from pytest_mixgpu.jobs.state import FlatState, flatten, floating_tensors, unflatten


def _model() -> torch.nn.Module:
    torch.manual_seed(0)
    return torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 3), torch.nn.BatchNorm2d(3), torch.nn.Flatten(), torch.nn.Linear(3, 2)
    )


def test_statistics_travel_and_counters_stay() -> None:
    """Batch normalisation's means travel; its count of batches, a whole number, does not."""
    model = _model()

    travelling = sum(tensor.numel() for tensor in floating_tensors(model))

    assert sum(p.numel() for p in model.parameters()) + 6 == travelling


def test_a_row_brings_the_whole_state_back() -> None:
    """Flatten, change everything, unflatten: every bit is as it was."""
    model = _model()
    row = flatten(model)
    before = [tensor.clone() for tensor in floating_tensors(model)]
    with torch.no_grad():
        for tensor in floating_tensors(model):
            tensor.add_(1)

    unflatten(model, row)

    assert all(torch.equal(old, new) for old, new in zip(before, floating_tensors(model), strict=True))


def test_a_row_of_another_model_is_refused() -> None:
    """Lengths must agree."""
    with pytest.raises(ValueError, match="a row of 3 values"):
        unflatten(_model(), np.zeros(3, dtype=np.float32))


def test_an_update_is_what_changed_since_the_model_came_in() -> None:
    """The start of the round is the row that came in, whatever the model was before."""
    model = _model()
    state = FlatState(model)
    row = np.arange(state.size, dtype=np.float32)
    state.incoming[:] = row.tobytes()
    state.load_incoming()
    np.testing.assert_array_equal(row, flatten(model))
    with torch.no_grad():
        for tensor in floating_tensors(model):
            tensor.sub_(2)

    update = np.frombuffer(state.prepare_update(), dtype=np.float32)

    np.testing.assert_array_equal(np.full(state.size, -2, dtype=np.float32), update)


def test_tensors_that_lie_across_memory_travel_too() -> None:
    """A parameter in channels-last order is written in its logical order, on every side."""
    model = _model().to(memory_format=torch.channels_last)
    state = FlatState(model)
    expected = flatten(_model())
    state.incoming[:] = np.zeros(state.size, dtype=np.float32).tobytes()

    np.testing.assert_array_equal(expected, np.frombuffer(state.prepare_update(), dtype=np.float32))
