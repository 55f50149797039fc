"""What is here: from the machine to an `Inventory` of devices with exact kinds. Imports no torch into this process.

Each source looks for devices in its own way; a fake one stands in for hardware that is not there. Cores are taken from
this process's affinity. GPUs are asked of torch, in a process of its own and only where a GPU driver shows its nodes.
"""

import os
import re
import socket
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.model import Device, Pool


class Inventory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The devices of this machine that the caller may use."""

    devices: tuple[Device, ...]
    """GPUs in the order of their ordinals, then cores: one of each physical core first, its siblings after."""
    notes: tuple[str, ...] = ()
    """What could not be looked at, and why."""

    @property
    def gpus(self) -> tuple[Device, ...]:
        """All that is no core."""
        return tuple(device for device in self.devices if device.vendor != "cpu")

    @property
    def cores(self) -> tuple[Device, ...]:
        """All that is no GPU."""
        return tuple(device for device in self.devices if device.vendor == "cpu")


class Source(Protocol):
    """A way to look for devices."""

    def look(self) -> Inventory:
        """List what is there; what cannot be looked at is a note, not an error."""


class CpuSource:
    """The cores that this process may run on.

    Args:
        root: where `/proc` and `/sys` are.
    """

    def __init__(self, *, root: Path = Path("/")) -> None:
        self._root = root

    def look(self) -> Inventory:
        """List the cores, physical ones first."""
        host = socket.gethostname()
        name = self._model()
        cores = sorted(os.sched_getaffinity(0), key=lambda core: (self._sibling_rank(core), core))
        devices = tuple(_core(host, core, name) for core in cores)
        quota = self._quota()
        if quota is None or quota >= len(cores):
            return Inventory(devices=devices)
        note = (
            f"this container may use the time of {quota:g} cores, and sees {len(cores)}: more participants than "
            "that are held back by the kernel, which no sampler sees"
        )
        return Inventory(devices=devices, notes=(note,))

    def _model(self) -> str:
        pattern = r"^(?:model name|cpu model|Processor|uarch)\s*:\s*(\S.*)$"
        match = re.search(pattern, self._read("proc/cpuinfo"), re.MULTILINE)
        return match[1].strip() if match else f"{os.uname().machine} CPU"

    def _sibling_rank(self, core: int) -> int:
        """0 for the first hardware thread of a physical core: two participants fit badly on one."""
        text = self._read(f"sys/devices/system/cpu/cpu{core}/topology/thread_siblings_list")
        return sum(1 for sibling in _cores_of(text) if sibling < core)

    def _quota(self) -> float | None:
        """The cores' worth of time that a control group leaves; None is no limit."""
        parts = self._read("sys/fs/cgroup/cpu.max").split()
        if not parts:
            parts = [self._read(f"sys/fs/cgroup/cpu/cpu.cfs_{part}_us").strip() for part in ("quota", "period")]
        if not all(part.isdigit() and int(part) for part in parts):
            return None
        return int(parts[0]) / int(parts[1])

    def _read(self, name: str) -> str:
        """Read a file of the kernel; one that is not there says nothing."""
        try:
            return (self._root / name).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return ""


def take_inventory(sources: Sequence[Source] | None = None) -> Inventory:
    """Look for devices.

    Args:
        sources: where to look; None is GPUs by torch, then this machine's cores.
    """
    from pytest_mixgpu.devices.torch_source import TorchSource

    found = [source.look() for source in ((TorchSource(), CpuSource()) if sources is None else sources)]
    return Inventory(
        devices=tuple(device for inventory in found for device in inventory.devices),
        notes=tuple(note for inventory in found for note in inventory.notes),
    )


def describe(inventory: Inventory) -> list[str]:
    """Say what is here, one line a device or group of cores, for people.

    Args:
        inventory: what was found.
    """
    lines = [f"  {device.kind:<20} {identity(device)}  {device.id}" for device in inventory.gpus]
    if not lines:
        lines = ["  no GPU"]
    for (name, host), count in Counter((core.name, core.host) for core in inventory.cores).items():
        numbers = [core.ordinal for core in inventory.cores if (core.name, core.host) == (name, host)]
        lines.append(f"  {'cpu':<20} {count} x {name} on {host}, cores {_ranges(numbers)}")
    if inventory.cores:
        kinds = "; ".join(f"{kind.name} ({kind.description})" for kind in CPU_KINDS.values())
        lines.append(f"  A core serves as any CPU kind: {kinds}")
    whole = inventory.gpus or inventory.cores
    return [
        f"Devices here: {Pool(devices=whole).spec if whole else 'none'}",
        *lines,
        *(f"  Note: {note}" for note in inventory.notes),
    ]


def identity(device: Device) -> str:
    """Say what is known of a device beside its kind: name, architecture, units, memory, flags."""
    if device.vendor == "cpu":
        return f"{device.name}, {device.architecture or 'unknown architecture'}"
    parts = [
        device.name if device.name.strip() else "a device without a name",
        device.architecture or "unknown architecture",
        "unknown number of units" if device.num_units is None else f"{device.num_units} units",
        "unknown memory" if device.memory_bytes is None else f"{device.memory_bytes / 2**30:.1f} GiB",
    ]
    return ", ".join(parts) + (f" ({', '.join(device.flags)})" if device.flags else "")


def _core(host: str, core: int, name: str) -> Device:
    kind = CPU_KINDS["cpu"]
    return Device(
        id=f"cpu:{host}:{core}",
        kind=kind.name,
        name=name,
        vendor="cpu",
        host=host,
        ordinal=core,
        architecture=os.uname().machine,
        environment=kind.environment,
    )


def _ranges(numbers: Sequence[int]) -> str:
    """Write numbers as a kernel does: `0-3,8`."""
    runs: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)


def _cores_of(text: str) -> list[int]:
    """Read a kernel's list of cores: `0-3,8`."""
    cores: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if first.isdigit():
            cores.extend(range(int(first), int(last if last.isdigit() else first) + 1))
    return cores
