"""One look at one device, and what a stretch of looks comes to: from `Glance` to `DeviceSeen`. Asks no driver.

Counters of errors are compared with the last look before the stretch; everything else counts where it was seen within
it. A clock counts only while the device computed in a state of full performance: an idle device may be slow.
"""

import os
from collections.abc import Callable, Collection, Iterable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from pytest_mixgpu.devices.model import DeviceSeen

BUSY_SHARE: Final = 0.5
"""From this share of time with work on it a device counts as busy."""
_INITIAL_PID_NAMESPACE: Final = "pid:[4026531836]"
"""The kernel's own number of the namespace that sees all processes of a host."""


class Glance(msgspec.Struct, frozen=True, kw_only=True):
    """What one device showed at one moment. Unknown is None, never zero."""

    pids: tuple[int, ...] | None = None
    """Processes that hold it."""
    is_busy: bool | None = None
    clock_mhz: float | None = None
    """Of the compute units; None where the state of the device allows a slow one."""
    allowed_clock_mhz: float | None = None
    throttle_reasons: tuple[str, ...] | None = None
    temperature_c: float | None = None
    power_w: float | None = None
    power_cap_w: float | None = None
    ecc_errors: int | None = None
    """Uncorrected ones, counted since the driver was loaded."""
    link_errors: int | None = None


class Eye(Protocol):
    """Looks at one device."""

    def look(self) -> Glance:
        """Look once.

        Raises:
            OSError: the device can no longer be asked.
        """


class Family(msgspec.Struct, frozen=True, kw_only=True):
    """Which processes are ours, at one moment."""

    pids: frozenset[int]
    sees_all: bool
    """Whether the numbers of processes that a driver tells are the numbers that we see."""


def seen(glances: Sequence[Glance], before: Glance | None, family: Family | None) -> DeviceSeen:
    """Sum up a stretch.

    Args:
        glances: within it, in order.
        before: the last one before it; None leaves new errors unknown.
        family: which processes are ours; None is unknown.
    """
    clocks_mhz = [(one.clock_mhz, one.allowed_clock_mhz) for one in glances if one.is_busy and one.clock_mhz]
    slowest = min(clocks_mhz, key=_share_of_allowed, default=(None, None))
    reasons = [one.throttle_reasons for one in glances if one.throttle_reasons is not None]
    last = glances[-1] if glances else Glance()
    return DeviceSeen(
        num_samples=len(glances),
        foreign_pids=_foreign([one.pids for one in glances], family),
        lowest_clock_mhz=slowest[0],
        allowed_clock_mhz=slowest[1] if slowest[0] is not None else last.allowed_clock_mhz,
        throttle_reasons=tuple(sorted({name for names in reasons for name in names})) if reasons else None,
        highest_temperature_c=_most(one.temperature_c for one in glances),
        highest_power_w=_most(one.power_w for one in glances),
        power_cap_w=min((one.power_cap_w for one in glances if one.power_cap_w is not None), default=None),
        new_ecc_errors=None if before is None else _new(before.ecc_errors, last.ecc_errors),
        new_link_errors=None if before is None else _new(before.link_errors, last.link_errors),
    )


def sees_all_processes(proc: Path = Path("/proc")) -> bool:
    """Whether this process stands in the namespace in which drivers number processes."""
    try:
        return str((proc / "self" / "ns" / "pid").readlink()) == _INITIAL_PID_NAMESPACE
    except OSError:
        return False


def lives(pid: int) -> bool:
    """Whether a process of that number is there, whoever owns it."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True


def foreign_pids(
    pids: Collection[int], family: Family, *, is_alive: Callable[[int], bool] = lives
) -> tuple[int, ...] | None:
    """Say which processes on a device are none of ours.

    A container numbers its processes anew, and some drivers tell the host's numbers to it, or none at all. There one of
    ours must be among them before the others mean anything.

    Args:
        pids: as the driver tells them.
        family: ours.
        is_alive: whether a process is there. One that has ended since is nobody's.

    Returns:
        None where they cannot be told apart.
    """
    if not family.sees_all and not family.pids & set(pids):
        return None
    return tuple(sorted(pid for pid in pids if pid not in family.pids and is_alive(pid)))


def _foreign(seen_pids: Iterable[tuple[int, ...] | None], family: Family | None) -> tuple[int, ...] | None:
    known = [pids for pids in seen_pids if pids is not None]
    if not known or family is None:
        return None
    return foreign_pids({pid for pids in known for pid in pids}, family)


def _share_of_allowed(clocks_mhz: tuple[float, float | None]) -> float:
    clock_mhz, allowed_mhz = clocks_mhz
    return clock_mhz / allowed_mhz if allowed_mhz else clock_mhz


def _most(values: Iterable[float | None]) -> float | None:
    return max((value for value in values if value is not None), default=None)


def _new(before: int | None, after: int | None) -> int | None:
    """A counter that was set back has counted at least what it shows."""
    if before is None or after is None:
        return None
    return after - before if after >= before else after
