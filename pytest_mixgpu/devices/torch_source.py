"""GPUs as torch reports them: from a probe's document to devices with kinds. Imports no torch into this process."""

import json
import os
import re
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from pytest_mixgpu.devices.catalog import kind_of
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, Vendor
from pytest_mixgpu.devices.visible import amd_list, narrowing, visible_devices

_PROBE: Final = Path(__file__).with_name("torch_probe.py")
_TIMEOUT_S: Final = 120.0
_NULL_UUID: Final = re.compile(r"[0-]*")


class DriverNodes(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many GPUs the kernel's drivers show, before anybody asks torch."""

    nvidia: int = 0
    amd: int = 0

    @property
    def vendors(self) -> tuple[Vendor, ...]:
        """Vendors with a driver here."""
        found: tuple[tuple[Vendor, int], ...] = (("nvidia", self.nvidia), ("amd", self.amd))
        return tuple(vendor for vendor, count in found if count)


class Properties(msgspec.Struct, frozen=True, kw_only=True):
    """One device in the probe's document."""

    name: str
    memory_bytes: int
    capability: tuple[int, int]
    architecture: str | None
    num_units: int
    uuid: str | None
    bus: tuple[int | None, int | None, int | None]


class Report(msgspec.Struct, frozen=True, kw_only=True):
    """The probe's document."""

    torch: str
    cuda: str | None
    hip: str | None
    devices: tuple[Properties, ...]
    error: str | None


def find_driver_nodes(root: Path = Path("/")) -> DriverNodes:
    """Count what the drivers show in the file system.

    Args:
        root: where `/dev` and `/sys` are.
    """
    dev = root / "dev"
    cards = sum(1 for path in dev.glob("nvidia*") if re.fullmatch(r"nvidia\d+", path.name))
    # Where the driver numbers no cards: a Linux under Windows, and boards with a GPU in the processor.
    others = any((dev / name).exists() for name in ("dxg", "nvgpu", "nvhost-gpu", "nvidiactl"))
    nodes = (root / "sys/class/kfd/kfd/topology/nodes").glob("*/gpu_id")
    amd = sum(1 for path in nodes if _read(path).strip() not in {"", "0"})
    return DriverNodes(nvidia=cards or int(others), amd=(amd or 1) if (dev / "kfd").exists() else 0)


class TorchSource:
    """GPUs through torch, where a driver shows its nodes."""

    def __init__(
        self,
        *,
        nodes: DriverNodes | None = None,
        environ: Mapping[str, str] | None = None,
        python: str = sys.executable,
        timeout_s: float = _TIMEOUT_S,
    ) -> None:
        self._nodes = nodes
        self._environ = dict(os.environ) if environ is None else dict(environ)
        self._python = python
        self._timeout_s = timeout_s

    def look(self) -> Inventory:
        """List the GPUs that the caller's environment lets through."""
        nodes = find_driver_nodes() if self._nodes is None else self._nodes
        if not nodes.vendors:
            return Inventory(devices=())
        report = self._ask()
        if isinstance(report, str):
            return Inventory(devices=(), notes=(f"a driver of {' and '.join(nodes.vendors)} is here, but {report}",))
        vendor: Vendor = "amd" if report.hip is not None else "nvidia"
        return Inventory(
            devices=devices_of(report.devices, vendor=vendor, environ=self._environ, host=socket.gethostname()),
            notes=tuple(_notes(report, vendor, nodes, self._environ)),
        )

    def _ask(self) -> Report | str:
        """Run the probe; a sentence says why there is no report."""
        try:
            done = subprocess.run(
                [self._python, "-P", str(_PROBE)],
                env=self._environ,
                capture_output=True,
                timeout=self._timeout_s,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return f"torch could not be asked: {error}"
        if done.returncode != 0:
            last = done.stderr.decode(errors="replace").strip().splitlines()[-1:] or [f"exit status {done.returncode}"]
            return f"torch could not be asked ({last[0]}); pip install 'pytest-mixgpu[torch]' with a build for it"
        try:
            return msgspec.convert(json.loads(done.stdout), Report)
        except (ValueError, msgspec.ValidationError) as error:
            return f"torch's answer could not be read: {error}"


def devices_of(
    found: Sequence[Properties], *, vendor: Vendor, environ: Mapping[str, str], host: str
) -> tuple[Device, ...]:
    """Name what the probe found and give each device the variables that narrow a process to it.

    Args:
        found: in the order of torch's ordinals.
        vendor: whose build of torch answered.
        environ: the caller's variables, which the probe had as well.
        host: where they are.
    """
    listed = amd_list(environ) if vendor == "amd" else environ.get("CUDA_VISIBLE_DEVICES")
    # Torch counts valid entries from the first on, so that its ordinals run along the list.
    entries = [] if listed is None else [part.strip() for part in listed.split(",")]
    devices: list[Device] = []
    for ordinal, properties in enumerate(found):
        uuid = _uuid(properties, vendor)
        fallback = uuid if uuid is not None and vendor == "nvidia" else str(ordinal)
        entry = entries[ordinal] if ordinal < len(entries) else fallback
        device = _device(properties, vendor=vendor, host=host, ordinal=ordinal, entry=entry)
        variables = narrowing(environ, vendor=vendor, entry=entry)
        devices.append(msgspec.structs.replace(device, environment=variables))
    return tuple(devices)


def _device(properties: Properties, *, vendor: Vendor, host: str, ordinal: int, entry: str) -> Device:
    architecture = properties.architecture if vendor == "amd" else "sm_{}{}".format(*properties.capability)
    naming = kind_of(
        properties.name,
        vendor=vendor,
        memory_bytes=properties.memory_bytes,
        architecture=architecture,
        num_units=properties.num_units,
    )
    is_slice = entry.startswith("MIG-")
    return Device(
        id=entry if is_slice else _uuid(properties, vendor) or _place(properties, vendor, host, entry),
        kind=naming.kind,
        name=properties.name,
        vendor=vendor,
        host=host,
        ordinal=ordinal,
        memory_bytes=properties.memory_bytes,
        architecture=architecture,
        num_units=properties.num_units,
        flags=(*naming.flags, "mig") if is_slice and "mig" not in naming.flags else naming.flags,
    )


def _uuid(properties: Properties, vendor: Vendor) -> str | None:
    """The UUID where it tells devices apart; AMD's consumer cards report zeros, and HIP's form fits no list."""
    text = (properties.uuid or "").removeprefix("GPU-")
    if vendor != "nvidia" or _NULL_UUID.fullmatch(text):
        return None
    return text if text.startswith("MIG-") else f"GPU-{text}"


def _place(properties: Properties, vendor: Vendor, host: str, entry: str) -> str:
    """Where the device is plugged in, which is the same tomorrow; else how the caller's list calls it."""
    domain, bus, device = properties.bus
    if bus is None or device is None:
        return f"{vendor}:{host}:{entry}"
    return f"{vendor}:{host}:{domain or 0:04x}:{bus:02x}:{device:02x}"


def _notes(report: Report, vendor: Vendor, nodes: DriverNodes, environ: Mapping[str, str]) -> list[str]:
    notes: list[str] = []
    if report.error:
        notes.append(f"torch {report.torch} could not list its devices: {report.error}")
    build = "CPU only" if report.cuda is None and report.hip is None else f"for {vendor}"
    notes.extend(
        f"a driver of {other} is here, but torch {report.torch} is built {build}; using it needs a build for {other}"
        for other in nodes.vendors
        if build == "CPU only" or other != vendor
    )
    if build != "CPU only" and not report.devices and not report.error and vendor in nodes.vendors:
        num = nodes.amd if vendor == "amd" else nodes.nvidia
        visible = visible_devices(environ, vendor=vendor, uuids=[""] * num)
        listed = [f"{name}={environ[name]}" for name in _FILTERS[vendor] if name in environ]
        if listed:
            notes.append(visible.warning or f"{' '.join(listed)} lets no GPU of {vendor} through")
    return notes


_FILTERS: Final[dict[Vendor, tuple[str, ...]]] = {
    "nvidia": ("CUDA_VISIBLE_DEVICES",),
    "amd": ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"),
}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
