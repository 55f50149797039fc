"""Leased devices as this very process sees them: which of torch's ordinals each has. Imports torch when it is asked."""

from typing import Any

import msgspec

from pytest_mixgpu.devices.model import Device, Pool


class HereDevice(Device, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A GPU that is used in this process, which sees all that the caller lets through, and not this one alone."""

    @property
    def torch_device(self) -> str:
        """The name that torch gives to it here: by its UUID, else by its ordinal among the visible ones."""
        return f"cuda:{torch_ordinal(self)}"


def in_this_process(pool: Pool) -> Pool:
    """The same devices, with the names that torch has for them in this process; cores stay as they are.

    Args:
        pool: leased to this process.
    """
    return Pool(
        devices=tuple(
            device if device.vendor == "cpu" else HereDevice(**msgspec.structs.asdict(device))
            for device in pool.devices
        )
    )


def torch_ordinal(device: Device, cuda: Any = None) -> int:
    """Which of torch's devices it is.

    Args:
        device: a GPU.
        cuda: what stands in for `torch.cuda`.
    """
    if cuda is None:
        import torch

        cuda = torch.cuda
    for index in range(cuda.device_count()):
        uuid = str(getattr(cuda.get_device_properties(index), "uuid", "")).removeprefix("GPU-")
        if uuid and f"GPU-{uuid}" == device.id:
            return index
    return device.ordinal
