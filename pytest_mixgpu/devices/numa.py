"""Which cores and which memory are next to what: from a PCI address or a core to a NUMA node, and back. Linux only.

The kernel's files are the only source; what they do not say is None or empty.
"""

import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec

from pytest_mixgpu.devices.model import Device

_NODES: Final = "sys/devices/system/node"
_PCI: Final = "sys/bus/pci/devices"


class Place(msgspec.Struct, frozen=True, kw_only=True):
    """Where the participant of a device is to run."""

    cores: tuple[int, ...] = ()
    """Empty leaves it free: it is unknown which are near, or none of them may be used."""
    memory_node: int | None = None
    """None leaves it free."""


class Numa:
    """The nodes of this host.

    Args:
        root: where `/sys` is.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    def nodes(self) -> tuple[int, ...]:
        """All nodes that are online."""
        return read_list(self._read(f"{_NODES}/online"))

    def cores_of(self, node: int | None) -> tuple[int, ...]:
        """The cores of a node; none where it is unknown."""
        return () if node is None else read_list(self._read(f"{_NODES}/node{node}/cpulist"))

    def node_of_core(self, core: int) -> int | None:
        """The node of a core."""
        return next((node for node in self.nodes() if core in self.cores_of(node)), None)

    def node_of_pci(self, address: str | None) -> int | None:
        """The node that a PCI device is plugged into.

        Args:
            address: as the kernel writes it, `0000:3b:00.0`.
        """
        text = self._read(f"{_PCI}/{address}/numa_node").strip() if address else ""
        if re.fullmatch(r"\d+", text):
            return int(text)
        # Firmware that tells no node leaves -1. Where there is one node, everything is next to it.
        nodes = self.nodes()
        return nodes[0] if text == "-1" and len(nodes) == 1 else None

    def cores_of_pci(self, address: str | None) -> str:
        """The cores next to a PCI device as the kernel writes them; empty is unknown."""
        node = self.node_of_pci(address)
        return write_list(self.cores_of(node))

    def _read(self, name: str) -> str:
        try:
            return (self._root / name).read_text(encoding="ascii", errors="replace")
        except OSError:
            return ""


def place_beside(device: Device, *, numa: Numa | None = None, allowed: Iterable[int] | None = None) -> Place:
    """Where the participant of a device belongs: on a core itself, beside a GPU on the cores of its node.

    Args:
        device: of this host.
        numa: the host's nodes; None is this host's.
        allowed: cores that may be used; None is this process's.
    """
    if device.vendor == "cpu":
        return Place(cores=(device.ordinal,), memory_node=device.numa_node)
    near = (Numa() if numa is None else numa).cores_of(device.numa_node)
    usable = set(os.sched_getaffinity(0) if allowed is None else allowed)
    return Place(cores=tuple(core for core in near if core in usable), memory_node=device.numa_node)


def read_list(text: str) -> tuple[int, ...]:
    """Read a kernel's list of numbers: `0-3,8`. What is no number is left out."""
    numbers: list[int] = []
    for part in text.strip().split(","):
        first, _, last = part.partition("-")
        if re.fullmatch(r"\d{1,6}", first):
            numbers.extend(range(int(first), int(last if re.fullmatch(r"\d{1,6}", last) else first) + 1))
    return tuple(dict.fromkeys(numbers))


def write_list(numbers: Iterable[int]) -> str:
    """Write numbers as a kernel does: `0-3,8`."""
    runs: list[tuple[int, int]] = []
    for number in sorted(set(numbers)):
        if runs and number == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
