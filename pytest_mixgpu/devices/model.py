"""The values of this room: `Device` and `Pool`, what a host says of a device, and what was seen of it meanwhile."""

from collections import Counter
from typing import Literal

import msgspec

Vendor = Literal["cpu", "nvidia", "amd"]


class Device(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One device, as the machine reports it and as the catalog names it."""

    id: str
    """Names the same piece of hardware again tomorrow: `GPU-8932f937-…`, or `cpu:<host>:<core>`."""
    kind: str
    """The exact part in the catalog's words: `a40`, `h100-sxm`, `cpu`, `unresolved`."""
    name: str
    """What the driver or the kernel calls it, unchanged."""
    vendor: Vendor
    host: str
    ordinal: int
    """Index among the visible devices of its vendor; for a CPU the number of the core."""
    memory_bytes: int | None = None
    architecture: str | None = None
    """`sm_86`, `gfx942`; unknown is None."""
    num_units: int | None = None
    """Streaming multiprocessors or compute units, as the runtime reports them; unknown is None."""
    flags: tuple[str, ...] = ()
    """`vgpu`, `mig`, `virtual-function`, `generic-name`, `memory-twins`: why not the bare card, or what else counts."""
    pci_address: str | None = None
    """As the kernel writes it, `0000:3b:00.0`; None for a core, and where it is unknown."""
    numa_node: int | None = None
    """The node whose cores and memory are next to it; unknown is None."""
    inferred: tuple[str, ...] = ()
    """Kinds that fit its architecture, units and memory where its name says none: for people, never matched."""
    environment: tuple[tuple[str, str], ...] = ()
    """Variables that its participant must have before torch is imported, sorted by name."""

    @property
    def torch_device(self) -> str:
        """The name that torch gives to this device inside its participant, which sees only this one."""
        return "cpu" if self.vendor == "cpu" else "cuda:0"


class Pool(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The devices of a session or of one run, in the order of participants."""

    devices: tuple[Device, ...]

    @property
    def kinds(self) -> Counter[str]:
        """How many there are of each kind."""
        return Counter(device.kind for device in self.devices)

    @property
    def spec(self) -> str:
        """The canonical request that this pool answers: kinds in alphabetical order, `a40:1,rtx4090:1`."""
        return ",".join(f"{kind}:{count}" for kind, count in sorted(self.kinds.items()))

    @property
    def is_cpu(self) -> bool:
        """Whether no device here is a GPU."""
        return all(device.vendor == "cpu" for device in self.devices)

    def __len__(self) -> int:
        return len(self.devices)


class DeviceFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host says of one device beside its identity, at one moment. Unknown is None, never zero."""

    device_id: str
    near_cores: str = ""
    """Cores of its NUMA node as the kernel writes them, `0-31,64-95`; empty is unknown."""
    driver: str | None = None
    firmware: str | None = None
    clock_mhz: float | None = None
    """Of the compute units, now."""
    max_clock_mhz: float | None = None
    power_cap_w: float | None = None
    default_power_cap_w: float | None = None
    has_ecc: bool | None = None
    is_persistent: bool | None = None
    """Whether the driver keeps its state when nobody uses the device."""
    temperature_c: float | None = None
    partition: str | None = None
    """How it is cut up: `mig`, `SPX/NPS1`; None is unknown or not at all."""


class DeviceLink(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The way between two devices of one host, as the driver or the kernel describes it; not a measurement."""

    from_id: str
    to_id: str
    path: str
    """`nvlink:4` (number of links), `xgmi`, `pcie-switch`, `pcie-bridges`, `host-bridge`, `numa-node`, `system`."""


class DeviceSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What was seen of one device while a round went on. Unknown is None, never zero."""

    num_samples: int
    foreign_pids: tuple[int, ...] | None = None
    """Processes on the device that are none of this session's."""
    lowest_clock_mhz: float | None = None
    """Of the compute units, in samples in which the device was busy."""
    allowed_clock_mhz: float | None = None
    """What the device's settings let it reach at most."""
    throttle_reasons: tuple[str, ...] | None = None
    """Why the driver held clocks back, in its own words, each once."""
    highest_temperature_c: float | None = None
    highest_power_w: float | None = None
    power_cap_w: float | None = None
    new_ecc_errors: int | None = None
    """Uncorrected errors of its memory since the round began."""
    new_link_errors: int | None = None
    """Replays and errors of its links since the round began."""


class Sampling(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the devices of a run were watched, and at what cost."""

    rate_hz: float
    """How often all were looked at unasked; beside that at the ends of rounds."""
    num_samples: int
    cpu_s: float
    """CPU time that watching took on this host, that of its foreign load among it."""
    watched_s: float
    """From the first look to the last."""
    failure: str = ""
    """Why devices were not seen from some moment on; empty where nothing failed."""
