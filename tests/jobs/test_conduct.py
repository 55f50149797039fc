"""Whatever happens in a run, its record is written as it happens, closed, and says how it ended."""

from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_mixgpu.errors import PlanError, RunFailedError
from pytest_mixgpu.jobs.conduct import conduct
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.records.model import Header, RunRecord
from pytest_mixgpu.records.store import RunStore
from tests.fakes import FakeInterference, FakeJob, NoLauncher
from tests.jobs.made_jobs import digits, made_header


def _conduct(job: FakeJob, folder: Path, header: Header | None = None, **options: object) -> RunRecord:
    header = header if header is not None else made_header(rounds=3, warmup_rounds=1, evaluate_every=2)
    writer = RunStore(folder).register(header)

    def make(setup: JobSetup) -> FakeJob:
        job.setup = setup
        return job

    return conduct(header, digits(), launcher=NoLauncher(), writer=writer, make_job=make, **options)  # type: ignore[arg-type]


def test_rounds_validation_and_test_in_their_order(tmp_path: Path) -> None:
    """All rounds, a look at the validation split every n of them, the test split once at the end, then stop."""
    job = FakeJob(num_rounds=4)

    record = _conduct(job, tmp_path)

    expected = ["start", "round 0", "round 1", "validation", "round 2", "round 3", "validation", "test", "stop"]
    assert expected == job.calls
    assert (record.status, len(record.rounds), len(record.evaluations)) == ("completed", 4, 3)


@pytest.mark.parametrize(
    ("changes", "expected"),
    [
        ({"to_finish": False, "evaluate_every": 0}, []),
        ({"to_finish": True, "evaluate_every": 0}, ["test"]),
        ({"to_finish": False, "evaluate_every": 3}, ["validation"]),
    ],
    ids=["speed only", "no validation", "no test"],
)
def test_what_is_scored_follows_from_the_settings(tmp_path: Path, changes: dict[str, Any], expected: list[str]) -> None:
    """A run that does not train to the finish never opens the test split."""
    record = _conduct(FakeJob(num_rounds=4), tmp_path, made_header(rounds=3, **changes))

    assert expected == [line.split for line in record.evaluations]


def _fail(*, stopped: bool = False) -> RunFailedError:
    return RunFailedError(
        "participant-1 raised",
        worker="participant-1",
        log_path="/elsewhere/x.log",
        phase="compute",
        round_index=2,
        stopped=stopped,
    )


@pytest.mark.parametrize(
    ("error", "status"), [(_fail(), "failed"), (_fail(stopped=True), "stopped")], ids=["a fault", "a signal"]
)
def test_a_failed_run_is_a_record(tmp_path: Path, error: RunFailedError, status: str) -> None:
    """The failure is not raised; what was known before it stays, and the fault names worker, device, phase, round."""
    job = FakeJob(num_rounds=4, fails_at="round 2", error=error)

    record = _conduct(job, tmp_path)

    assert (status, 2, "stop") == (record.status, len(record.rounds), job.calls[-1])
    (fault,) = record.faults
    assert ("participant-1", record.devices[1].id, record.devices[1].host, "compute", 2) == (
        fault.worker,
        fault.device,
        fault.host,
        fault.phase,
        fault.round_index,
    )
    assert record.outcome is not None
    assert record.outcome.reason == "participant-1 raised"


@pytest.mark.parametrize("moment", ["start", "round 0", "validation", "test"])
def test_a_person_may_stop_a_run_at_any_moment(tmp_path: Path, moment: str) -> None:
    """Ctrl-C closes the record as stopped, stops the workers, and goes on its way."""
    job = FakeJob(num_rounds=4, fails_at=moment, error=KeyboardInterrupt())
    header = made_header(rounds=3)

    with pytest.raises(KeyboardInterrupt):
        _conduct(job, tmp_path, header)

    record = RunStore(tmp_path).read(header.run_id)
    assert record.status == "stopped"
    assert job.calls[-1] == "stop"


def test_a_bug_of_ours_is_recorded_and_raised(tmp_path: Path) -> None:
    """An error that is no failed run closes the record as failed, and is not swallowed."""
    header = made_header()
    job = FakeJob(num_rounds=3, fails_at="round 1", error=ZeroDivisionError("ours"))

    with pytest.raises(ZeroDivisionError):
        _conduct(job, tmp_path, header)

    record = RunStore(tmp_path).read(header.run_id)
    assert record.outcome is not None
    assert ("failed", "ZeroDivisionError: ours") == (record.status, record.outcome.reason)


