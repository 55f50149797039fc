"""Item 4: where everything ran and what connected it, the coordinator included."""

import statistics

from pytest_mixgpu.marks.checks.beside_device import misplaced
from pytest_mixgpu.marks.checks.finding import Check, Finding
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.records.model import RunRecord


def devices_named(evidence: Evidence) -> Finding:
    """Each device has its id, its exact kind and its driver's name for it, and a worker says that it ran beside it."""
    missing = []
    for run in evidence.completed:
        missing += [
            f"run {run.id}: device {device.id or device.ordinal} is not named as one exact kind"
            for device in run.devices
            if not device.id or not device.name or device.kind in {"", "unresolved"}
        ]
        used = {worker.device_id for worker in (run.start.workers if run.start else ())}
        missing += [
            f"run {run.id}: no worker says that it ran on {device.id}"
            for device in run.devices
            if device.id not in used
        ]
        missing += misplaced(run)
    pools = {f"{run.header.name}: {run.header.pool.spec}": None for run in evidence.completed}
    names = sorted({f"{device.kind} is {device.name}" for run in evidence.completed for device in run.devices})
    return Finding(missing=tuple(missing), stated=(*pools, *names))


def hosts_named(evidence: Evidence) -> Finding:
    """Each host that took part is described: system, processor, cores."""
    missing: list[str] = []
    hosts: dict[str, str] = {}
    for run in evidence.completed:
        known = {host.host: host for host in (run.header.host, *(run.start.hosts if run.start else ()))}
        for name in sorted({device.host for device in run.devices} | ({run.header.coordinator} - {""})):
            host = known.get(name)
            if host is None or not host.os or not host.kernel or host.num_cores < 1:
                missing.append(f"run {run.id}: host {name or 'without a name'} is not described")
            else:
                hosts[name] = (
                    f"{name}: {host.os}, kernel {host.kernel}, {host.num_cores} cores ({host.cpu_model or 'unknown'})"
                )
    return Finding(missing=tuple(dict.fromkeys(missing)), stated=tuple(hosts.values()))


def coordinator_placed(evidence: Evidence) -> Finding:
    """Plan and runs say where updates were combined."""
    missing: list[str] = []
    places: dict[str, None] = {}
    if evidence.plan is None or not evidence.plan.placement.description.strip():
        missing.append("the plan does not say where participants and coordinator are meant to stand")
    for run in _exchanging(evidence):
        if not run.header.coordinator:
            missing.append(f"run {run.id} does not say where its coordinator stood")
        beside = run.header.coordinator in {device.host for device in run.devices}
        places[
            f"coordinator on {run.header.coordinator}, {'a host of' if beside else 'away from'} the participants"
        ] = None
    return Finding(missing=tuple(missing), stated=tuple(places))


def links_measured(evidence: Evidence) -> Finding:
    """Every participant's link to the coordinator was measured in every run: round trip and bandwidth both ways."""
    runs = _exchanging(evidence)
    missing = [] if runs else ["no completed run has an exchange whose links could be measured"]
    stated: dict[str, str] = {}
    for run in runs:
        links = {link.participant: link for link in (run.start.links if run.start else ())}
        for participant, device in enumerate(run.devices):
            link = links.get(participant)
            if link is None or min(link.round_trip_s, link.up_bytes_per_s, link.down_bytes_per_s, link.num_probes) <= 0:
                missing.append(f"run {run.id}: the link of participant {participant} on {device.host} was not measured")
        if links and len(links) == len(run.devices):
            trip_s = statistics.median(link.round_trip_s for link in links.values())
            up, down = (
                min(rates)
                for rates in ([x.up_bytes_per_s for x in links.values()], [x.down_bytes_per_s for x in links.values()])
            )
            stated[run.id] = (
                f"{run.header.name}: round trip {1000 * trip_s:.3g} ms, slowest link {up / 1e6:,.0f} MB/s up and "
                f"{down / 1e6:,.0f} MB/s down"
            )
    return Finding(missing=tuple(missing), stated=tuple(stated.values()))


def _exchanging(evidence: Evidence) -> list[RunRecord]:
    return [run for run in evidence.completed if run.header.settings.exchange not in {"none", "ddp"}]


CHECKS = (
    Check(
        name="devices-named",
        about="every device has id, exact kind and its driver's name, and its participant ran beside it",
        look=devices_named,
    ),
    Check(name="hosts-named", about="every host is described", look=hosts_named),
    Check(name="coordinator-placed", about="where updates were combined is said", look=coordinator_placed),
    Check(name="links-measured", about="every link to the coordinator was measured in every run", look=links_measured),
)
