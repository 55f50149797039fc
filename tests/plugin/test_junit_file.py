"""JUnit XML as CI reads it: valid by the schemas, with value and bound where a reader looks, also under xdist."""

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from junitparser import Failure, JUnitXml, Skipped
from lxml import etree

from tests.plugin.bench import Bench

RECORDS = "--mixgpu-records=reports"
SCHEMAS = Path(__file__).parents[1] / "report" / "schemas"
FAMILIES = {"xunit2": "strict", "xunit1": "lenient", "legacy": "lenient"}

HOSTILE = """
import pytest

TEXT = "</failure>]]>&amp;\\x1b[2J\\u202e\\x00\\ufffe\\n::error::owned [[ATTACHMENT|/etc/passwd]] " + "y" * 3000


@pytest.mark.passmark("m", metric="latency", at_most=2.0, unit="s</failure>&\\x1b[2J")
def test_latency(passmark):
    passmark.judge(2.5)


test_latency.__doc__ = TEXT
"""


def made(bench: Bench, family: str, *words: str) -> ET.Element:
    """Return the XML of a session, checked against the schema of its family."""
    result = bench.pytest("--junitxml=made.xml", "-o", f"junit_family={family}", *words)
    assert result.ret in {0, 1}, f"{result.stdout}\n{result.stderr}"
    schema = etree.XMLSchema(etree.parse(SCHEMAS / f"{FAMILIES[family]}.xsd"))
    document = etree.parse(bench.folder / "made.xml")
    schema.assertValid(document)
    return ET.parse(bench.folder / "made.xml").getroot()  # noqa: S314 - written a moment ago


def properties_of(suite: ET.Element) -> dict[str, str]:
    """Return the suite's own properties; none stands twice."""
    rows = [(row.get("name", ""), row.get("value", "")) for row in suite.findall("testsuite/properties/property")]
    assert len(rows) == len(dict(rows))
    return dict(rows)


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=["alone", "xdist"])
@pytest.mark.parametrize("family", FAMILIES)
def test_file_is_valid_and_the_suite_has_its_properties(e1: Bench, family: str, workers: tuple[str, ...]) -> None:
    """Every family that pytest writes is taken by the readers that it is for, and workers lose nothing."""
    found = properties_of(made(e1, family, RECORDS, *workers))
    parity = e1.verdicts()["e1-parity"]

    assert {
        "mixgpu.e1.suite": "e1",
        "mixgpu.e1.headline": "8 passed, 2 rehearsed",
        "mixgpu.e1.verdict": "PASS",
        "mixgpu.e1.qualifiers": "rehearsal",
        "mixgpu.e1.lock_digest": parity.lock_digest,
        "mixgpu.e1.ledger_head": e1.store().ledger.head,
        "mixgpu.e1.ledger_count": str(e1.store().ledger.read().count),
        "mixgpu.e1.left_out": "",
        "mixgpu.e1.page": "reports/e1/index.html",
        "mixgpu.e1.again": "pytest . --mixgpu-records=reports",
    }.items() <= found.items()
    assert "cpu:1,cpu-portable:1" in found["mixgpu.e1.pools"]
    assert ("mixgpu.e1.e1-parity.value" in found) == (family == "xunit2")


@pytest.mark.parametrize("family", FAMILIES)
def test_rehearsed_pass_carries_its_qualifier(e1: Bench, family: str) -> None:
    """A reader that shows a test's output shows that a stand-in ran; where a test has properties, they hold it too."""
    name = "test_time_per_phase_is_a_median_after_warm_up_and_the_fleet_is_fast_enough"
    case = next(one for one in made(e1, family, RECORDS).iter("testcase") if one.get("name") == name)
    rows = {row.get("name"): row.get("value") for row in case.findall("properties/property")}
    said = case.findtext("system-out") or ""

    assert "MET (rehearsal): 16 devices reach" in said
    assert "x, at least 1.4 x was asked (e1-speedup, " in said
    assert rows.get("mixgpu.qualifiers") == (None if family == "xunit2" else "rehearsal")


@pytest.mark.parametrize("family", FAMILIES)
def test_failure_says_value_bound_and_unit_first(bench: Bench, family: str) -> None:
    """What was found and what was asked stand on the first line of the message and of the text."""
    text = HOSTILE.replace("s</failure>&\\x1b[2J", "s")
    bench.write("test_slow.py", text)
    made(bench, family)
    [case] = [case for suite in JUnitXml.fromfile(str(bench.folder / "made.xml")) for case in suite]
    [failure] = case.result

    assert isinstance(failure, Failure)
    assert failure.message.startswith("Failed: FAIL (exploratory) m: 2.50 s, at most 2 s was asked")
    assert (failure.text or "").startswith("FAIL (exploratory) m: 2.50 s, at most 2 s was asked")


@pytest.mark.parametrize("family", FAMILIES)
def test_hostile_text_is_neutral_in_the_file(bench: Bench, family: str) -> None:
    """No element, control character, order to a service or attachment comes of a unit or a docstring."""
    bench.write("test_slow.py", HOSTILE)
    root = made(bench, family)
    texts = [text for one in root.iter() for text in (one.text or "", *one.attrib.values())]
    lines = [line for text in texts for line in text.split("\n")]

    assert 1 == len(list(root.iter("failure")))
    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.lstrip().startswith("::") or "[[ATTACHMENT|" in line] == []


@pytest.mark.parametrize(
    ("official", "kind"), [((), Skipped), (("--mixgpu-official",), Failure)], ids=["any", "official"]
)
def test_mark_that_was_left_out_is_a_case_of_its_own(
    e1: Bench, official: tuple[str, ...], kind: type[Skipped | Failure]
) -> None:
    """Who reads the file alone does not take a session for a success that left a frozen mark out."""
    root = made(e1, "xunit2", RECORDS, "-k", "not wait", *official)
    cases = [case for suite in JUnitXml.fromfile(str(e1.folder / "made.xml")) for case in suite]
    [left_out] = [case for case in cases if case.name == "e1-wait"]

    assert [kind] == [type(one) for one in left_out.result]
    assert "UNJUDGED e1-wait: frozen in passmarks.lock" in left_out.result[0].message
    assert "e1-wait" == properties_of(root)["mixgpu.e1.left_out"]


def test_refusal_of_a_pass_is_said_first(e1: Bench) -> None:
    """The message of a failure does not begin with the word PASS."""
    root = made(e1, "xunit2", RECORDS, "--mixgpu-official", "-k", "fast_enough")
    # Marks that `-k` left out are cases of their own.
    messages = [text for one in root.iter("failure") if (text := one.get("message", "")).startswith("Failed: ")]

    assert messages
    assert [one for one in messages if not one.startswith("Failed: REFUSED e1-")] == []
