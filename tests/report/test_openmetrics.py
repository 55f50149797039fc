"""`openmetrics`: both of Prometheus' parsers read the file, and no number is invented."""

import math
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prometheus_client.openmetrics.parser import text_string_to_metric_families as parse_openmetrics
from prometheus_client.parser import text_string_to_metric_families as parse_prometheus

from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.openmetrics import UNITS, openmetrics_lines, write_openmetrics
from pytest_mixgpu.report.sanitise import clean
from tests.report.made_material import HOSTILE_TEXTS, hostile_material, material
from tests.report.made_verdicts import all_verdicts, claim, speedup

Samples = dict[str, list[Any]]


def samples_of(made: Material) -> Samples:
    """Return the samples by metric, as both parsers read them; they must agree."""
    text = "\n".join(openmetrics_lines(made)) + "\n"
    read = [
        [one for family in parse(text) for one in family.samples] for parse in (parse_openmetrics, parse_prometheus)
    ]
    told = [[(one.name, one.labels, one.value) for one in each] for each in read]
    assert told[0] == told[1]
    assert [one for one in read[0] if one.timestamp is not None] == []
    found: Samples = {}
    for one in read[0]:
        found.setdefault(one.name, []).append(one)
    return found


def test_every_verdict_has_its_word_and_qualifiers() -> None:
    """One word is 1, the others 0."""
    found = samples_of(material())["mixgpu_passmark_verdict"]

    for verdict in all_verdicts():
        mine = [one for one in found if one.labels["id"] == verdict.id]
        assert {one.labels["word"]: one.value for one in mine} == {
            word: float(word == verdict.word) for word in ("PASS", "FAIL", "VOID", "TAMPERED", "UNJUDGED")
        }
        assert {",".join(verdict.qualifiers)} == {one.labels["qualifiers"] for one in mine}
        assert {"suite"} <= set(mine[0].labels)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (claim("a"), 1.0),
        (speedup(qualifiers=()), 1.0),
        (speedup(), 0.0),
        (speedup(qualifiers=("exploratory",)), 0.0),
        (speedup(qualifiers=(), word="FAIL"), 0.0),
        (claim("a", word="UNJUDGED"), 0.0),
    ],
)
def test_only_a_plain_pass_is_met(verdict: Verdict, expected: float) -> None:
    """An alarm on this metric does not sleep through a rehearsal."""
    assert [expected] == [one.value for one in samples_of(material([verdict], []))["mixgpu_passmark_met"]]


@pytest.mark.parametrize(
    ("unit", "suffix", "value"),
    [
        ("s", "_seconds", 1.5),
        ("ms", "_seconds", 0.0015),
        ("x", "_ratio", 1.5),
        ("%", "_ratio", 0.015),
        ("EUR", "", 1.5),
    ],
)
def test_the_unit_stands_in_the_name(unit: str, suffix: str, value: float) -> None:
    """Numbers are in base units, and the unit of the mark stands beside."""
    found = samples_of(material([speedup(value=1.5, bound=3.0, unit=unit)], []))
    sample = found[f"mixgpu_passmark_value{suffix}"][0]

    assert (pytest.approx(value), unit) == (sample.value, sample.labels["unit"])
    assert pytest.approx(2 * value) == found[f"mixgpu_passmark_bound{suffix}"][0].value
    assert "at_least" == found[f"mixgpu_passmark_bound{suffix}"][0].labels["comparator"]


def test_every_unit_of_a_metric_has_a_name() -> None:
    """Only a currency has none."""
    assert set() == {unit for metric in METRICS.values() for unit in metric.units} - set(UNITS)


def test_a_number_never_stands_without_its_word() -> None:
    """Whoever plots values alone can tell what must not be used, and a stand-in's from the real one."""
    found = samples_of(material([speedup(word="VOID", qualifiers=("rehearsal",), notes=("disturbed",))], []))
    numbers = ("value", "bound", "lowest", "highest")

    for labels in (found[f"mixgpu_passmark_{name}_ratio"][0].labels for name in numbers):
        assert ("VOID", "rehearsal", "disturbed") == (labels["word"], labels["qualifiers"], labels["notes"])


@pytest.mark.parametrize("value", [None, math.nan, math.inf, -math.inf])
def test_what_was_not_measured_is_absent(value: float | None) -> None:
    """0 would be a number."""
    found = samples_of(material([speedup(value=value, word="UNJUDGED", n=0)], []))

    assert not [name for name in found if name.startswith("mixgpu_passmark_value")]
    assert [1.4] == [one.value for one in found["mixgpu_passmark_bound_ratio"]]


def test_a_claim_has_no_number() -> None:
    """There is none."""
    assert not [name for name in samples_of(material([claim("a")], [])) if "value" in name or "bound" in name]


def test_a_mark_that_was_judged_twice_stands_once() -> None:
    """Two samples with the same labels make a collector drop the whole file; the graver word stands."""
    found = samples_of(material([claim("a"), claim("a", word="FAIL")], []))["mixgpu_passmark_verdict"]

    assert 5 == len(found)
    assert ["FAIL"] == [one.labels["word"] for one in found if one.value]


def test_runs_are_counted_by_how_they_ended() -> None:
    """Failed ones too."""
    found = {one.labels["status"]: one.value for one in samples_of(material())["mixgpu_runs"]}

    assert {"completed": 8.0, "failed": 0.0, "stopped": 0.0, "aborted": 0.0} == found


def test_a_collector_takes_the_file(tmp_path: Path) -> None:
    """It reads `*.prom`, refuses timestamps and types that Prometheus' text format lacks."""
    path = tmp_path / "mixgpu.prom"
    write_openmetrics(material(), path)
    lines = path.read_text("utf-8").splitlines()
    types = {line.split()[-1] for line in lines if line.startswith("# TYPE")}

    assert {"gauge"} == types
    assert "# EOF" == lines[-1]
    assert [line for line in lines if not line.startswith("#") and not re.search(r"\} \S+$", line)] == []


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_stays_in_its_label(text: str) -> None:
    """It makes no sample, no comment and no name; every label says what it was."""
    made = hostile_material(text)
    found = samples_of(made)

    assert set(found) <= set(samples_of(material())) | {"mixgpu_passmark_value", "mixgpu_passmark_bound"} | {
        f"mixgpu_passmark_{name}" for name in ("lowest", "highest", "resolvable")
    }
    assert {clean(text, limit=500)} == {one.labels["suite"] for one in found["mixgpu_passmark_met"]}
    assert 5 == len(found["mixgpu_passmark_met"])


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_every_text_comes_back_from_its_label(text: str) -> None:
    """Quotes, backslashes and line ends are escaped so that a parser undoes it."""
    found = samples_of(material([speedup(id=text, unit=text, pool=text)], []))

    assert clean(text) == found["mixgpu_passmark_met"][0].labels["id"]


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_every_number_comes_back_exactly(value: float) -> None:
    """Huge and tiny ones too; what is not finite is absent."""
    found = samples_of(material([speedup(value=value, unit="EUR")], [])).get("mixgpu_passmark_value", [])

    assert [one.value for one in found] == ([value] if math.isfinite(value) else [])
