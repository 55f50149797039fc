"""From two sides that may be compared to the rows of a comparison. Computes no metric, and judges nothing."""

from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.marks.apart import Apart, apart
from pytest_mixgpu.marks.comparable import Side
from pytest_mixgpu.marks.compare import environment_facts, host_facts_of
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Verdict, Word
from pytest_mixgpu.report.comparison.model import ComparedRow, Comparison, FactRow, SideRow
from pytest_mixgpu.report.model import Tone
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.verdict_file import VerdictFile
from pytest_mixgpu.report.verdict_rows import KEPT_ELSEWHERE, mark_row, seals_of, worst_tone

_USABLE: frozenset[Word] = frozenset({"PASS", "FAIL"})
_NOT_APART = "cannot be told apart"
_LIMITS = (
    "What A and B differ in may be the cause of a difference, or not: nothing here was varied alone.",
    "Runs of A and B were made at different times, and what else changed meanwhile is not recorded.",
    "A file verdicts.json carries no seal of its own: the values that its runs give were computed again, and no more.",
    "Notes, claims, costs and bounds are checked by taking each side's verdicts again from its records.",
)


class Sided(msgspec.Struct, frozen=True, kw_only=True):
    """A side as the report needs it: what was read, where, and what is to be known of it."""

    side: Side
    file: VerdictFile
    place: str
    notes: tuple[str, ...] = ()


def build_comparison(a: Sided, b: Sided) -> Comparison:
    """Lay two sides out beside each other. That they may be compared was judged before."""
    ids = dict.fromkeys(verdict.id for one in (a, b) for verdict in one.side.verdicts)
    marks = tuple(_compared(id_, a.side.verdict(id_), b.side.verdict(id_)) for id_ in ids)
    facts = _facts(a, b)
    return Comparison(
        suite=clean(a.side.suite),
        headline=_headline([row for row in marks if not row.is_claim]),
        a=_side_row("A", a),
        b=_side_row("B", b),
        marks=marks,
        facts=tuple(row for row in facts if row.a != row.b),
        num_alike=sum(row.a == row.b for row in facts),
        limits=_LIMITS,
    )


def _headline(rows: Sequence[ComparedRow]) -> str:
    """Count what can be said of the marks: they differ, they cannot be told apart, or nothing can be told."""
    apart_ = sum(row.tone == "caution" for row in rows)
    alike = sum(row.certainty.startswith(_NOT_APART) for row in rows)
    counts = {"told apart": apart_, "that cannot be told apart": alike, "of which too little is known": len(rows)}
    counts["of which too little is known"] -= apart_ + alike
    said = ", ".join(f"{count} {words}" for words, count in counts.items() if count)
    return f"{len(rows)} {'mark' if len(rows) == 1 else 'marks'}: {said}" if rows else "no mark has a number"


def _side_row(name: str, one: Sided) -> SideRow:
    verdicts = one.side.verdicts
    pools = dict.fromkeys(verdict.pool for verdict in verdicts if verdict.pool)
    return SideRow(
        name="A" if name == "A" else "B",
        place=clean(one.place),
        headline=clean(one.file.headline),
        tone=worst_tone(verdicts),
        made_at=clean(units.format_moment(one.file.made_at)),
        pools=clean("; ".join(pools)) or units.NOT_STATED,
        num_runs=units.format_count(len(one.side.runs)),
        seals=tuple(seal for seal in seals_of(verdicts) if seal.name in KEPT_ELSEWHERE),
        notes=tuple(clean(note) for note in one.notes),
    )


def _compared(id_: str, a: Verdict | None, b: Verdict | None) -> ComparedRow:
    known = a or b
    is_claim = known is not None and known.is_claim
    row = ComparedRow(
        id=clean(id_),
        is_claim=is_claim,
        a=None if a is None else mark_row(a),
        b=None if b is None else mark_row(b),
    )
    if is_claim or a is None or b is None:
        return row
    unusable = [f"{name} is {verdict.word}" for name, verdict in (("A", a), ("B", b)) if verdict.word not in _USABLE]
    if unusable:
        return msgspec.structs.replace(row, certainty=f"not compared: {' and '.join(unusable)}", tone="bad")
    metric = METRICS.get(a.metric)
    found = apart(a.run_values, b.run_values, is_ratio=metric is not None and metric.is_ratio)
    return msgspec.structs.replace(
        row, difference=_difference(found, a.unit), certainty=_certainty(found, a.unit), tone=_tone(found)
    )


def _tone(found: Apart) -> Tone:
    return "caution" if found.answer == "apart" else "plain"


def _difference(found: Apart, unit: str) -> str:
    if found.difference is None:
        return ""
    if found.is_factor:
        return f"B is {units.format_number(found.difference)} times A"
    if found.difference == 0:
        return "B is equal to A"
    direction = "higher" if found.difference > 0 else "lower"
    return f"B is {direction} by {_quantity(abs(found.difference), unit)}"


def _certainty(found: Apart, unit: str) -> str:
    if found.interval is None:
        return found.why
    low, high = (units.format_number(end) if found.is_factor else _quantity(end, unit) for end in found.interval)
    words = "told apart" if found.answer == "apart" else _NOT_APART
    could = "" if found.resolvable is None else f"; so many runs could show {_resolvable(found, unit)}"
    return f"{words}: {low} to {high} ({found.why}){could}"


def _resolvable(found: Apart, unit: str) -> str:
    if found.is_factor:
        return f"a factor of {units.format_number(found.resolvable or 0.0)}"
    return _quantity(found.resolvable or 0.0, unit)


def _quantity(value: float, unit: str) -> str:
    """Write a difference in the unit of its mark, as it is: a difference of shares is in points, not in percent."""
    return f"{units.format_number(value)} {clean(unit)}".strip()


def _facts(a: Sided, b: Sided) -> list[FactRow]:
    here, there = _facts_of(a), _facts_of(b)
    return [
        FactRow(name=clean(name), a=_joined(here, name), b=_joined(there, name)) for name in sorted({*here, *there})
    ]


def _facts_of(one: Sided) -> Mapping[str, Sequence[str]]:
    """Collect devices, hosts and versions: of the runs, and of a session without runs from what it wrote itself."""
    runs, host = one.side.runs, one.file.host
    facts: dict[str, set[str]] = environment_facts(runs)
    for run in runs:
        facts.setdefault(f"pool of {run.header.name}", set()).add(run.header.pool.spec)
        facts.setdefault("devices", set()).update(f"{device.kind}: {device.name}" for device in run.devices)
        facts.setdefault("hosts", set()).update(device.host for device in run.devices)
        facts.setdefault("coordinator", set()).add(run.header.coordinator)
    if not runs:
        facts["devices"] = {f"{device.kind}: {device.name}" for device in one.file.devices}
        if host is not None:
            facts["hosts"] = {host.host}
            facts |= {name: {value} for name, value in host_facts_of(host).items()}
    return {name: sorted(value for value in values if value) for name, values in facts.items()}


def _joined(facts: Mapping[str, Sequence[str]], name: str) -> str:
    return clean(", ".join(facts.get(name, ()))) or units.NOT_STATED
