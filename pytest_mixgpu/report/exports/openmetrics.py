r"""`openmetrics`: the verdicts as gauges, in a file for the textfile collector of Prometheus' node exporter.

The file is valid OpenMetrics and valid Prometheus text at once: gauges only, no timestamps, which that collector
refuses. A value that is not there, or not finite, has no sample: an absent number is not 0. Metrics of several suites
go into files of their own, told apart by the label `suite`.

`mixgpu_passmark_met` is 1 for a plain PASS only. A PASS with a qualifier is `mixgpu_passmark_verdict{word="PASS"} 1`
beside `mixgpu_passmark_met 0`, and its qualifiers stand in the label of every sample of its word. Word, qualifiers and
notes are labels of each number, too: the value of a VOID mark must not be used.
"""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.exports.jsontext import finite
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.trace_time import moment_ns
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.verdict_rows import WORDS, notes_of, status_of
from pytest_mixgpu.report.whole_files import replace_stream

UNITS: Final[Mapping[str, tuple[str, float]]] = {
    "s": ("seconds", 1.0),
    "ms": ("seconds", 1e-3),
    "bytes": ("bytes", 1.0),
    "bytes/s": ("bytes_per_second", 1.0),
    "x": ("ratio", 1.0),
    "share": ("ratio", 1.0),
    "%": ("ratio", 1e-2),
    "points": ("percentage_points", 1.0),
    "samples/s": ("samples_per_second", 1.0),
}
"""The unit in a metric's name, and by what a number is multiplied to be in it. A text that is none of these, as a
currency is, stands in the label `unit` alone: it may be from a stranger, and a name cannot be escaped."""


class Family(NamedTuple):
    """One metric with its samples."""

    name: str
    about: str
    unit: str
    samples: list[tuple[dict[str, str], float]]


def write_openmetrics(material: Material, path: Path) -> None:
    """Write the file; a collector that reads it meanwhile sees the old or the new one."""
    replace_stream(path, (f"{line}\n" for line in openmetrics_lines(material)))


def openmetrics_lines(material: Material) -> Iterator[str]:
    """Write the file, line by line."""
    for family in families(material):
        if not family.samples:
            continue
        yield f"# HELP {family.name} {family.about}"
        yield f"# TYPE {family.name} gauge"
        if family.unit:
            yield f"# UNIT {family.name} {family.unit}"
        yield from (f"{family.name}{_labels(labels)} {value!r}" for labels, value in family.samples)
    yield "# EOF"


def families(material: Material) -> Iterator[Family]:
    """Give every metric, in the order of the file."""
    suite = {"suite": material.occasion.suite}
    verdicts = _once(material.verdicts)
    yield _gauge(
        "passmark_met",
        "1 if the mark or claim has a plain PASS: no other word and no qualifier.",
        [(suite | {"id": verdict.id}, float(status_of(verdict) == "passed")) for verdict in verdicts],
    )
    yield _gauge(
        "passmark_verdict",
        "1 for the word of the verdict, 0 for the other words.",
        [
            (suite | _about(verdict) | {"word": word}, float(verdict.word == word))
            for verdict in verdicts
            for word in WORDS
        ],
    )
    marks = [verdict for verdict in verdicts if not verdict.is_claim]
    yield from _numbers("passmark_value", "What was measured: the median of the runs.", suite, marks, "value")
    yield from _numbers("passmark_bound", "The bound that was applied.", suite, marks, "bound")
    yield from _numbers("passmark_lowest", "The lowest value of a run.", suite, marks, "low")
    yield from _numbers("passmark_highest", "The highest value of a run.", suite, marks, "high")
    yield from _numbers(
        "passmark_resolvable", "The smallest difference that the runs could show.", suite, marks, "resolvable"
    )
    yield _gauge(
        "passmark_runs", "Runs behind the value.", [(suite | {"id": verdict.id}, float(verdict.n)) for verdict in marks]
    )
    statuses = [record.status for record in material.records]
    yield _gauge(
        "runs",
        "Registered runs of the suite by how they ended.",
        [
            (suite | {"status": status}, float(statuses.count(status)))
            for status in ("completed", "failed", "stopped", "aborted")
        ],
    )
    yield _gauge(
        "ledger_entries",
        "Entries of the ledger when it was judged.",
        [(suite, float(max((verdict.ledger_count for verdict in verdicts), default=0)))],
    )
    made_ns = moment_ns(material.occasion.made_at)
    made = [] if made_ns is None else [(suite, made_ns / 1e9)]
    yield _gauge("judged_timestamp_seconds", "When the verdicts were given.", made, unit="seconds")


def _gauge(name: str, about: str, samples: list[tuple[dict[str, str], float]], *, unit: str = "") -> Family:
    return Family(name=f"mixgpu_{name}", about=about, unit=unit, samples=samples)


def _numbers(name: str, about: str, suite: dict[str, str], verdicts: Sequence[Verdict], field: str) -> Iterator[Family]:
    """Give one metric for each unit, named after it."""
    by_unit: dict[str, list[tuple[dict[str, str], float]]] = {}
    for verdict in verdicts:
        suffix, factor = UNITS.get(verdict.unit, ("", 1.0))
        number = getattr(verdict, field)
        value = None if number is None else finite(number * factor)
        # Whoever plots a number alone must not take one that must not be used, or a stand-in's, for the real one.
        labels = suite | {"id": verdict.id, "metric": verdict.metric, "unit": verdict.unit, **_said(verdict)}
        if field == "bound":
            labels["comparator"] = verdict.comparator or ""
        samples = by_unit.setdefault(suffix, [])
        if value is not None:
            samples.append((labels, value))
    for suffix, samples in sorted(by_unit.items()):
        yield _gauge(f"{name}_{suffix}" if suffix else name, about, samples, unit=suffix)


def _once(verdicts: Sequence[Verdict]) -> list[Verdict]:
    """Give each mark once: two samples with the same labels spoil the whole file. The graver word stands."""
    kept: dict[str, Verdict] = {}
    for verdict in verdicts:
        shown = clean(verdict.id)
        held = kept.get(shown)
        if held is None or WORDS.index(verdict.word) < WORDS.index(held.word):
            kept[shown] = verdict
    return list(kept.values())


def _about(verdict: Verdict) -> dict[str, str]:
    return {
        "id": verdict.id,
        "qualifiers": ",".join(verdict.qualifiers),
        "notes": ",".join(notes_of(verdict)),
        "pool": verdict.pool,
    }


def _said(verdict: Verdict) -> dict[str, str]:
    return {"word": verdict.word, "qualifiers": ",".join(verdict.qualifiers), "notes": ",".join(notes_of(verdict))}


def _labels(labels: Mapping[str, str]) -> str:
    return "{" + ",".join(f'{name}="{_escaped(text)}"' for name, text in labels.items()) + "}"


def _escaped(text: str) -> str:
    """Write a label's value: one line without controls, in which quotes and backslashes are escaped."""
    return clean(text, limit=500).replace("\\", "\\\\").replace('"', '\\"')
