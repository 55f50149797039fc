"""What is here: from the machine to an `Inventory` of devices with exact kinds. Imports no torch into this process.

Each source looks for devices in its own way; a fake one stands in for hardware that is not there. Cores are taken from
this process's affinity, GPUs from their makers' own interfaces: torch uses devices, and never lists them.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from pytest_mixgpu.devices.catalog_file import Catalog
from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.model import Device, DeviceFacts, DeviceLink, Pool
from pytest_mixgpu.devices.numa import write_list


class Inventory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The devices of this machine that the caller may use."""

    devices: tuple[Device, ...]
    """GPUs in the order of their ordinals, then cores: one of each physical core first, its siblings after."""
    notes: tuple[str, ...] = ()
    """What could not be looked at, and why."""
    refusals: tuple[str, ...] = ()
    """Those of the notes that say why the caller's list of devices was not followed: no GPU was chosen by guessing."""
    facts: tuple[DeviceFacts, ...] = ()
    """What the host says of its GPUs now."""
    links: tuple[DeviceLink, ...] = ()
    """Between GPUs of this inventory."""

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


def take_inventory(sources: Sequence[Source] | None = None, *, catalog: Catalog | None = None) -> Inventory:
    """Look for devices.

    Args:
        sources: where to look; None is this machine's GPUs, then its cores.
        catalog: names of kinds for this machine's own sources; None is the shipped ones.
    """
    found = [source.look() for source in (own_sources(catalog) if sources is None else sources)]
    return Inventory(
        devices=tuple(device for inventory in found for device in inventory.devices),
        notes=tuple(note for inventory in found for note in inventory.notes),
        refusals=tuple(refusal for inventory in found for refusal in inventory.refusals),
        facts=tuple(facts for inventory in found for facts in inventory.facts),
        links=tuple(link for inventory in found for link in inventory.links),
    )


def own_sources(catalog: Catalog | None = None) -> tuple[Source, ...]:
    """Where this machine's devices are found.

    Args:
        catalog: names of kinds; None is the shipped ones.
    """
    from pytest_mixgpu.devices.amd import AmdSource
    from pytest_mixgpu.devices.cpu import CpuSource
    from pytest_mixgpu.devices.nvidia import NvidiaSource

    return NvidiaSource(catalog=catalog), AmdSource(catalog=catalog), CpuSource()


def facts_about(
    devices: Iterable[Device], inventory: Inventory
) -> tuple[tuple[DeviceFacts, ...], tuple[DeviceLink, ...]]:
    """What an inventory says of some of its devices, and of the ways between them.

    Args:
        devices: those that are asked about.
        inventory: of the host where they are.
    """
    ids = {device.id for device in devices}
    return (
        tuple(facts for facts in inventory.facts if facts.device_id in ids),
        tuple(link for link in inventory.links if {link.from_id, link.to_id} <= ids),
    )


def describe(inventory: Inventory) -> list[str]:
    """Say what is here, one line a device or group of cores, for people.

    Args:
        inventory: what was found.
    """
    facts = {each.device_id: each for each in inventory.facts}
    lines = [line for device in inventory.gpus for line in _gpu_lines(device, facts.get(device.id))]
    if not lines:
        lines = ["  no GPU"]
    names = {device.id: f"{device.vendor} {device.ordinal}" for device in inventory.gpus}
    pairs = [(*sorted((names[link.from_id], names[link.to_id])), link.path) for link in inventory.links]
    lines += [f"  {one} - {other}: {path}" for one, other, path in sorted(pairs)]
    for (name, host), count in Counter((core.name, core.host) for core in inventory.cores).items():
        numbers = [core.ordinal for core in inventory.cores if (core.name, core.host) == (name, host)]
        lines.append(f"  {'cpu':<20} {count} x {name} on {host}, cores {write_list(numbers)}")
    if inventory.cores:
        kinds = "; ".join(f"{kind.name} ({kind.description})" for kind in CPU_KINDS.values())
        lines.append(f"  A core serves as any CPU kind: {kinds}")
    whole = inventory.gpus or inventory.cores
    return [
        f"Devices here: {Pool(devices=whole).spec if whole else 'none'}",
        *lines,
        *(f"  Note: {note}" for note in inventory.notes),
    ]


def _gpu_lines(device: Device, facts: DeviceFacts | None) -> list[str]:
    """A line that names a device, and one that says how it is set up; what is unknown is said to be so."""
    lines = [f"  {device.kind:<20} {identity(device)}  {device.id}"]
    if device.inferred:
        lines.append(f"{'':<22} by what else it reports it may be {' or '.join(device.inferred)}")
    if facts is None:
        return lines
    parts = [
        f"{device.vendor} {device.ordinal}",
        f"PCI {device.pci_address or 'unknown'}",
        f"NUMA node {'unknown' if device.numa_node is None else device.numa_node}"
        + (f" (cores {facts.near_cores})" if facts.near_cores else ""),
        f"driver {facts.driver or 'unknown'}",
        f"power cap {_quantity(facts.power_cap_w, 'W')} of {_quantity(facts.default_power_cap_w, 'W')} by default",
        f"clock {_quantity(facts.clock_mhz, 'MHz')} of {_quantity(facts.max_clock_mhz, 'MHz')}",
        _quantity(facts.temperature_c, "°C", before="temperature "),
        f"ECC {_switch(facts.has_ecc)}",
        f"persistence {_switch(facts.is_persistent)}",
    ]
    parts += [f"firmware {facts.firmware}"] if facts.firmware else []
    parts += [f"partition {facts.partition}"] if facts.partition else []
    return [*lines, f"{'':<22} {', '.join(parts)}"]


def _quantity(value: float | None, unit: str, *, before: str = "") -> str:
    return f"{before}unknown" if value is None else f"{before}{value:g} {unit}"


def _switch(value: bool | None) -> str:  # noqa: FBT001 - the value is what is said
    return "unknown" if value is None else "on" if value else "off"


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
