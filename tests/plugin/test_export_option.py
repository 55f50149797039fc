"""`--passmark-export`: other formats beside the page, and never in the place of a verdict."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from google.protobuf import json_format
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Message
from mlperf_logging.compliance_checker.mlp_parser import parse_file
from prometheus_client.openmetrics import parser

from pytest_mixgpu.plugin.options import EXPORTS
from pytest_mixgpu.report.exports.registry import KINDS
from tests.plugin.bench import USAGE_ERROR, Bench, prose

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

RECORDS = "--mixgpu-records=reports"
ALL = tuple(f"--passmark-export={kind}" for kind in EXPORTS)


def test_the_flag_names_every_kind() -> None:
    """The registry is not imported when pytest starts, so that the flag has a list of its own."""
    assert EXPORTS == tuple(kind.name for kind in KINDS)


def test_an_unknown_kind_is_refused(e1: Bench) -> None:
    """The error lists those that there are."""
    result = e1.pytest(RECORDS, "--passmark-export=pdf")

    assert USAGE_ERROR == result.ret
    assert [kind for kind in EXPORTS if kind not in result.stderr.str()] == []


@pytest.mark.parametrize("flag", ["--passmark-plan", "--passmark-freeze"])
def test_nothing_to_export_where_no_test_runs(e1: Bench, flag: str) -> None:
    """A flag without effect would be taken for one that had one."""
    result = e1.pytest(flag, "--passmark-export=mllog")

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--passmark-export=mllog*"])


def test_summary_and_trace_are_always_there(e1: Bench) -> None:
    """Nothing else is, unless it was asked for."""
    result = e1.pytest(RECORDS)
    folder = e1.folder / "reports" / "e1"

    assert 0 == result.ret
    assert {"index.html", "verdicts.json", "summary.md", "trace.json"} == {path.name for path in folder.iterdir()}
    summary, trace = (folder / "summary.md").read_text("utf-8"), json.loads((folder / "trace.json").read_text())
    for id_, verdict in e1.verdicts().items():
        assert f"| {id_} | **{verdict.word}**" in summary
    assert set(e1.verdicts()) == {one["id"] for one in trace["otherData"]["verdicts"]}
    assert 8 == sum(event["name"] == "process_name" for event in trace["traceEvents"])


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=" ".join)
def test_every_kind_is_written_once_and_read_by_its_own_library(e1: Bench, workers: tuple[str, ...]) -> None:
    """Under xdist by the controller."""
    result = e1.pytest(RECORDS, *ALL, *workers)
    folder = e1.folder / "reports" / "e1"

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert {"passed": 8, "rehearsed": 2} == result.parseoutcomes()
    assert len(EXPORTS) == sum(
        line.startswith(tuple(f"{kind}: reports/e1/" for kind in EXPORTS)) for line in result.outlines
    )
    logs = sorted((folder / "exports" / "mllog").rglob("result_*.txt"))
    assert 8 == len(logs)
    assert [] == [refused for log in logs for refused in parse_file(str(log), ruleset="5.1.0")[1]]
    read: Callable[[str], Iterable[Any]] = parser.text_string_to_metric_families
    families = {one.name for one in read((folder / "exports/mixgpu.prom").read_text("utf-8"))}
    assert {"mixgpu_passmark_met", "mixgpu_passmark_value_ratio"} <= families
    statement = (folder / "exports" / "verdicts.intoto.json").read_text("ascii")
    Statement.copy_from_pb(json_format.Parse(statement, Message())).validate()
    names = {one["name"] for one in json.loads(statement)["subject"]}
    assert {"passmarks.lock", "ledger.jsonl"} <= names
    assert 10 == len(names)


def test_a_failing_verdict_still_fails(e1: Bench) -> None:
    """An export is no other way to an exit status."""
    record = next(path for path in (e1.folder / "reports/runs").glob("*mixed*/record.jsonl"))
    record.write_bytes(record.read_bytes().replace(b'"num_correct":', b'"num_correct": ', 1))

    result = e1.pytest(RECORDS, *ALL)

    assert 1 == result.ret
    prom = (e1.folder / "reports/e1/exports/mixgpu.prom").read_text("utf-8")
    assert 'mixgpu_passmark_met{suite="e1",id="e1-parity"} 0.0' in prom
    assert "**TAMPERED**" in (e1.folder / "reports/e1/summary.md").read_text("utf-8")


def test_what_cannot_be_written_hides_no_verdict(e1: Bench) -> None:
    """The trouble is said with its path, the others are written, and the exit status is that of the verdicts."""
    (e1.folder / "reports" / "e1").mkdir(parents=True)
    (e1.folder / "reports" / "e1" / "exports").write_text("in the way")

    result = e1.pytest(RECORDS, *ALL)

    assert 0 == result.ret
    assert {"passed": 8, "rehearsed": 2} == result.parseoutcomes()
    assert "openmetrics of e1 could not be written to reports/e1/exports/mixgpu.prom: " in prose(result)
    assert "lock digest: " in prose(result)
    assert (e1.folder / "reports" / "e1" / "trace.json").is_file()
    assert 12 == len(e1.verdicts())


def test_a_folder_that_cannot_be_written_hides_no_verdict(e1: Bench) -> None:
    """Not even the page: the closing lines still say what was met."""
    e1.write("reports-file", "in the way")

    result = e1.pytest(RECORDS, "--mixgpu-report=reports-file", "--passmark-export=in-toto")

    assert 0 == result.ret
    said = prose(result)
    assert "MET: 10 claims about the record hold" in said
    assert "mixgpu: in-toto of e1 could not be written" in said
    assert "mixgpu: the report of e1 could not be written" in said


@pytest.mark.parametrize("workers", [(), ("-n", "2")], ids=" ".join)
def test_the_page_of_a_github_job(
    e1: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    """The summary is added once to what the step wrote before."""
    step = tmp_path / "step.md"
    step.write_text("# before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(step))

    e1.pytest(RECORDS, *workers)

    assert step.read_text("utf-8") == "# before\n\n" + (e1.folder / "reports/e1/summary.md").read_text("utf-8")


def test_the_page_of_a_github_job_cannot_be_written(e1: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is said, and changes nothing."""
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(e1.folder / "nowhere" / "step.md"))

    result = e1.pytest(RECORDS)

    assert 0 == result.ret
    assert "mixgpu: the summary could not be added to $GITHUB_STEP_SUMMARY: " in prose(result)


def test_a_suite_without_runs(bench: Bench) -> None:
    """A mark on samples has no run to tell of: what needs one says so, and the others are written."""
    bench.write(
        "test_it.py",
        "import pytest\n\n"
        '@pytest.mark.passmark("x-mark", metric="time_s", at_most=5, unit="s")\n'
        "def test_it(passmark):\n    passmark.judge(0.5, unit='s')\n",
    )
    result = bench.pytest(*ALL)
    written = {path.name for path in bench.folder.glob("reports/*/**/*") if path.is_file()}

    assert "mixgpu: mllog of bench could not be written to reports/bench/exports/mllog: found no run" in prose(result)
    assert "mixgpu: in-toto of bench could not be written" in prose(result)
    assert {"summary.md", "trace.json", "mixgpu.prom"} <= written
