"""The values of this room: `Device` and `Pool`."""

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
