"""Which devices may serve in place of another: the same exact part, or any core for a core. Imports no other room."""

from collections.abc import Sequence

import msgspec

from pytest_mixgpu.devices.allocate import TWIN_TOLERANCE
from pytest_mixgpu.devices.catalog_file import UNRESOLVED
from pytest_mixgpu.devices.model import Device


def stand_ins(device: Device, others: Sequence[Device]) -> tuple[Device, ...]:
    """Give the devices that may serve in place of one, itself first, then in their own order.

    Args:
        device: as it was chosen; a core has the CPU kind that was asked of it.
        others: what is here.
    """
    found = [device]
    for other in others:
        if other.id == device.id:
            continue
        if device.vendor == "cpu" == other.vendor:
            # Any core serves as any CPU kind.
            found.append(msgspec.structs.replace(other, kind=device.kind, environment=device.environment))
        elif _is_alike(device, other):
            found.append(other)
    return tuple(found)


def _is_alike(device: Device, other: Device) -> bool:
    same = (device.vendor, device.kind, device.architecture, device.num_units, device.flags, device.host)
    if same != (other.vendor, other.kind, other.architecture, other.num_units, other.flags, other.host):
        return False
    if device.kind == UNRESOLVED and device.name != other.name:
        return False
    sizes = sorted((device.memory_bytes or 0, other.memory_bytes or 0))
    return sizes[1] <= sizes[0] * (1 + TWIN_TOLERANCE)
