"""From run records to where every worker ran and what connected it to the coordinator; alike ones are put together."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from pytest_mixgpu import units
from pytest_mixgpu.records.model import Link, RunRecord, WorkerFacts
from pytest_mixgpu.report.figures.made import run_label
from pytest_mixgpu.report.fold import folded, numbered, ranged
from pytest_mixgpu.report.model import Section, Table
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    from pytest_mixgpu.devices.model import Pool

Thing = TypeVar("Thing")

_MAX_ROWS = 64
"""With more workers in all, those that are alike share a row."""


def placement_section(records: Sequence[RunRecord], *, pool: "Pool | None" = None) -> Section:
    """Show devices, workers and links.

    Args:
        records: the runs that were judged.
        pool: of this session, shown where there is no record.
    """
    tables = [_worker_table(records), _link_table(records)]
    if not records and pool is not None:
        tables.append(_device_table(pool))
    return Section(
        title="Placement" if records else "Devices",
        lead="Where every worker ran, and its measured path to the coordinator." if records else "",
        tables=tuple(folded(table) for table in tables if table.rows),
    )


def _device_table(pool: "Pool") -> Table:
    rows = tuple(
        (
            clean(device.id),
            clean(device.kind),
            clean(device.name),
            "the host's" if device.vendor == "cpu" else units.format_bytes(device.memory_bytes),
        )
        for device in pool.devices
    )
    head = ("device", "kind", "its driver's name", "memory")
    return Table(head=head, rows=rows, caption="The devices that the session held")


def _worker_table(records: Sequence[RunRecord]) -> Table:
    started = [(record, record.start.workers) for record in records if record.start is not None]
    is_long = sum(len(workers) for _, workers in started) > _MAX_ROWS
    parts = [
        (record, part)
        for record, workers in started
        for part in (_alike(record, workers) if is_long else _each(workers))
    ]
    head = (
        "run", "worker", "device", "its driver's name", "torch", "kernels", "threads", "cores", "variables",
        "started in", "first step after",
    )  # fmt: skip
    return Table(
        head=head,
        rows=tuple(_worker_row(record, part) for record, part in parts),
        caption="Workers: where each ran, with which kernels, and how soon it took its first step",
        note="Workers of a run that differ in nothing but device, cores and speed of start share a row."
        if is_long
        else "",
    )


def _each(things: Iterable[Thing]) -> list[list[Thing]]:
    """Put each thing into a group of its own."""
    return [[thing] for thing in things]


def _kind(record: RunRecord, worker: WorkerFacts) -> tuple[str, str]:
    """Return kind and driver's name of a worker's device; empty where it has none."""
    return next(((one.kind, one.name) for one in record.devices if one.id == worker.device_id), ("", ""))


def _alike(record: RunRecord, workers: Sequence[WorkerFacts]) -> list[list[WorkerFacts]]:
    kinds = {device.id: device.kind for device in record.devices}
    groups: dict[object, list[WorkerFacts]] = {}
    for worker in workers:
        kind = kinds.get(worker.device_id or "", "")
        variables = tuple(sorted(worker.environment.items()))
        key = (
            worker.host,
            kind,
            worker.torch,
            worker.accelerator,
            worker.cpu_capability,
            worker.num_threads,
            variables,
        )
        groups.setdefault(key, []).append(worker)
    return list(groups.values())


def _worker_row(record: RunRecord, workers: Sequence[WorkerFacts]) -> tuple[str, ...]:
    first, count = workers[0], len(workers)
    kind, driver_name = _kind(record, first)
    device = first.device_id or "none"
    place = f"{kind} ({device})" if kind else device
    cores = sorted({core for worker in workers for core in worker.cores})
    name = first.worker if count == 1 else f"{count} from {first.worker} to {workers[-1].worker}"
    cells = (
        run_label(record),
        f"{name} at {first.host}",
        place if count == 1 else f"{count} of {kind or 'no device'}",
        driver_name or "none",
        first.torch or "not loaded",
        first.accelerator or first.cpu_capability or units.UNKNOWN,
        str(first.num_threads),
        numbered(cores) or "free",
        " ".join(f"{name}={value}" for name, value in sorted(first.environment.items())) or "none",
        _span([worker.spawned_s for worker in workers]),
        _span([worker.first_step_s for worker in workers]),
    )
    return tuple(clean(cell) for cell in cells)


def _span(durations_s: Sequence[float | None]) -> str:
    known = [each_s for each_s in durations_s if each_s is not None]
    if not known:
        return units.UNKNOWN
    return ranged(units.format_duration(min(known)), units.format_duration(max(known)))


def _link_table(records: Sequence[RunRecord]) -> Table:
    measured = [(record, record.start.links) for record in records if record.start is not None]
    is_long = sum(len(links) for _, links in measured) > _MAX_ROWS
    parts = [(record, part) for record, links in measured for part in (_same_path(links) if is_long else _each(links))]
    head = ("run", "participant", "from", "to", "round trip", "up", "down", "probes")
    return Table(
        head=head,
        rows=tuple(_link_row(record, part) for record, part in parts),
        caption="Links to the coordinator, measured at the start of each run",
        note="Links between the same two hosts share a row, with the ends of their range." if is_long else "",
    )


def _same_path(links: Sequence[Link]) -> list[list[Link]]:
    groups: dict[object, list[Link]] = {}
    for link in links:
        groups.setdefault((link.from_host, link.to_host, link.num_probes, link.probe_bytes), []).append(link)
    return list(groups.values())


def _link_row(record: RunRecord, links: Sequence[Link]) -> tuple[str, ...]:
    first = links[0]
    up, down = [link.up_bytes_per_s for link in links], [link.down_bytes_per_s for link in links]
    cells = (
        run_label(record),
        numbered([link.participant for link in links]),
        first.from_host,
        first.to_host,
        _span([link.round_trip_s for link in links]),
        ranged(units.format_rate(min(up)), units.format_rate(max(up))),
        ranged(units.format_rate(min(down)), units.format_rate(max(down))),
        f"{first.num_probes} of {units.format_bytes(first.probe_bytes)}",
    )
    return tuple(clean(cell) for cell in cells)
