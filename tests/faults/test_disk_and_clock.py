"""A disk that fills up and a clock that is set back in the middle of a run, and what runs that failed are worth."""

import resource
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.launch.protocol import Launcher
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.soundness import time_faults
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RunStore
from tests.faults.faulty import Fault, FaultyLauncher
from tests.faults.left import check_left
from tests.jobs.made_jobs import made_header, run_it
from tests.judging import e1_marks, make_evidence
from tests.sample_doctors import as_failed, only


def test_a_disk_that_is_full_leaves_what_was_written(launcher: Launcher, family: str, tmp_path: Path) -> None:
    """The error says which file and what helps; the rounds before stay readable, and the run is an aborted one."""
    header = made_header(rounds=4)
    before = resource.getrlimit(resource.RLIMIT_FSIZE)

    def fill_up(text: str) -> None:
        if text.startswith("round 1 of"):
            size_bytes = (tmp_path / "runs" / header.run_id / "record.jsonl").stat().st_size
            resource.setrlimit(resource.RLIMIT_FSIZE, (size_bytes + 10, before[1]))

    try:
        with pytest.raises(RecordError, match=r"record\.jsonl cannot be written.*make room"):
            run_it(header, launcher, tmp_path, progress=fill_up)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)

    record = RunStore(tmp_path).read(header.run_id)
    assert ("aborted", [0, 1]) == (record.status, [line.index for line in record.rounds])
    check_left(launcher, family, tmp_path)


@pytest.mark.parametrize("is_set_back", [False, True], ids=["as it is", "set back"])
def test_a_clock_that_is_set_back_is_seen(
    launcher: Launcher, family: str, tmp_path: Path, *, is_set_back: bool
) -> None:
    """Moments contradict each other, so the run is void evidence; durations come from another clock and stay."""
    header = msgspec.structs.replace(made_header(), registered_at=utc_now())
    fault = Fault(what="clock set back", phase="wait" if is_set_back else "never", round_index=1)

    record = run_it(header, FaultyLauncher(launcher, "coordinator", fault), tmp_path)

    assert "completed" == record.status
    assert all(0 < line.round_s < _training_s(record) for line in record.rounds)
    told = [text for text in time_faults(record) if "round 2 started -" in text]
    assert is_set_back == bool(told), time_faults(record)
    check_left(launcher, family, tmp_path)


def _training_s(record: RunRecord) -> float:
    assert record.outcome is not None
    return sum(span.duration_s for span in record.outcome.spans if span.name == "training")


@pytest.mark.parametrize("after_rounds", [0, 1, 3], ids=["at the start", "in the first round", "in a measured round"])
def test_a_fleet_that_failed_is_void(after_rounds: int) -> None:
    """Where nothing else stands, every mark on it is VOID, names the run, and repeats who failed and how."""
    evidence = make_evidence(doctor=only(lambda run: as_failed(run, after_rounds=after_rounds), name="fleet"))

    verdict = judge_mark(e1_marks().mark("e1-speedup"), evidence)

    failed = next(run for run in evidence.runs if run.header.name == "fleet")
    assert ("VOID", failed.id) == (verdict.word, verdict.follows_from)
    assert "participant-1 was killed by SIGKILL" in verdict.reason
