"""AMD's GPUs as the kernel shows them: from its files to cards in ROCr's order. Imports nothing of AMD's.

A file that is missing, empty or no number is unknown, never zero.
"""

import re
from pathlib import Path
from typing import Final

import msgspec

from pytest_mixgpu.devices.numa import Numa

_NODES: Final = "sys/class/kfd/kfd/topology/nodes"
_XGMI: Final = 11
_NAME_FILES: Final = ("usr/share/libdrm/amdgpu.ids", "opt/amdgpu/share/libdrm/amdgpu.ids")
_NO_NAME: Final = {"", "n/a", "unknown"}


class AmdCard(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One GPU, or one partition of one, as the kernel describes it."""

    node: int
    """Its number in the kernel's topology."""
    name: str
    """What the board says, or else the list of names that comes with libdrm; empty if neither does."""
    uuid: str
    """`GPU-<16 hexadecimal digits>`; empty where the hardware has none."""
    pci_address: str | None
    memory_bytes: int | None
    architecture: str | None
    num_units: int | None
    numa_node: int | None
    compute_partition: str | None
    """`SPX` is the whole card; `CPX` and others are parts of one."""
    memory_partition: str | None
    driver: str | None
    firmware: str | None
    clock_mhz: float | None
    max_clock_mhz: float | None
    power_cap_w: float | None
    default_power_cap_w: float | None
    temperature_c: float | None
    has_ecc: bool | None
    xgmi_nodes: tuple[int, ...] = ()
    """Nodes that it is joined to by AMD's own links."""

    @property
    def partition(self) -> str | None:
        """`SPX/NPS1`; None where the card cannot be cut up."""
        return "/".join(part for part in (self.compute_partition, self.memory_partition) if part) or None


class AmdTree:
    """The kernel's files.

    Args:
        root: where `/sys`, `/dev` and `/usr` are.
    """

    def __init__(self, root: Path = Path("/")) -> None:
        self._root = root

    @property
    def is_here(self) -> bool:
        """Whether the driver for computing is loaded."""
        return (self._root / "sys/class/kfd").exists() or (self._root / "dev/kfd").exists()

    def cards(self) -> tuple[tuple[AmdCard, ...], tuple[str, ...]]:
        """List the GPUs that this process may open, and say of the others why not."""
        notes: list[str] = []
        kfd = self._root / "dev/kfd"
        if not kfd.exists():
            return (), ("AMD's driver is here, but /dev/kfd is not: this container was not given it",)
        cards: list[AmdCard] = []
        for folder in sorted((self._root / _NODES).glob("*"), key=lambda path: (len(path.name), path.name)):
            # A node with the id 0 is a processor; one that may not be read belongs to another container.
            if _number(_read(folder / "gpu_id")) in {None, 0}:
                continue
            facts = _properties(folder / "properties")
            minor = facts.get("drm_render_minor")
            if minor and not (self._root / f"dev/dri/renderD{minor}").exists():
                notes.append(f"AMD's device of node {folder.name} cannot be used: there is no /dev/dri/renderD{minor}")
                continue
            cards.append(self._card(folder, facts))
        return tuple(cards), tuple(notes)

    def _card(self, folder: Path, facts: dict[str, int]) -> AmdCard:
        address = _pci_address(facts)
        pci = self._root / f"sys/bus/pci/devices/{address}"
        unique = facts.get("unique_id") or _hexadecimal(_read(pci / "unique_id"))
        simds, simds_a_unit = facts.get("simd_count"), facts.get("simd_per_cu")
        clock, max_clock = _clocks(_read(pci / "pp_dpm_sclk"))
        return AmdCard(
            node=int(folder.name),
            name=_text(pci / "product_name") or self._listed_name(pci) or "",
            uuid=f"GPU-{unique:016x}" if unique else "",
            pci_address=address,
            memory_bytes=_number(_read(pci / "mem_info_vram_total")),
            architecture=_architecture(facts.get("gfx_target_version")),
            num_units=simds // simds_a_unit if simds and simds_a_unit else None,
            numa_node=Numa(self._root).node_of_pci(address),
            compute_partition=_text(pci / "current_compute_partition"),
            memory_partition=_text(pci / "current_memory_partition"),
            driver=_text(self._root / "sys/module/amdgpu/version") or self._kernel(),
            firmware=_text(pci / "vbios_version"),
            clock_mhz=clock,
            # Where the kernel lists no clocks, the topology has the highest one.
            max_clock_mhz=max_clock or facts.get("max_engine_clk_fcompute") or None,
            power_cap_w=_scaled(_monitored(pci, "power1_cap"), 1e6),
            default_power_cap_w=_scaled(_monitored(pci, "power1_cap_default"), 1e6),
            temperature_c=_scaled(_monitored(pci, "temp1_input"), 1e3),
            has_ecc=_has_ecc(pci),
            xgmi_nodes=_joined(folder),
        )

    def _kernel(self) -> str | None:
        """The driver that comes with the kernel has the kernel's version."""
        release = _text(self._root / "proc/sys/kernel/osrelease")
        return f"kernel {release}" if release else None

    def _listed_name(self, pci: Path) -> str | None:
        """The name that libdrm gives to this device and revision, as ROCm's own tools do."""
        device, revision = (_hexadecimal(_read(pci / name)) for name in ("device", "revision"))
        if device is None or revision is None:
            return None
        wanted = re.compile(rf"^{device:X},\s*{revision:02X},\s*(\S.*?)\s*$", re.MULTILINE | re.IGNORECASE)
        for name in _NAME_FILES:
            match = wanted.search(_read(self._root / name))
            if match:
                return match[1]
        return None


def _properties(path: Path) -> dict[str, int]:
    """Read a file of the topology: a name and a number a line."""
    pairs = (line.split() for line in _read(path).splitlines())
    return {pair[0]: int(pair[1]) for pair in pairs if len(pair) == 2 and pair[1].isascii() and pair[1].isdigit()}


def _pci_address(facts: dict[str, int]) -> str | None:
    place = facts.get("location_id")
    if not place:
        return None
    return f"{facts.get('domain', 0):04x}:{place >> 8 & 0xFF:02x}:{place >> 3 & 0x1F:02x}.{place & 7}"


def _architecture(version: int | None) -> str | None:
    """`gfx942` of 90402: two decimal digits a part, written in hexadecimal."""
    if not version:
        return None
    return f"gfx{version // 10_000}{version // 100 % 100:x}{version % 100:x}"


def _clocks(text: str) -> tuple[float | None, float | None]:
    """The clock now and the highest of the kernel's list, `1: 2100Mhz *`."""
    found = re.findall(r"^\s*\S+:\s*(\d+)\s*mhz(\s*\*)?", text, re.MULTILINE | re.IGNORECASE)
    now = next((float(clock) for clock, star in found if star), None)
    return now, max((float(clock) for clock, _ in found), default=None)


def _has_ecc(pci: Path) -> bool | None:
    """Whether errors of its memory are counted; a card without such counters does not say that it has none."""
    mask = re.search(r"feature mask:\s*0x([0-9a-fA-F]+)", _read(pci / "ras/features"))
    return None if mask is None else bool(int(mask[1], 16) & 1)


def _joined(folder: Path) -> tuple[int, ...]:
    nodes: set[int] = set()
    for path in folder.glob("io_links/*/properties"):
        facts = _properties(path)
        if facts.get("type") == _XGMI and "node_to" in facts:
            nodes.add(facts["node_to"])
    return tuple(sorted(nodes))


def _monitored(pci: Path, name: str) -> int | None:
    return next((_number(_read(path)) for path in sorted(pci.glob(f"hwmon/*/{name}"))), None)


def _scaled(value: int | None, parts: float) -> float | None:
    return None if value is None else value / parts


def _number(text: str) -> int | None:
    return int(text) if re.fullmatch(r"\s*[0-9]{1,18}\s*", text) else None


def _hexadecimal(text: str) -> int | None:
    return int(text, 16) if re.fullmatch(r"\s*(?:0x)?[0-9a-fA-F]{1,16}\s*", text) else None


def _text(path: Path) -> str | None:
    text = _read(path).strip()
    return None if text.casefold() in _NO_NAME else text


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