@pytest.mark.parametrize(
    ("error", "stop_error", "raised", "status", "reason"),
    [
        (None, OSError("lost"), OSError, "failed", "the workers were not ended in order: OSError: lost"),
        (_fail(), OSError("lost"), OSError, "failed", "participant-1 raised; the workers were not ended"),
        (KeyboardInterrupt(), KeyboardInterrupt(), KeyboardInterrupt, "stopped", "stopped by hand"),
        (KeyboardInterrupt(), OSError("lost"), KeyboardInterrupt, "stopped", "stopped by hand"),
    ],
    ids=["after a good run", "after a fault", "a second Ctrl-C", "after a Ctrl-C"],
)
def test_workers_that_cannot_be_ended_leave_a_closed_record(  # noqa: PLR0917 - a table
    tmp_path: Path,
    error: BaseException | None,
    stop_error: BaseException,
    raised: type[BaseException],
    status: str,
    reason: str,
) -> None:
    """The record is closed before the error goes on its way, and both reasons stand in it."""
    header = made_header()
    job = FakeJob(num_rounds=3, fails_at="round 1", error=error, stop_error=stop_error)

    with pytest.raises(raised):
        _conduct(job, tmp_path, header)

    record = RunStore(tmp_path).read(header.run_id)
    assert record.outcome is not None
    assert status == record.status
    assert record.outcome.reason.startswith(reason)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"payload": "bf16"}, "settings.payload is 'bf16'"),
        ({"exchange": "ring"}, "settings.exchange is 'ring'"),
        ({"number_format": "int4"}, "settings.number_format is 'int4'"),
        ({"shares": (1, 2, 3)}, "3 participants"),
        ({"exchange": "ddp", "shares": (1, 2, 3)}, "3 participants"),
        ({"exchange": "none", "shares": (1, 2)}, "one share"),
    ],
    ids=["payload", "exchange", "number format", "shares", "shares of the reference", "shares of a solo run"],
)
def test_settings_that_are_not_known_are_refused_by_name(
    tmp_path: Path, changes: dict[str, object], words: str
) -> None:
    """Nothing is run with other settings than those asked for; the record says why there is no number."""
    header = made_header()
    header = msgspec.structs.replace(header, settings=msgspec.structs.replace(header.settings, **changes))
    writer = RunStore(tmp_path).register(header)

    with pytest.raises(PlanError, match=words):
        conduct(header, digits(), launcher=NoLauncher(), writer=writer)

    assert RunStore(tmp_path).read(header.run_id).status == "failed"


def test_time_is_accounted_from_lease_to_release(tmp_path: Path) -> None:
    """Spans follow each other from the lease on and stay within it."""
    record = _conduct(FakeJob(num_rounds=4), tmp_path)

    assert record.outcome is not None
    spans = record.outcome.spans
    assert ("lease", "setup", "training") == tuple(span.name for span in spans[:3])
    assert spans[-1].name == "teardown"
    assert all(a.start_s + a.duration_s <= b.start_s + 1e-6 for a, b in pairwise(spans))
    assert spans[-1].start_s + spans[-1].duration_s <= record.outcome.leased_s


def test_foreign_load_is_recorded_by_core(tmp_path: Path) -> None:
    """Each participant's core is looked up; what is unknown stays unknown."""
    header = made_header()
    cores = [device.ordinal for device in header.pool.devices]
    shares = {cores[0]: 0.25, cores[1]: None} if cores[0] != cores[1] else {cores[0]: 0.25}

    record = _conduct(FakeJob(num_rounds=3), tmp_path, header, interference=FakeInterference(shares))

    assert tuple(shares[core] for core in cores) == record.rounds[0].foreign_share


def test_without_a_meter_foreign_load_is_unknown(tmp_path: Path) -> None:
    """Unknown is shown as unknown, not as 0."""
    assert _conduct(FakeJob(num_rounds=4), tmp_path).rounds[0].foreign_share == (None, None)


def test_a_long_run_says_how_far_it_is(tmp_path: Path) -> None:
    """Each round tells its number, rate and the time left; the end tells the score."""
    said: list[str] = []

    _conduct(FakeJob(num_rounds=4, round_s=40.0), tmp_path, progress=said.append)

    assert said[0] == "starting 2 participants"
    assert said[2] == "warm-up 1 of 1: 40.00 s, 2 samples/s, 2 min left"
    assert said[5] == "round 3 of 3: 40.00 s, 2 samples/s, 0 s left"
    assert said[6:] == ["scoring the test split", "test: 9 of 10 right (90.0%)"]


def test_moved_bytes_are_counted(tmp_path: Path) -> None:
    """The first model to everybody, then updates and models of every round, in both directions."""
    record = _conduct(FakeJob(num_rounds=4, update_bytes=100), tmp_path)

    assert record.outcome is not None
    assert 2 * 100 + 4 * 2 * 2 * 100 == record.outcome.moved_bytes


@pytest.mark.parametrize(
    ("exchange", "fails_at", "expected"),
    [
        ("ddp", "", None),
        ("star", "start", None),
        ("star", "round 1", None),
        ("star", "validation", 2 * 100 + 2 * 2 * 2 * 100),
        ("none", "round 1", 0),
    ],
    ids=["nobody counts", "died at the start", "died in a round", "died between rounds", "nothing moves"],
)
def test_moved_bytes_are_known_or_not_stated(
    tmp_path: Path, exchange: str, fails_at: str, expected: int | None
) -> None:
    """What was not counted to its end is unknown, and not 0."""
    header = made_header(exchange=exchange, rounds=3, evaluate_every=2)
    job = FakeJob(num_rounds=4, update_bytes=100 * (exchange == "star"), fails_at=fails_at, error=_fail())

    record = _conduct(job, tmp_path, header)

    assert record.outcome is not None
    assert expected == record.outcome.moved_bytes
