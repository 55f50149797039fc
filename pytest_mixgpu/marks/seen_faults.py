"""Can a device have been seen like that: from what a record says was seen to what cannot be. One sentence a fault."""

from collections.abc import Iterator
from typing import Final

from pytest_mixgpu.devices.model import DeviceSeen, Sampling
from pytest_mixgpu.records.model import RoundLine, RunRecord

_RANGES: Final = {
    "lowest_clock_mhz": (0.0, 1e5, "MHz"),
    "allowed_clock_mhz": (0.0, 1e5, "MHz"),
    "highest_temperature_c": (-273.15, 1e3, "°C"),
    "highest_power_w": (0.0, 1e5, "W"),
    "power_cap_w": (0.0, 1e5, "W"),
}
"""What hardware shows, widely."""
_COUNTS: Final = ("num_samples", "new_ecc_errors", "new_link_errors")


def line_seen_faults(line: RoundLine) -> Iterator[str]:
    """Yield what a round cannot have seen of devices and hosts."""
    for participant, seen in zip(line.participants, line.device_seen, strict=False):
        yield from _seen_faults(seen, f"the device of participant {participant}")
    for pressure in line.cpu_pressure:
        if pressure is not None and not 0 <= pressure <= 1:
            yield f"a process is said to have waited for a core for {pressure!r} of the round"


def watch_faults(run: RunRecord) -> Iterator[str]:
    """Yield what cannot have been seen before and after the rounds, and what watching cannot have cost."""
    stretches = {} if run.start is None else {"before the first round": run.start.device_seen}
    if run.outcome is not None:
        stretches["after the last round"] = run.outcome.device_seen
    for when, devices in stretches.items():
        if devices and len(devices) != len(run.devices):
            yield f"{len(devices)} devices were seen {when}, the pool has {len(run.devices)}"
        for place, seen in enumerate(devices):
            yield from (f"{fault}, {when}" for fault in _seen_faults(seen, f"device {place}"))
    if run.outcome is not None and run.outcome.sampling is not None:
        yield from _cost_faults(run.outcome.sampling)


def _seen_faults(seen: DeviceSeen | None, who: str) -> Iterator[str]:
    if seen is None:
        return
    for name, (least, most, unit) in _RANGES.items():
        value = getattr(seen, name)
        if value is not None and not least <= value <= most:
            yield f"{name} of {who} is said to be {value!r} {unit}"
    for name in _COUNTS:
        count = getattr(seen, name)
        if count is not None and count < 0:
            yield f"{name} of {who} is said to be {count}"
    if any(pid < 1 for pid in seen.foreign_pids or ()):
        yield f"foreign_pids of {who} are said to be {seen.foreign_pids}"
    measured = (seen.lowest_clock_mhz, seen.throttle_reasons, seen.foreign_pids, seen.highest_power_w)
    if seen.num_samples == 0 and any(value is not None for value in measured):
        yield f"{who} was not looked at and is said to have been seen"


def _cost_faults(sampling: Sampling) -> Iterator[str]:
    costs = {"rate_hz": sampling.rate_hz, "cpu_s": sampling.cpu_s, "watched_s": sampling.watched_s}
    for name, value in costs.items():
        if not value >= 0:
            yield f"{name} of its sampling is said to be {value!r}"
    if sampling.num_samples < 0:
        yield f"its devices are said to have been looked at {sampling.num_samples} times"
