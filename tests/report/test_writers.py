"""Each output holds the verdicts, survives hostile text, and never exists by half."""

import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.junit import properties, suite_properties
from pytest_mixgpu.report.model import Report
from pytest_mixgpu.report.verdict_file import read_verdicts, write_verdicts
from pytest_mixgpu.report.whole_files import replace_file
from tests.report.made_verdicts import HOSTILE, OCCASION, all_verdicts, claim, report_of, speedup
from tests.sample_doctors import as_failed, with_header, with_settings, with_start, with_workers
from tests.sample_parts import make_host, make_pool
from tests.samples import as_record, make_run


def hostile_verdict() -> Verdict:
    return speedup(
        id=f"e1-{HOSTILE}",
        word="FAIL",
        reason=HOSTILE,
        bound_origin=HOSTILE,
        unit=HOSTILE,
        metric=HOSTILE,
        details=(HOSTILE,),
        remedy=HOSTILE,
        follows_from=HOSTILE,
        pool=HOSTILE,
        run_ids=(HOSTILE,),
        amendments=(HOSTILE,),
        lock_digest=HOSTILE,
        ledger_head=HOSTILE,
        interval=(1.0, 2.0),
        interval_method=HOSTILE,
    )


def hostile_record() -> RunRecord:
    # A record is UTF-8, so that a lone surrogate cannot be in it; all else can.
    text = HOSTILE.replace("\ud800", "")
    run = as_failed(make_run(role="fleet"), after_rounds=3, message=text)
    run = with_workers(run, environment={text: text}, torch=text, cpu_capability=text)
    run = with_settings(run, workload=text, recipe={text: {text: [text]}})
    assert run.start is not None
    hosts = tuple(replace(host, host=text, os=text, packages={text: text}) for host in run.start.hosts)
    run = with_start(run, hosts=hosts, data_digest=text)
    return as_record(with_header(run, name=text, launcher=text))


def hostile_report() -> Report:
    return report_of([hostile_verdict()], [hostile_record()])


def test_junit_carries_the_verdict_in_full_precision() -> None:
    """Numbers are written so that they can be read back exactly."""
    found = dict(properties([speedup(value=0.1 + 0.2, run_ids=("run-a", "run-b"), interval=(0.1, 0.5))]))

    assert float(found["mixgpu.e1-speedup.value"]) == 0.1 + 0.2
    assert found["mixgpu.e1-speedup.verdict"] == "PASS"
    assert found["mixgpu.e1-speedup.qualifiers"] == "rehearsal"
    assert found["mixgpu.e1-speedup.notes"] == "preliminary unanchored"
    assert found["mixgpu.e1-speedup.run_ids"] == "run-a run-b"
    assert found["mixgpu.e1-speedup.interval"] == "0.1 0.5"
    assert found["mixgpu.e1-speedup.ledger_head"] == "cd" * 32


def test_a_claim_has_no_number_in_junit() -> None:
    """It says its word and reason, and carries no empty value."""
    found = dict(properties([claim("wait")]))

    assert found["mixgpu.e1-wait.verdict"] == "PASS"
    assert "mixgpu.e1-wait.value" not in found


def test_no_property_of_a_test_hides_another() -> None:
    """Readers keep one value a name: each verdict has names of its own, and the test has one word."""
    rows = properties([claim("phases"), speedup(word="FAIL", value=0.1 + 0.2)])
    found = dict(rows)

    assert len(found) == len(rows)
    assert found["mixgpu.e1-phases.verdict"] == "PASS"
    assert found["mixgpu.e1-speedup.verdict"] == "FAIL"
    assert float(found["mixgpu.e1-speedup.value"]) == 0.1 + 0.2
    assert "mixgpu.e1-phases.value" not in found
    assert (found["mixgpu.verdict"], found["mixgpu.qualifiers"]) == ("FAIL", "rehearsal")
    assert properties([]) == []


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("PASS", "UNJUDGED"), "UNJUDGED"),
        (("UNJUDGED", "FAIL"), "FAIL"),
        (("VOID", "FAIL"), "VOID"),
        (("VOID", "TAMPERED"), "TAMPERED"),
        (("PASS", "PASS"), "PASS"),
    ],
)
def test_the_gravest_word_is_the_tests(words: tuple[str, str], expected: str) -> None:
    """Also where one mark was judged twice: no judgement is lost behind a milder one."""
    twice = dict(properties([claim("x", word=word) for word in words]))
    apart = dict(properties([claim(word.lower(), word=word) for word in words]))

    assert expected == apart["mixgpu.verdict"] == twice["mixgpu.verdict"] == twice["mixgpu.e1-x.verdict"]


