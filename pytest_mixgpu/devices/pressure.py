"""CPU pressure: for how long some process was ready and had no core, from the kernel's own counter. Linux only."""

import re
from pathlib import Path

_TOTAL = re.compile(r"^some .*\btotal=(\d+)", re.MULTILINE)


def cpu_pressure_s(*, proc: Path = Path("/proc"), cgroups: Path = Path("/sys/fs/cgroup")) -> float | None:
    """Seconds since boot in which some process of the host waited for a core.

    Where the host does not say it, that of our own control group: of its processes alone. None is unknown.

    Args:
        proc: where the kernel's files are.
        cgroups: where those of control groups are.
    """
    host_s = _total_s(proc / "pressure" / "cpu")
    return _total_s(_own_group(proc, cgroups) / "cpu.pressure") if host_s is None else host_s


def _own_group(proc: Path, cgroups: Path) -> Path:
    """The folder of our own group under version 2; the root where nothing says which."""
    try:
        lines = (proc / "self" / "cgroup").read_text(encoding="utf-8").splitlines()
    except OSError:
        return cgroups
    path = next((line.removeprefix("0::") for line in lines if line.startswith("0::")), "/")
    return cgroups / path.lstrip("/")


def _total_s(path: Path) -> float | None:
    try:
        found = _TOTAL.search(path.read_text(encoding="ascii"))
    except (OSError, UnicodeDecodeError):
        return None
    return int(found[1]) / 1e6 if found else None
