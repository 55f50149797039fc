"""From run records and plan to the conditions: what each role was told to do."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby
from typing import Final

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.marks.evidence import evaluation_of, workload_of
from pytest_mixgpu.records.model import Header, RunRecord
from pytest_mixgpu.records.plan import EvaluationPlan, Plan, Workload
from pytest_mixgpu.report.fold import folded
from pytest_mixgpu.report.model import Pair, Section, Table
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.sections.environment import departing, part
from pytest_mixgpu.report.stage import is_rehearsal

_MAX_VALUES: Final = 8
"""So many different values of one setting in the runs of one role are written out."""
_SETTINGS_IN_WORDS: Final[Mapping[str, str]] = {
    "shares": "steps of each participant",
    "rounds": "measured rounds",
    "to_finish": "trains until it is done",
    "exchange": "how updates meet",
    "evaluate_every": "rounds between looks at the validation data",
    "update": "size of one update",
}
"""What often differs between roles, for who has not read how a plan is written."""
_MAX_COLUMNS: Final = 12
"""So many roles stand side by side."""


def conditions_section(records: Sequence[RunRecord], plan: Plan | None) -> Section:
    """Show what each role was told to do: what all share once, what differs side by side."""
    by_role: dict[str, list[RunRecord]] = {}
    for record in records:
        by_role.setdefault(_role_name(record.header), []).append(record)
    names = sorted(by_role)
    columns = {name: _merge([_conditions(record) for record in by_role[name]]) for name in names[:_MAX_COLUMNS]}
    shared, differing = part(columns)
    table = Table(
        head=("setting", *columns),
        rows=tuple((_in_words(name), *texts) for name, *texts in differing),
        caption="What differs between the roles",
        marked=departing(differing),
        note="" if len(names) <= _MAX_COLUMNS else f"{len(names) - _MAX_COLUMNS} further roles are not shown.",
    )
    return Section(
        title="What the runs were told to do",
        lead="A run that departs from any of it is not the same experiment.",
        pairs=(*_plan_pairs(records, plan), *(Pair(name=name, text=text) for name, text in shared.items())),
        tables=(folded(table),) if differing else (),
    )


def _in_words(setting: str) -> str:
    """Say what a setting does, with its name in the plan beside."""
    said = _SETTINGS_IN_WORDS.get(setting)
    return setting if said is None else f"{said} ({setting})"


def _role_name(header: Header) -> str:
    return clean(f"{header.name} {header.leg}".strip())


def _plan_pairs(records: Sequence[RunRecord], plan: Plan | None) -> tuple[Pair, ...]:
    if plan is None:
        return ()
    rehearsal = is_rehearsal(records)
    return (
        *_workload_pairs(workload_of(plan, records, rehearsal=rehearsal)),
        Pair(name="Baseline", text=clean(plan.baseline.description)),
        Pair(name="Placement", text=clean(plan.placement.description)),
        Pair(name="Evaluator", text=clean(_evaluator(evaluation_of(plan, rehearsal=rehearsal) or plan.evaluation))),
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
            yield name, _listed(inner)
        else:
            yield name, "yes" if inner is True else "no" if inner is False else str(inner)


def _merge(columns: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """Join the runs of one role; what differs between them shows every value, of very many the first ones."""
    names = dict.fromkeys(name for column in columns for name in column)
    return {name: _values([column.get(name, units.NOT_STATED) for column in columns]) for name in names}


def _values(texts: Sequence[str]) -> str:
    distinct = list(dict.fromkeys(texts))
    more = len(distinct) - _MAX_VALUES
    return " | ".join(distinct[:_MAX_VALUES]) + (f" | and {more} more" if more > 0 else "")


def _listed(values: Sequence[object]) -> str:
    """Write a list; equal neighbours are counted, so that a thousand equal shares are one word."""
    runs = [(str(value), sum(1 for _ in same)) for value, same in groupby(values)]
    if len(runs) > _MAX_VALUES or len(runs) == len(values):
        return " ".join(str(value) for value in values)
    return " ".join(text if count == 1 else f"{count} x {text}" for text, count in runs)
