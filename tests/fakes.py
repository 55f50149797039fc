"""Stand-ins for what tests do not have: clocks, devices, clusters. One small class each."""

from pytest_mixgpu.devices.catalog import kind_of
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, Vendor


class StepClock:
    """A clock that moves only when it is told to."""

    name = "step"

    def __init__(self) -> None:
        self._now_s = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds

    def now_s(self) -> float:
        """The seconds that have passed."""
        return self._now_s


class FakeMachine:
    """A machine with the GPUs and cores that it was given; names are read by the real catalog."""

    def __init__(self, *names: str, num_cores: int = 2, host: str = "fake") -> None:
        gpus = (fake_gpu(name, ordinal=index, host=host) for index, name in enumerate(names))
        self.devices = (*gpus, *(fake_core(index, host=host) for index in range(num_cores)))

    def look(self) -> Inventory:
        """List what this machine was given."""
        return Inventory(devices=self.devices)


def fake_gpu(name: str, *, ordinal: int = 0, host: str = "fake", num_units: int | None = None) -> Device:
    """Make up a GPU under a name that a driver might report."""
    vendor: Vendor = "amd" if name.lower().startswith(("amd", "radeon", "gfx")) or not name else "nvidia"
    naming = kind_of(name, vendor=vendor, num_units=num_units)
    return Device(
        id=f"GPU-{host}-{ordinal}",
        kind=naming.kind,
        name=name,
        vendor=vendor,
        host=host,
        ordinal=ordinal,
        num_units=num_units,
        flags=naming.flags,
    )


def fake_core(ordinal: int, *, host: str = "fake") -> Device:
    """Make up a core."""
    return Device(id=f"cpu:{host}:{ordinal}", kind="cpu", name="Fake CPU", vendor="cpu", host=host, ordinal=ordinal)
