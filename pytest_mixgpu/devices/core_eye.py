"""Looks at one core through the kernel's files: whether heat held it back. Linux only; elsewhere all is unknown.

Who else computes on it is counted, not sampled: see `interference`.
"""

from pathlib import Path

from pytest_mixgpu.devices.glance import Glance

THERMAL = "thermal-throttle"


class CoreEye:
    """Looks at one core.

    Args:
        core: its number.
        sysfs: where the kernel's files are.
    """

    def __init__(self, core: int, *, sysfs: Path = Path("/sys")) -> None:
        self._counters = tuple((sysfs / f"devices/system/cpu/cpu{core}/thermal_throttle").glob("*_throttle_count"))
        self._last: int | None = self._count()

    def look(self) -> Glance:
        """Look once: a count of events that grew since the last look is a reason now."""
        count, before = self._count(), self._last
        self._last = count
        if count is None or before is None:
            return Glance()
        return Glance(throttle_reasons=(THERMAL,) if count > before else ())

    def _count(self) -> int | None:
        """A machine without these counters, as most virtual ones are, knows nothing of its heat."""
        try:
            counts = [int(path.read_text(encoding="ascii")) for path in self._counters]
        except (OSError, ValueError):
            return None
        return sum(counts) if counts else None
