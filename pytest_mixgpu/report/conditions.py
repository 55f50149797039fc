"""From run records to the conditions (settings by role) and the environment (hosts, versions, workers, links).

A suite without runs has no record of its environment: there the session's own host and pool are shown.
"""

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.marks.evidence import evaluation_of, workload_of
from pytest_mixgpu.records.model import Header, HostFacts, Link, RunRecord, WorkerFacts
from pytest_mixgpu.records.plan import EvaluationPlan, Plan, Workload
from pytest_mixgpu.report.model import Pair, Section, Table
from pytest_mixgpu.report.sanitise import clean

if TYPE_CHECKING:
    from pytest_mixgpu.devices.model import Pool


def conditions_section(records: Sequence[RunRecord], plan: Plan | None) -> Section:
    """Show what each role was told to do: what all share once, what differs side by side."""
    by_role: dict[str, list[RunRecord]] = {}
    for record in records:
        by_role.setdefault(_role_name(record.header), []).append(record)
    columns = {name: _merge([_conditions(record) for record in of_role]) for name, of_role in sorted(by_role.items())}
    shared, differing = _part(columns)
    return Section(
        title="Conditions",
        lead="What the runs were told to do. A run that departs from any of it is not the same experiment.",
        pairs=(*_plan_pairs(records, plan), *(Pair(name=name, text=text) for name, text in shared.items())),
        tables=(
            (Table(head=("setting", *columns), rows=differing, caption="What differs between the roles"),)
            if differing
            else ()
        ),
    )


def environment_section(
    records: Sequence[RunRecord], *, host: HostFacts | None = None, pool: "Pool | None" = None
) -> Section:
    """Show hardware, software, placement and links, each distinct state once with the runs that had it.

    Args:
        records: the runs that were judged.
        host: of this session, shown where there is no record.
        pool: of this session, as well.
    """
    hosts = _grouped(records, lambda record: record.start.hosts if record.start else (record.header.host,))
    if not records and host is not None:
        hosts = [(host, [])]
    host_columns = {
        _host_label(facts, place, len(hosts)): _host_facts(facts) for place, (facts, _) in enumerate(hosts, start=1)
    }
    shared, differing = _part(host_columns)
    tables = []
    if differing:
        tables.append(Table(head=("fact", *host_columns), rows=differing, caption="What differs between hosts or runs"))
    tables += [_worker_table(records), _link_table(records)]
    if not records and pool is not None:
        tables.append(_device_table(pool))
    run_lead = "As each run found it. Values that all hosts and runs share are listed once."
    return Section(
        title="Environment and placement" if records else "Environment",
        lead=run_lead if records else "As this session found it.",
        pairs=tuple(Pair(name=name, text=text) for name, text in shared.items()),
        tables=tuple(table for table in tables if table.rows),
    )


def _role_name(header: Header) -> str:
    return clean(f"{header.name} {header.leg}".strip())


def _plan_pairs(records: Sequence[RunRecord], plan: Plan | None) -> tuple[Pair, ...]:
    if plan is None:
        return ()
    is_rehearsal = bool(records) and all(record.header.rehearsal for record in records)
    return (
        *_workload_pairs(workload_of(plan, records, rehearsal=is_rehearsal)),
        Pair(name="Baseline", text=clean(plan.baseline.description)),
        Pair(name="Placement", text=clean(plan.placement.description)),
        Pair(name="Evaluator", text=clean(_evaluator(evaluation_of(plan, rehearsal=is_rehearsal) or plan.evaluation))),
    )


def _workload_pairs(workload: Workload | None) -> tuple[Pair, ...]:
    if workload is None:
        return (Pair(name="Workload", text="described nowhere in the plan, which has no target for it"),)
    return (
        Pair(name="Workload", text=clean(workload.description)),
        Pair(name="Done", text=clean(workload.done)),
        Pair(name="Target", text=f"{units.format_percent(workload.target)} of the test set right"),
    )


def _evaluator(evaluation: EvaluationPlan) -> str:
    threads = "1 thread" if evaluation.num_threads == 1 else f"{evaluation.num_threads} threads"
    return f"{evaluation.number_format} on {evaluation.device}, {threads}"


def _conditions(record: RunRecord) -> dict[str, str]:
    header = record.header
    facts = {"pool": header.pool.spec, "seed": str(header.seed), "launcher": header.launcher}
    facts |= {"coordinator": header.coordinator or "none"}
    facts |= dict(_flat("", msgspec.structs.asdict(header.settings)))
    if record.start is not None:
        start = record.start
        facts["data_digest"] = start.data_digest
        facts |= {f"data {split}": f"{units.format_count(count)} samples" for split, count in start.data_counts.items()}
        facts["parameters"] = units.format_count(start.num_parameters)
        facts["update"] = units.format_bytes(start.update_bytes) if start.update_bytes else "none sent"
    digests = header.digests
    facts |= {"plan digest": digests.plan, "code digest": digests.code, "evaluator digest": digests.evaluator}
    return {clean(name): clean(text) for name, text in facts.items()}


