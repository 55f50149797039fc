"""What disturbed devices while they were measured: from what was seen of them to sentences. Names its limits. Pure.

A card at its ordinary power cap is in its steady state: that is noted, and disturbs only where the cap is below the
card's own default, or where the plan says so. What nobody saw is unknown, and said.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import msgspec
from msgspec import UnsetType

from pytest_mixgpu.devices.model import Device, DeviceSeen
from pytest_mixgpu.marks.comparison import exceeds
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.records.plan import Disturbance

CAP_REASONS: Final = frozenset({"sw-power-cap", "power"})
"""Words by which drivers say that a card is at its power cap."""
HARMLESS_REASONS: Final = frozenset({"sync-boost", "display-clock-setting"})
"""Somebody chose these; what they allow is what `allowed_clock_mhz` says."""


class DeviceLimits(msgspec.Struct, frozen=True, kw_only=True):
    """From where on a device is disturbed; what a plan does not say has these."""

    clock_share: float = 0.50
    ecc_errors: int = 0
    link_errors: int = 0
    power_cap_disturbs: bool = False
    cpu_pressure: float = 0.10


def limits_of(disturbance: Disturbance) -> DeviceLimits:
    """Return a plan's limits of devices, with the defaults of this version where it says nothing."""
    stated = {
        name: value
        for name in DeviceLimits.__struct_fields__
        if not isinstance(value := getattr(disturbance, name), UnsetType)
    }
    return DeviceLimits(**stated)


def disturbed_devices(run: RunRecord, disturbance: Disturbance) -> tuple[str, ...]:
    """Return what disturbed the devices of a run in its measured rounds, a sentence each."""
    limits = limits_of(disturbance)
    return tuple(
        f"{text} in round {line.index} of {run.header.name} (run {run.id}), {named(device)}"
        for line, device, seen in _sightings(run)
        for text in disturbances(seen, limits, default_cap_w=_default_cap_w(run, device))
    )


def disturbances(seen: DeviceSeen, limits: DeviceLimits, *, default_cap_w: float | None = None) -> Iterator[str]:
    """Say what disturbed one device in one stretch, each with how much of it there was.

    Args:
        seen: of the device.
        limits: from where on.
        default_cap_w: the card's own power cap; None is unknown.
    """
    if seen.foreign_pids:
        yield f"foreign processes ({', '.join(map(str, seen.foreign_pids))}) were on the device"
    reasons = set(seen.throttle_reasons or ())
    held = sorted(reasons - CAP_REASONS - HARMLESS_REASONS)
    if held:
        yield f"the driver held clocks back ({', '.join(held)})"
    capped = sorted(reasons & CAP_REASONS)
    is_lowered = seen.power_cap_w is not None and default_cap_w is not None and exceeds(default_cap_w, seen.power_cap_w)
    if capped and (is_lowered or limits.power_cap_disturbs):
        cap = "an unknown cap" if seen.power_cap_w is None else f"a cap of {seen.power_cap_w:g} W"
        own = f", below the card's own {default_cap_w:g} W" if is_lowered else ", which the plan does not put up with"
        yield f"the driver held clocks back ({', '.join(capped)}) at {cap}{own}"
    share = clock_share(seen)
    if share is not None and exceeds(limits.clock_share, share):
        yield (
            f"a clock of {seen.lowest_clock_mhz:g} MHz was seen while it computed, {100 * share:.0f} % of the "
            f"{seen.allowed_clock_mhz:g} MHz that it is allowed, the limit is {100 * limits.clock_share:g} %"
        )
    for count, limit, what in (
        (seen.new_ecc_errors, limits.ecc_errors, "uncorrected memory errors"),
        (seen.new_link_errors, limits.link_errors, "errors of links"),
    ):
        if count is not None and count > limit:
            yield f"{count} new {what} were counted, the limit is {limit}"


def clock_share(seen: DeviceSeen) -> float | None:
    """Return the lowest clock as a share of what was allowed; None is unknown."""
    if seen.lowest_clock_mhz is None or not seen.allowed_clock_mhz or seen.allowed_clock_mhz <= 0:
        return None
    return seen.lowest_clock_mhz / seen.allowed_clock_mhz


def noted_of_devices(runs: Iterable[RunRecord], disturbance: Disturbance) -> tuple[str, ...]:
    """Return what is to be known of the devices beside disturbances: caps, pressure, and what nobody saw."""
    limits, said = limits_of(disturbance), []
    for run in runs:
        label = f"{run.header.name} ({run.id})"
        if unseen := unseen_devices(run):
            said.append(f"disturbed: unknown; what became of {', '.join(unseen)} meanwhile is not known of {label}")
        if unmatched := _without_processes(run):
            said.append(f"disturbed: unknown; whose processes were on {', '.join(unmatched)} is not known of {label}")
        if run.outcome is not None and run.outcome.sampling is not None and run.outcome.sampling.failure:
            said.append(f"{label}: {run.outcome.sampling.failure}")
        said += _caps(run, label, limits)
        pressed = [
            (pressure, line.index)
            for line in run.measured_rounds
            for pressure in line.cpu_pressure
            if pressure is not None and exceeds(pressure, limits.cpu_pressure)
        ]
        if pressed:
            pressure, index = max(pressed)
            said.append(
                f"some process waited for a core for {100 * pressure:.0f} % of round {index} of {label}; that may have "
                "been ours, foreign load is stated apart"
            )
    return tuple(said)


def unseen_devices(run: RunRecord) -> tuple[str, ...]:
    """Return the GPUs of a run of which no measured round knows anything."""
    known = {device.id for _, device, seen in _sightings(run) if seen.num_samples > 0}
    return tuple(named(device) for device in _measured_gpus(run) if device.id not in known)


def named(device: Device) -> str:
    """Name a device and its host."""
    return f"device {device.id} ({device.kind}), host {device.host}"


def _without_processes(run: RunRecord) -> tuple[str, ...]:
    """GPUs that were seen, of which no measured round knows whose processes were on them."""
    seen = {device.id for _, device, seen in _sightings(run) if seen.num_samples > 0}
    known = {device.id for _, device, seen in _sightings(run) if seen.foreign_pids is not None}
    return tuple(named(device) for device in _measured_gpus(run) if device.id in seen - known)


def _caps(run: RunRecord, label: str, limits: DeviceLimits) -> Iterator[str]:
    """Cards at their own cap, each once: the steady state of many."""
    if limits.power_cap_disturbs:
        return
    capped = {
        device.id: device for _, device, seen in _sightings(run) if CAP_REASONS & set(seen.throttle_reasons or ())
    }
    if capped:
        yield f"at the power cap, as under steady load, in {label}: {', '.join(map(named, capped.values()))}"


def _measured_gpus(run: RunRecord) -> list[Device]:
    places = {place: None for line in run.measured_rounds for place in line.participants}
    return [run.devices[place] for place in places if run.devices[place].vendor != "cpu"]


def _sightings(run: RunRecord) -> Iterator[tuple[RoundLine, Device, DeviceSeen]]:
    for line in run.measured_rounds:
        for participant, seen in zip(line.participants, line.device_seen, strict=False):
            if seen is not None:
                yield line, run.devices[participant], seen


def _default_cap_w(run: RunRecord, device: Device) -> float | None:
    hosts = run.start.hosts if run.start is not None else ()
    caps_w = (facts.default_power_cap_w for host in hosts for facts in host.devices if facts.device_id == device.id)
    return next((cap_w for cap_w in caps_w if cap_w is not None), None)
