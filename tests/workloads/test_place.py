"""What every batch needs is on the device already, and what travels does so without a wait."""

import pytest
import torch

from pytest_mixgpu.jobs.workloads.recipe import load_recipe
from pytest_mixgpu.jobs.workloads.sources.place import mean_and_std, put


def test_mean_and_std_are_made_once_for_a_device() -> None:
    """Every batch is normalised with the same tensors."""
    target = load_recipe("pets-vit-b16").input
    first, again = (mean_and_std(target, torch.device("cpu")) for _ in range(2))

    assert all(one is two for one, two in zip(first, again, strict=True))
    assert [(1, 3, 1, 1)] * 2 == [tuple(tensor.shape) for tensor in first]


def test_what_is_put_arrives() -> None:
    """On a CPU nothing is copied at all."""
    tensor = torch.arange(3)

    assert tensor is put(tensor, torch.device("cpu"))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU")
def test_no_batch_waits_for_a_gpu() -> None:
    """Torch itself raises where a copy would wait for the device."""
    device = torch.device("cuda")
    torch.zeros(1, device=device)
    torch.cuda.set_sync_debug_mode("error")
    try:
        values = put(torch.arange(1000), device)
    finally:
        torch.cuda.set_sync_debug_mode("default")

    assert values.tolist() == list(range(1000))
