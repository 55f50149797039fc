"""A worker that fails ends the run; the record says who, where, in which phase and round; nothing is left running."""

from pathlib import Path

import psutil
import pytest

from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import RunStore
from tests.jobs.faulty_workers import FaultyLauncher
from tests.jobs.made_jobs import core_pool, made_header, run_it

_LIMITS = Limits(heartbeat_s=2.0, progress_s=3.0, grace_s=1.0)


def _fail(launcher: LocalLauncher, folder: Path, *, worker: str, fault: str, phase: str) -> RunRecord:
    faulty = FaultyLauncher(launcher, worker=worker, fault=fault, round_index=1, phase=phase)
    header = made_header(pool=core_pool("cpu", "cpu", "cpu"), shares=(3, 3, 2))
    return run_it(header, faulty, folder, limits=_LIMITS)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("raise", "FloatingPointError: the gradient blew up"),
        ("SIGKILL", "SIGKILL"),
        ("SIGSTOP", "stopped"),
        ("hang", "no progress|nothing more"),
    ],
)
@pytest.mark.parametrize(
    "where",
    [("participant-1", "compute"), ("participant-1", "send"), ("coordinator", "combine")],
    ids=["in compute", "in send", "the coordinator"],
)
def test_the_right_worker_is_blamed(
    torch_launcher: LocalLauncher, tmp_path: Path, fault: str, words: str, where: tuple[str, str]
) -> None:
    """Whatever happens to whom, the record names the worker, its device, the phase and the round."""
    worker, phase = where
    record = _fail(torch_launcher, tmp_path, worker=worker, fault=fault, phase=phase)

    assert record.status == "failed"
    assert record.outcome is not None
    assert any(one in record.outcome.reason for one in words.split("|"))
    (line,) = record.faults
    assert (worker, phase, 1) == (line.worker, line.phase, line.round_index)
    assert line.device == (record.devices[1].id if worker == "participant-1" else "")
    assert f"logs/{worker}.log" == line.log
    assert line.log in record.outcome.files
    assert [0] == [done.index for done in record.rounds]


def test_nothing_is_left_running(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """After a failure no worker of the run lives."""
    record = _fail(torch_launcher, tmp_path, worker="participant-2", fault="raise", phase="prepare")

    assert record.start is not None
    assert [] == _living(record)


@pytest.mark.parametrize("fault", ["raise", "SIGKILL", "SIGSTOP", "hang"])
def test_a_rank_of_the_reference_is_blamed(torch_launcher: LocalLauncher, tmp_path: Path, fault: str) -> None:
    """The others are caught in a collective meanwhile; they are not the cause."""
    faulty = FaultyLauncher(torch_launcher, worker="participant-1", fault=fault, round_index=1, phase="compute")

    record = run_it(made_header(exchange="ddp"), faulty, tmp_path, limits=_LIMITS)

    (line,) = record.faults
    assert ("participant-1", "compute", 1) == (line.worker, line.phase, line.round_index)


@pytest.mark.parametrize("fault", ["raise", "hang"])
def test_a_solo_device_is_blamed(torch_launcher: LocalLauncher, tmp_path: Path, fault: str) -> None:
    """The second device's turn comes after the first one's: what was measured before stays."""
    faulty = FaultyLauncher(torch_launcher, worker="participant-1", fault=fault, round_index=4, phase="compute")

    record = run_it(made_header(exchange="none", evaluate_every=0), faulty, tmp_path, limits=_LIMITS)

    (line,) = record.faults
    assert ("participant-1", "compute", 4) == (line.worker, line.phase, line.round_index)
    assert [0, 1, 2, 3] == [done.index for done in record.rounds]


def test_ctrl_c_stops_all_workers(torch_launcher: LocalLauncher, tmp_path: Path) -> None:
    """A person stops a run between two rounds: the record is closed as stopped and readable, no worker is left."""
    header = made_header(rounds=50)

    def interrupt(text: str) -> None:
        if text.startswith("round 1 of"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_it(header, torch_launcher, tmp_path, progress=interrupt)

    record = RunStore(tmp_path).read(header.run_id)
    assert ("stopped", 2) == (record.status, len(record.rounds))
    assert record.start is not None
    assert [] == _living(record)


def _living(record: RunRecord) -> list[int]:
    """Processes of a run's workers that are still there; one that only waits to be reaped is not."""
    pids = [facts.pid for facts in record.start.workers] if record.start is not None else []
    return [pid for pid in pids if psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE]
