"""Looks at an AMD device through the kernel's files: one `Glance` from sysfs. Imports no torch; needs no library.

`gpu_metrics` is read in the one revision whose reasons mean the same on every part (1.3); in others they are unknown.
"""

from pathlib import Path
from typing import Final

from pytest_mixgpu.devices.glance import BUSY_SHARE, Glance

_REVISION_OF_REASONS: Final = (1, 3)
_REASONS_AT: Final = slice(112, 120)
REASONS: Final = (
    (range(8), "power"),
    (range(16, 24), "current"),
    (range(32, 46), "temperature"),
    (range(46, 48), "prochot"),
)
"""Bits of `indep_throttle_status`, by what limits."""


class AmdEye:
    """Looks at one card.

    Args:
        pci_address: as the kernel writes it.
        sysfs: where the kernel's files are.
    """

    def __init__(self, pci_address: str, *, sysfs: Path = Path("/sys")) -> None:
        self._folder = sysfs / "bus/pci/devices" / pci_address
        self._hwmon = next(iter(sorted((self._folder / "hwmon").glob("hwmon*"))), self._folder)
        self._processes = sysfs / "class/kfd/kfd/proc"
        self._gpu_id = _gpu_id(sysfs / "class/kfd/kfd/topology/nodes", pci_address)

    def look(self) -> Glance:
        """Look once.

        Raises:
            OSError: the device is gone.
        """
        if not self._folder.is_dir():
            raise FileNotFoundError(f"{self._folder} is gone")
        busy_percent = _number(self._folder / "gpu_busy_percent")
        clock_mhz, allowed_mhz = _clocks_mhz(self._folder / "pp_dpm_sclk")
        power_w = _micro(self._hwmon / "power1_average")
        errors = [_uncorrected(path) for path in (self._folder / "ras").glob("*_err_count")]
        known = [count for count in errors if count is not None]
        return Glance(
            pids=self._pids(),
            is_busy=None if busy_percent is None else busy_percent >= 100 * BUSY_SHARE,
            clock_mhz=clock_mhz,
            allowed_clock_mhz=allowed_mhz,
            throttle_reasons=_reasons(self._folder / "gpu_metrics"),
            temperature_c=_thousandth(self._hwmon / "temp2_input", self._hwmon / "temp1_input"),
            power_w=_micro(self._hwmon / "power1_input") if power_w is None else power_w,
            power_cap_w=_micro(self._hwmon / "power1_cap"),
            ecc_errors=sum(known) if known else None,
            link_errors=_number(self._folder / "pcie_replay_count"),
        )

    def _pids(self) -> tuple[int, ...] | None:
        """Processes with memory on this device; the driver lists those that compute, not those that draw."""
        if self._gpu_id is None or not self._processes.is_dir():
            return None
        found = self._processes.glob(f"*/vram_{self._gpu_id}")
        return tuple(sorted(int(path.parent.name) for path in found if path.parent.name.isdigit() and _number(path)))


def _gpu_id(nodes: Path, pci_address: str) -> int | None:
    """The driver's own number of a device, found by where it is plugged in; None is unknown."""
    try:
        domain, bus, rest = pci_address.split(":")
        device, function = rest.split(".")
        location = (int(bus, 16) << 8) | (int(device, 16) << 3) | int(function)
        wanted = {"domain": int(domain, 16), "location_id": location}
    except ValueError:
        return None
    for node in sorted(nodes.glob("*")):
        text = _text(node / "properties") or ""
        rows = (line.split() for line in text.splitlines())
        properties = {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}
        if all(properties.get(name, 0 if name == "domain" else None) == value for name, value in wanted.items()):
            return _number(node / "gpu_id") or None
    return None


def _reasons(path: Path) -> tuple[str, ...] | None:
    try:
        raw = path.read_bytes()
    except OSError:
        return None
    if len(raw) < _REASONS_AT.stop or (raw[2], raw[3]) != _REVISION_OF_REASONS:
        return None
    bits = int.from_bytes(raw[_REASONS_AT], "little")
    if bits == 2**64 - 1:
        # What the driver writes where the part does not say it.
        return None
    return tuple(name for places, name in REASONS if any(bits >> place & 1 for place in places))


def _clocks_mhz(path: Path) -> tuple[float | None, float | None]:
    """The clock now, marked by a star, and the highest level: `1: 1500Mhz *`."""
    clock_mhz: float | None = None
    levels_mhz: list[float] = []
    for line in (_text(path) or "").splitlines():
        level = line.partition(":")[2].strip()
        number = level.rstrip(" *").lower().removesuffix("mhz")
        if not number.isdigit():
            continue
        levels_mhz.append(float(number))
        if level.endswith("*"):
            clock_mhz = float(number)
    return clock_mhz, max(levels_mhz, default=None)


def _uncorrected(path: Path) -> int | None:
    """Of one block of the chip: a line `ue: 0` beside one of corrected errors."""
    rows = (line.partition(":") for line in (_text(path) or "").splitlines())
    return next((int(value) for name, _, value in rows if name.strip() == "ue" and value.strip().isdigit()), None)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text and text.isdigit() else None


def _micro(path: Path) -> float | None:
    value = _number(path)
    return None if value is None else value / 1e6


def _thousandth(*paths: Path) -> float | None:
    """The first of these that is there: the hottest spot, else the edge."""
    return next((value / 1000 for path in paths if (value := _number(path)) is not None), None)
