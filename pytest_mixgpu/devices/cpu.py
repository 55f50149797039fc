"""This machine's cores: from the kernel's files and this process's affinity to an `Inventory`."""

import os
import re
from pathlib import Path

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.numa import Numa, read_list


class CpuSource:
    """The cores that this process may run on.

    Args:
        root: where `/proc` and `/sys` are.
    """

    def __init__(self, *, root: Path = Path("/")) -> None:
        self._root = root

    def look(self) -> Inventory:
        """List the cores, physical ones first."""
        host = host_name()
        name = self._model()
        cores = sorted(os.sched_getaffinity(0), key=lambda core: (self._sibling_rank(core), core))
        numa = Numa(self._root)
        nodes = {core: node for node in numa.nodes() for core in numa.cores_of(node)}
        devices = tuple(_core(host, core, name, nodes.get(core)) for core in cores)
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
        return sum(1 for sibling in read_list(text) if sibling < core)

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


def _core(host: str, core: int, name: str, numa_node: int | None) -> Device:
    kind = CPU_KINDS["cpu"]
    return Device(
        id=f"cpu:{host}:{core}",
        kind=kind.name,
        name=name,
        vendor="cpu",
        host=host,
        ordinal=core,
        architecture=os.uname().machine,
        numa_node=numa_node,
        environment=kind.environment,
    )