def _flat(prefix: str, value: Mapping[str, object]) -> Iterable[tuple[str, str]]:
    for key, inner in value.items():
        name = f"{prefix}{key}"
        if isinstance(inner, Mapping):
            yield from _flat(f"{name}.", inner)
        elif isinstance(inner, (list, tuple)):
            yield name, " ".join(str(each) for each in inner)
        else:
            yield name, "yes" if inner is True else "no" if inner is False else str(inner)


def _merge(columns: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Join the runs of one role; what differs between them shows every value."""
    names = dict.fromkeys(name for column in columns for name in column)
    return {name: " | ".join(dict.fromkeys(column.get(name, units.NOT_STATED) for column in columns)) for name in names}


def _part(columns: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, str], tuple[tuple[str, ...], ...]]:
    """Part facts into those that all columns share and rows of those that differ."""
    shared: dict[str, str] = {}
    differing = []
    for name in dict.fromkeys(name for column in columns.values() for name in column):
        cells = tuple(column.get(name, units.NOT_STATED) for column in columns.values())
        if len(set(cells)) == 1:
            shared[name] = cells[0]
        else:
            differing.append((name, *cells))
    return shared, tuple(differing)


def _grouped(
    records: Sequence[RunRecord], hosts_of: Callable[[RunRecord], Sequence[HostFacts]]
) -> list[tuple[HostFacts, list[str]]]:
    """Collect distinct facts in order of appearance. Load changes by the minute and parts nothing."""
    groups: dict[Hashable, tuple[HostFacts, list[str]]] = {}
    for record in records:
        for facts in hosts_of(record):
            key = msgspec.json.encode(msgspec.structs.replace(facts, load_average_1min=None), order="deterministic")
            groups.setdefault(key, (facts, []))[1].append(record.id)
    return list(groups.values())


def _host_label(facts: HostFacts, place: int, total: int) -> str:
    return clean(facts.host) if total == 1 else clean(f"{place}: {facts.host}")


def _host_facts(facts: HostFacts) -> dict[str, str]:
    named = {
        "host": facts.host,
        "system": facts.os,
        "kernel": facts.kernel,
        "processor": facts.cpu_model or units.UNKNOWN,
        "cores": units.format_count(facts.num_cores),
        "memory": units.format_bytes(facts.memory_bytes),
        "GPU driver": facts.driver or "none found",
        "Python": facts.python,
    }
    named |= dict(sorted(facts.packages.items()))
    named |= {f"${name}": value for name, value in sorted(facts.environment.items())}
    return {clean(name): clean(text) for name, text in named.items()}


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
    return Table(
        head=("device", "kind", "its driver's name", "memory"), rows=rows, caption="The devices that the session held"
    )


def _worker_table(records: Sequence[RunRecord]) -> Table:
    head = (
        "run",
        "worker",
        "device",
        "torch",
        "kernels",
        "threads",
        "cores",
        "variables",
        "started in",
        "first step after",
    )
    rows = tuple(
        _worker_row(record, worker) for record in records if record.start is not None for worker in record.start.workers
    )
    return Table(
        head=head, rows=rows, caption="Workers: where each ran, with which kernels, and how soon it took its first step"
    )


def _worker_row(record: RunRecord, worker: WorkerFacts) -> tuple[str, ...]:
    kinds = {device.id: device.kind for device in record.devices}
    device = worker.device_id or "none"
    kernels = worker.accelerator or worker.cpu_capability or units.UNKNOWN
    cells = (
        _role_name(record.header),
        f"{worker.worker} at {worker.host}",
        f"{kinds[device]} ({device})" if device in kinds else device,
        worker.torch or "not loaded",
        kernels,
        str(worker.num_threads),
        " ".join(map(str, worker.cores)) or "free",
        " ".join(f"{name}={value}" for name, value in sorted(worker.environment.items())) or "none",
        units.format_duration(worker.spawned_s),
        units.format_duration(worker.first_step_s),
    )
    return tuple(clean(cell) for cell in cells)


def _link_table(records: Sequence[RunRecord]) -> Table:
    head = ("run", "participant", "from", "to", "round trip", "up", "down", "probes")
    rows = tuple(
        _link_row(record, link) for record in records if record.start is not None for link in record.start.links
    )
    return Table(head=head, rows=rows, caption="Links to the coordinator, measured at the start of each run")


def _link_row(record: RunRecord, link: Link) -> tuple[str, ...]:
    cells = (
        _role_name(record.header),
        str(link.participant),
        link.from_host,
        link.to_host,
        units.format_duration(link.round_trip_s),
        units.format_rate(link.up_bytes_per_s),
        units.format_rate(link.down_bytes_per_s),
        f"{link.num_probes} of {units.format_bytes(link.probe_bytes)}",
    )
    return tuple(clean(cell) for cell in cells)