def test_hostile_text_is_valid_xml() -> None:
    """Whatever a property holds, an XML parser takes it, and xdist can carry it."""
    suite = ET.Element("properties")
    rows = properties([hostile_verdict()])
    for name, value in rows:
        ET.SubElement(suite, "property", name=name, value=value)
    parsed = ET.fromstring(ET.tostring(suite))  # noqa: S314  (our own text)

    assert {type(part) for pair in rows for part in pair} == {str}
    assert [child.get("value") for child in parsed] == [value for _, value in rows]


def test_verdicts_come_back_as_they_were_written(tmp_path: Path) -> None:
    """The file is for programs: nothing is rounded."""
    path = tmp_path / "e1" / "verdicts.json"
    write_verdicts(path, all_verdicts(), occasion=OCCASION)
    found = read_verdicts(path)

    assert tuple(all_verdicts()) == found.verdicts
    assert (found.suite, found.headline) == ("e1", "8 passed, 2 rehearsed")


def test_host_and_devices_are_those_of_a_session_that_measured(tmp_path: Path) -> None:
    """Where records are judged, this machine is not the one that measured, and is not named."""
    host, pool = make_host("laptop"), make_pool("cpu:2")
    judged_again = replace(OCCASION, mode="records")
    write_verdicts(tmp_path / "a.json", [speedup()], occasion=OCCASION, host=host, pool=pool)
    write_verdicts(tmp_path / "b.json", [speedup()], occasion=judged_again, host=host, pool=pool)
    measured, judged = read_verdicts(tmp_path / "a.json"), read_verdicts(tmp_path / "b.json")

    assert (measured.host, [device.kind for device in measured.devices]) == (host, ["cpu", "cpu"])
    assert (judged.host, judged.devices) == (None, ())


def test_a_value_that_is_no_number_is_written_as_none(tmp_path: Path) -> None:
    """JSON has no NaN, and a file that is not JSON helps nobody."""
    write_verdicts(tmp_path / "v.json", [speedup(value=float("nan"), word="UNJUDGED")], occasion=OCCASION)

    assert read_verdicts(tmp_path / "v.json").verdicts[0].value is None


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        pytest.param(b'{"schema": 4}', "schema 4 was found, 3 is", id="newer"),
        pytest.param(b"{", "no verdicts could be read", id="cut"),
        pytest.param(b'{"schema": 3, "suite": "e1", "extra": 1}', "extra", id="unknown-field"),
        pytest.param(None, "No such file", id="missing"),
    ],
)
def test_verdicts_that_cannot_be_read_say_why(tmp_path: Path, content: bytes | None, expected: str) -> None:
    """Reading is strict, and the error names the file."""
    path = tmp_path / "verdicts.json"
    if content is not None:
        path.write_bytes(content)

    with pytest.raises(RecordError, match=re.escape(expected)) as caught:
        read_verdicts(path)
    assert str(path) in str(caught.value)


def test_hostile_text_goes_through_json(tmp_path: Path) -> None:
    """Lone surrogates, which no UTF-8 has, are written visibly."""
    write_verdicts(tmp_path / "v.json", [hostile_verdict()], occasion=OCCASION)

    assert read_verdicts(tmp_path / "v.json").verdicts[0].reason == HOSTILE.replace("\ud800", "\\ud800")


def test_a_file_is_replaced_in_one_step(tmp_path: Path) -> None:
    """A reader finds the old or the new content; what went wrong leaves nothing behind."""
    path = tmp_path / "v.json"
    replace_file(path, b"old")
    with pytest.raises(TypeError):
        replace_file(path, "not bytes")  # type: ignore[arg-type]

    assert (path.read_bytes(), [entry.name for entry in tmp_path.iterdir()]) == (b"old", ["v.json"])


def test_properties_give_no_order_to_a_log_that_the_file_is_printed_into() -> None:
    """Azure and TeamCity take orders from anywhere in a line, Jenkins and GitLab from `[[ATTACHMENT|`."""
    text = "##vso[task.complete] ##teamcity[x] [[ATTACHMENT|/etc/passwd]]"
    verdict = speedup(word="FAIL", reason=text, pool=text, witness=(text,), follows_from=text)
    suite = suite_properties(report_of([verdict]), [verdict], page=text, again=text, each=True)

    for _, value in (*properties([verdict]), *suite):
        assert "##" not in value
        assert "[[" not in value
