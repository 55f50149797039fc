"""Clocks: from a device to the seconds at which its work was really done. Torch is imported only for a GPU."""

import time
from typing import Protocol


class Clock(Protocol):
    """Something that durations are taken with."""

    name: str
    """`wall`, or what was waited for first: `cuda-synchronised`."""

    def now_s(self) -> float:
        """Seconds on a clock that never goes back, after everything asked of the device is done."""


class WallClock:
    """The monotonic clock of this host, for work that is done when its call returns."""

    name = "wall"

    def now_s(self) -> float:
        """Seconds since some fixed moment of this boot."""
        return time.perf_counter()


class DeviceClock:
    """The same clock, read after the device is idle: a GPU's call returns before its work is done.

    Args:
        device: torch's name of the device, for example `cuda:0`; HIP devices go by that name too.
    """

    def __init__(self, device: str) -> None:
        import torch

        self._device = torch.device(device)
        self.name = "hip-synchronised" if torch.version.hip else "cuda-synchronised"

    def now_s(self) -> float:
        """Wait for the device, then read the clock."""
        import torch

        torch.cuda.synchronize(self._device)
        return time.perf_counter()


def clock_for(device: str) -> Clock:
    """The clock that closes work on this device, `cpu` or `cuda:0`.

    Raises:
        ValueError: there is no clock for such a device.
    """
    if device == "cpu":
        return WallClock()
    if device == "cuda" or device.startswith("cuda:"):
        return DeviceClock(device)
    raise ValueError(f"no clock for device {device!r}: expected `cpu` or `cuda:N`, which HIP devices go by too")
