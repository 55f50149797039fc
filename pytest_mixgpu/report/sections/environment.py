"""From run records to the hosts that ran them: hardware, system, versions, with what differs between hosts marked.

A suite without runs has no record of its environment: there the session's own host is shown.
"""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.records.model import HostFacts, RunRecord
from pytest_mixgpu.report.model import Pair, Section, Table
from pytest_mixgpu.report.sanitise import clean

_MAX_COLUMNS = 12
"""So many different hosts stand side by side; further ones are counted."""
_MAX_NAMES = 4
"""So many names of alike hosts are written out."""


class HostGroup(msgspec.Struct, frozen=True, kw_only=True):
    """Hosts that are alike in everything but their names."""

    names: tuple[str, ...]
    facts: HostFacts


def environment_section(records: Sequence[RunRecord], *, host: HostFacts | None = None) -> Section:
    """Compare hosts and what was installed on them: what all share once, what differs side by side and marked.

    Args:
        records: the runs that were judged.
        host: of this session, shown where there is no record.
    """
    groups = _grouped(records)
    if not groups and host is not None:
        groups = [HostGroup(names=(host.host,), facts=host)]
    shown = groups[:_MAX_COLUMNS]
    columns = {_label(group, place): _host_facts(group) for place, group in enumerate(shown, start=1)}
    shared, differing = part(columns)
    more = f"{len(groups) - len(shown)} further kinds of host are not shown; the runs' records hold them."
    table = differing_table(columns, differing, first="fact", caption="What differs between hosts or runs")
    if len(groups) > len(shown):
        table = msgspec.structs.replace(table, note=more)
    return Section(
        title="Environment",
        lead="As each run found it. What all hosts and runs share stands once; ≠ marks what departs from the others."
        if records
        else "As this session found it.",
        pairs=(*(Pair(name=name, text=text) for name, text in shared.items()), *_watching(records)),
        tables=(table,) if differing else (),
    )


def _watching(records: Sequence[RunRecord]) -> tuple[Pair, ...]:
    """Say how often devices were looked at in all runs together, and what that cost."""
    known = [run.outcome.sampling for run in records if run.outcome is not None and run.outcome.sampling is not None]
    watched_s = sum(one.watched_s for one in known)
    if not known or watched_s <= 0:
        return ()
    rates = ", ".join(f"{rate:g}" for rate in sorted({one.rate_hz for one in known}))
    cost = sum(one.cpu_s for one in known) / watched_s
    num_looks = units.format_count(sum(one.num_samples for one in known))
    text = f"{rates} looks a second and at the ends of rounds, {num_looks} in all; {100 * cost:.3g} % of a core's time"
    failures = tuple(dict.fromkeys(one.failure for one in known if one.failure))
    return (Pair(name="devices watched", text=clean("; ".join((text, *failures)))),)


def part(columns: Mapping[str, Mapping[str, str]]) -> tuple[dict[str, str], tuple[tuple[str, ...], ...]]:
    """Part facts into those that all columns share, and rows of those that differ."""
    shared: dict[str, str] = {}
    differing = []
    for name in dict.fromkeys(name for column in columns.values() for name in column):
        cells = tuple(column.get(name, units.NOT_STATED) for column in columns.values())
        if len(set(cells)) == 1:
            shared[name] = cells[0]
        else:
            differing.append((name, *cells))
    return shared, tuple(differing)


def differing_table(
    columns: Mapping[str, object], rows: Sequence[tuple[str, ...]], *, first: str, caption: str
) -> Table:
    """Make a table of what differs, with each cell marked that departs from what most columns say."""
    return Table(head=(first, *columns), rows=tuple(rows), caption=caption, marked=departing(rows))


def departing(rows: Sequence[tuple[str, ...]]) -> tuple[tuple[int, int], ...]:
    """Find the cells that depart from what most of their row say; where nothing is most, all cells do."""
    found = []
    for number, (_, *cells) in enumerate(rows):
        (usual, count), *others = Counter(cells).most_common()
        is_tied = bool(others) and others[0][1] == count
        found += [(number, column) for column, cell in enumerate(cells, start=1) if is_tied or cell != usual]
    return tuple(found)


def _grouped(records: Sequence[RunRecord]) -> list[HostGroup]:
    """Put alike hosts together. Load changes by the minute, a boot has its own id: neither parts hosts."""
    groups: dict[bytes, HostGroup] = {}
    for record in records:
        for facts in record.start.hosts if record.start else (record.header.host,):
            bare = msgspec.structs.replace(facts, host="", boot_id=None, load_average_1min=None)
            key = msgspec.json.encode(bare, order="deterministic")
            known = groups.get(key) or HostGroup(names=(), facts=facts)
            groups[key] = HostGroup(
                names=tuple(dict.fromkeys((*known.names, facts.host))),
                facts=known.facts,
            )
    return list(groups.values())


def _label(group: HostGroup, place: int) -> str:
    names = ", ".join(group.names[:_MAX_NAMES])
    more = len(group.names) - _MAX_NAMES
    return clean(f"{place}: {names}" + (f" and {more} more" if more > 0 else ""))


def _host_facts(group: HostGroup) -> dict[str, str]:
    facts = group.facts
    names = " ".join(group.names[:_MAX_NAMES])
    more = len(group.names) - _MAX_NAMES
    named = {
        "host": f"{names} and {more} more" if more > 0 else names,
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
