"""Sessions that really train: what they print, write and record, alone and under xdist."""

import json
import re
import xml.etree.ElementTree as ET
from datetime import datetime, timedelta
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_mixgpu.records.model import RunRecord
from tests.plugin.bench import Bench, word_of
from tests.plugin.small_suite import small_suite

pytestmark = pytest.mark.filterwarnings("error")
RUNS = [
    ("baseline", "before"),
    ("fleet", ""),
    ("baseline", "after"),
    ("baseline", "with-exchange"),
    ("reference", ""),
    ("control-a", ""),
    ("control-b", ""),
    ("mixed", ""),
]


ROUNDING = timedelta(milliseconds=50)
"""Moments are written in whole milliseconds, the end of a lease a little after that of its run."""


def lease_of(record: RunRecord) -> tuple[datetime, datetime]:
    """From when to when a run's devices are billed to it."""
    assert record.outcome is not None
    end = datetime.fromisoformat(record.outcome.finished_at)
    return end - timedelta(seconds=record.outcome.leased_s), end


class Measured(NamedTuple):
    """A bench after a measured session, and what that session said."""

    bench: Bench
    result: pytest.RunResult


@pytest.fixture(scope="module")
def measured(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """One whole session, with JUnit, and with warnings as errors; not to be changed."""
    bench = small_suite(tmp_path_factory.mktemp("measured"), draws=True)
    return Measured(bench, bench.pytest("-W", "error", "-o", "junit_family=xunit1", "--junitxml=made.xml"))


@pytest.fixture(scope="module")
def parallel(tmp_path_factory: pytest.TempPathFactory) -> Measured:
    """The same in two xdist workers."""
    bench = small_suite(tmp_path_factory.mktemp("parallel"))
    return Measured(bench, bench.pytest("-n", "2", "--dist=each", "-W", "error"))


def runs_of(bench: Bench) -> list[tuple[str, str]]:
    """Name the completed runs of a bench in their order."""
    return [
        (record.header.name, record.header.leg)
        for record in bench.store().records("small")
        if record.status == "completed"
    ]


def test_rehearsal_has_a_status_of_its_own(measured: Measured) -> None:
    """What a stand-in met is no plain pass; a claim about the record is one."""
    assert 0 == measured.result.ret, f"{measured.result.stdout}\n{measured.result.stderr}"
    assert {"rehearsed": 2, "passed": 1} == measured.result.parseoutcomes()


def test_every_role_runs_once(measured: Measured) -> None:
    """Each planned run is made once, in the order that brackets the fleet, and the ledger holds together."""
    assert RUNS == runs_of(measured.bench)
    measured.bench.store().ledger.verify()
    assert 1 == len({entry.session for entry in measured.bench.registered()})


def test_completed_runs_leave_empty_logs(measured: Measured) -> None:
    """Workers that were ended in order have nothing to report: no traceback, and no log that is one of another run."""
    logs = list((measured.bench.folder / "reports" / "runs").glob("*/logs/*.log"))

    assert len(logs) > len(RUNS)
    assert [] == [log.read_text() for log in logs if log.stat().st_size]


def test_progress_is_shown_under_capture(measured: Measured) -> None:
    """A long run says where it is, although pytest captures output."""
    measured.result.stdout.fnmatch_lines(
        ["*mixgpu: *baseline (before) on cpu:2*", "*mixgpu: *mixed on cpu:1,cpu-portable:1*"]
    )


def test_page_and_verdicts_are_written(measured: Measured) -> None:
    """A program and a person each find their file where the closing lines say."""
    verdicts = measured.bench.verdicts("small")

    assert {"small-phases", "small-rate", "small-parity", "small-first"} == set(verdicts)
    assert {"PASS"} == {verdict.word for verdict in verdicts.values()}
    assert "small-rate" in (measured.bench.folder / "reports/small/index.html").read_text("utf-8")
    measured.result.stdout.fnmatch_lines(["page: reports/small/index.html"])


def test_closing_lines_say_value_bound_and_notes(measured: Measured) -> None:
    """One entry a mark, the phases of the median round, and the seals."""
    measured.result.stdout.fnmatch_lines(
        [
            "small: 1 passed, 2 rehearsed",
            "PASS (rehearsal) *small-rate*samples/s >= 1 samples/s*n=1*",
            "phases of the median round*",
            "*compute prepare*return",
            "lock digest: *",
            "ledger entries: 17",
        ],
        consecutive=False,
    )
    assert "unanchored" in measured.result.stdout.str()


def properties_of(bench: Bench) -> dict[str, dict[str, str]]:
    """Return the properties in the XML file, by test; no test has a name twice."""
    found: dict[str, dict[str, str]] = {}
    for case in ET.parse(bench.folder / "made.xml").iter("testcase"):  # noqa: S314 - written a moment ago
        rows = [(one.attrib["name"], one.attrib["value"]) for one in case.iter("property")]
        found[case.attrib["name"]] = dict(rows)
        assert len(rows) == len(dict(rows))
    return found


def test_junit_carries_the_verdict(measured: Measured) -> None:
    """Each test of the XML file holds value, bound, unit, runs and seals of its marks, without a warning."""
    properties = properties_of(measured.bench)
    fleet, verdict = properties["test_fleet"], measured.bench.verdicts("small")["small-rate"]
    mark = {name.removeprefix("mixgpu.small-rate."): value for name, value in fleet.items()}

    assert {"mixgpu.verdict": "PASS", "mixgpu.qualifiers": "rehearsal"}.items() <= fleet.items()
    assert "PASS" == fleet["mixgpu.small-phases.verdict"]
    assert {
        "verdict": "PASS",
        "comparator": "at_least",
        "bound": "1.0",
        "unit": "samples/s",
        "n": "1",
        "qualifiers": "rehearsal",
        "pool": "cpu:2",
    }.items() <= mark.items()
    assert verdict.value == float(mark["value"])
    assert set(verdict.notes) >= set(mark["notes"].split()) >= {"unanchored"}
    assert list(verdict.run_ids) == mark["run_ids"].split()
    assert verdict.lock_digest == mark["lock_digest"]
    assert re.fullmatch(r"[0-9a-f]{64}", mark["ledger_head"])
    # The test that was judged after all runs were made holds the ledger's last head.
    assert measured.bench.store().ledger.head == properties["test_recorded_first"]["mixgpu.small-first.ledger_head"]
    assert "warning" not in measured.result.stdout.str().lower()


def test_records_give_the_same_verdicts(measured: Measured, tmp_path: Path) -> None:
    """Verdicts taken again from the records are those of the session, without torch."""
    again = measured.bench.copied(tmp_path / "again")
    before = word_of(again.verdicts("small"))

    result = again.pytest("--mixgpu-records=reports", "--mixgpu-report=reports-again")

    assert measured.result.parseoutcomes() == result.parseoutcomes(), f"{result.stdout}\n{result.stderr}"
    assert before == word_of(again.verdicts("small", report="reports-again"))
    assert not {"torch", "timm", "sklearn"} & again.modules()
    assert len(again.registered()) == len(RUNS)


def test_records_hold_the_session(measured: Measured) -> None:
    """Header, workers and digests are recorded without being asked for."""
    for record in measured.bench.store().records("small"):
        assert record.header.digests.plan
        assert record.header.digests.lock
        assert record.header.rehearsal
        assert record.start is not None
        assert {"participant-0"} <= {worker.worker for worker in record.start.workers}


def test_xdist_workers_share_the_runs(parallel: Measured) -> None:
    """Two workers that run every test make each run once, and both judge it."""
    assert 0 == parallel.result.ret, f"{parallel.result.stdout}\n{parallel.result.stderr}"
    assert {"rehearsed": 4, "passed": 2} == parallel.result.parseoutcomes()
    assert RUNS == runs_of(parallel.bench)
    assert 1 == len({entry.session for entry in parallel.bench.registered()})
    parallel.bench.store().ledger.verify()


def test_xdist_writes_one_report(parallel: Measured) -> None:
    """The controller, which collects no test, writes page and verdicts once."""
    written = json.loads((parallel.bench.folder / "reports/small/verdicts.json").read_text("utf-8"))

    assert {"small-phases", "small-rate", "small-parity", "small-first"} == {one["id"] for one in written["verdicts"]}
    assert 1 == sum(line.startswith("page: ") for line in parallel.result.outlines)


def test_repeats_and_shares_are_as_asked(small: Bench) -> None:
    """Two runs of each role and shares by speed, in one process without xdist and quietly."""
    result = small.pytest("--mixgpu-runs=2", "--mixgpu-split=speed", "-k", "test_mixture", "-x", "-q", "-p", "no:xdist")

    assert {"rehearsed": 1, "deselected": 2} == result.parseoutcomes(), f"{result.stdout}\n{result.stderr}"
    verdict = small.verdicts("small")["small-parity"]
    assert verdict.n in {1, 2}, "repeats that are equal to the bit are one observation"
    records = [record for record in small.store().records("small") if record.header.role != "baseline"]
    assert ["control-a", "control-b", "mixed"] * 2 == [record.header.name for record in records]
    assert [0, 0, 0, 1, 1, 1] == [record.header.repeat for record in records]
    assert {"speed"} == {record.header.settings.split for record in records}
    # Solo speed is measured once a group, and all that are compared or joined take the same shares.
    assert [8] == [sum(steps) for steps in {record.header.settings.shares for record in records}]
    assert "exploratory" in verdict.qualifiers, "more runs than the plan says, and other shares"
    leases = sorted(lease_of(record) for record in small.store().records("small"))
    assert [] == [later for earlier, later in pairwise(leases) if later[0] < earlier[1] - ROUNDING], "billed twice"
