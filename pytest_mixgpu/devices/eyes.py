"""From the devices of a pool to eyes that look at them; a device that cannot be looked at has none, and is unknown."""

import socket
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from pytest_mixgpu.devices.amd_eye import AmdEye
from pytest_mixgpu.devices.core_eye import CoreEye
from pytest_mixgpu.devices.glance import Eye
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.nvidia_eye import NvidiaEye
from pytest_mixgpu.devices.nvml import Library, Nvml, NvmlError, open_nvml


@contextmanager
def open_eyes(
    devices: Sequence[Device],
    *,
    library: Library | None = None,
    sysfs: Path = Path("/sys"),
    host: str | None = None,
) -> Iterator[Mapping[str, Eye]]:
    """Open an eye on each device of this host, for as long as the block runs.

    Args:
        devices: of the pool; those of other hosts are out of sight.
        library: what stands in for NVIDIA's.
        sysfs: where the kernel's files are.
        host: the name of this host; found out if not said.

    Yields:
        By the device's id.
    """
    host = socket.gethostname() if host is None else host
    here = {device.id: device for device in devices if device.host == host}
    with ExitStack() as stack:
        nvml: Nvml | None = None
        if any(device.vendor == "nvidia" for device in here.values()):
            try:
                nvml = stack.enter_context(open_nvml(library))
            except NvmlError:
                # Without the library they are unknown, as the record then says of each.
                nvml = None
        found = {id_: _eye(device, nvml, sysfs) for id_, device in here.items()}
        yield {id_: eye for id_, eye in found.items() if eye is not None}


def _eye(device: Device, nvml: Nvml | None, sysfs: Path) -> Eye | None:
    if device.vendor == "cpu":
        return CoreEye(device.ordinal, sysfs=sysfs)
    if device.vendor == "amd":
        return None if device.pci_address is None else AmdEye(device.pci_address, sysfs=sysfs)
    try:
        return None if nvml is None else NvidiaEye(nvml, device.id)
    except NvmlError:
        return None
