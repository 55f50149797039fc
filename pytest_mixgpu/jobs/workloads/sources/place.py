"""From host memory to a device without waiting for it. torch only inside functions.

A copy from ordinary memory waits until the device has done all that it was asked before; one from pinned memory does
not.
"""

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

    from pytest_mixgpu.jobs.workloads.model import Input


def pinned(tensor: "torch.Tensor", device: "torch.device") -> "torch.Tensor":
    """Return the tensor in memory from which this device can copy by itself, where that makes a difference."""
    return tensor.pin_memory() if device.type == "cuda" else tensor


def put(tensor: "torch.Tensor", device: "torch.device") -> "torch.Tensor":
    """Bring a tensor to a device; the device's own order of work sees to it that nothing reads it too early."""
    return pinned(tensor, device).to(device, non_blocking=True)


@cache
def mean_and_std(target: "Input", device: "torch.device") -> tuple["torch.Tensor", "torch.Tensor"]:
    """Return what pixels are normalised with, on the device once and for all."""
    import torch

    mean, std = (torch.tensor(values).view(1, -1, 1, 1).to(device) for values in (target.mean, target.std))
    return mean, std
