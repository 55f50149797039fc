"""Faults of real workers: the right one is blamed, with its place and its last words."""

import signal
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits, Task
from tests.launch.processes import PATIENT, QUICK, await_end, task

FAULTS = {
    "raises": (
        task("p-1", "raise_value_error"),
        PATIENT,
        "raised ValueError: the batch is empty",
        "compute of round 3",
    ),
    "sigkill": (task("p-1", "kill_itself", signal=signal.SIGKILL), PATIENT, "killed by SIGKILL", "send of round 7"),
    "sigsegv": (task("p-1", "kill_itself", signal=signal.SIGSEGV), PATIENT, "killed by SIGSEGV", "send of round 7"),
    "exit-0": (task("p-1", "leave", code=0), PATIENT, "ended with exit code 0", "compute of round 1"),
    "exit-3": (task("p-1", "leave", code=3), PATIENT, "ended with exit code 3", "compute of round 1"),
    "sigstop": (task("p-1", "kill_itself", signal=signal.SIGSTOP), QUICK, "is stopped (SIGSTOP)", "send of round 7"),
    "hang": (task("p-1", "work_in_silence", phase="compute"), QUICK, "made no progress", "compute of round 2"),
    "all wait": (task("p-1", "wait_for_ever"), QUICK, "waits, as every other worker", "collective of round 4"),
}


def run_to_failure(launcher: LocalLauncher, tasks: list[Task], log_dir: Path, limits: Limits) -> RunFailedError:
    """Start the tasks beside one that is well, listen until the run fails, and see that nothing is left."""
    pids: list[int] = []
    with (  # noqa: PT012 - any word may be the one that tells of the fault
        pytest.raises(RunFailedError) as caught,
        launcher.start([task("p-0", "echo"), *tasks], log_dir=log_dir, limits=limits) as crew,
    ):
        pids += crew.pids.values()
        while True:
            crew.receive()
    assert [] == await_end(pids)
    return caught.value


@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_names_worker_device_host_phase_round_and_log(
    launcher: LocalLauncher, tmp_path: Path, fault: str
) -> None:
    """Whatever ends a worker, the error says which, where and when."""
    faulty, limits, reason, when = FAULTS[fault]
    device = Device(id="cpu:far:5", kind="cpu-portable", name="a core", vendor="cpu", host="far", ordinal=5)

    error = run_to_failure(launcher, [msgspec.structs.replace(faulty, device=device)], tmp_path, limits)

    assert "p-1" == error.worker
    assert str(error).startswith("p-1 on cpu-portable cpu:far:5 (host far) ")
    assert reason in str(error)
    assert f"in phase {when}" in str(error)
    assert str(tmp_path / "p-1.log") == error.log_path
    assert f"log: {error.log_path}" in str(error)
    assert not error.stopped


def test_the_log_tail_holds_the_last_words(launcher: LocalLauncher, tmp_path: Path) -> None:
    """What a worker wrote before it was killed is shown, and nothing of an earlier worker of that name."""
    (tmp_path / "p-1.log").write_text("an earlier run\n")

    error = run_to_failure(launcher, [task("p-1", "kill_itself", signal=signal.SIGKILL)], tmp_path, PATIENT)

    assert "last words" == error.log_tail


def test_the_log_tail_of_an_exception_is_its_traceback(launcher: LocalLauncher, tmp_path: Path) -> None:
    """The line that raised stands in the tail."""
    error = run_to_failure(launcher, [task("p-1", "raise_value_error")], tmp_path, PATIENT)

    assert "in raise_value_error" in error.log_tail


def test_the_log_tail_of_a_hang_shows_where_it_hangs(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A worker that makes no progress is asked for its stacks before the run ends."""
    error = run_to_failure(launcher, [task("p-1", "work_in_silence", phase="compute")], tmp_path, QUICK)

    assert "in work_in_silence" in error.log_tail


def test_in_a_hang_the_one_that_works_is_blamed(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Workers that wait for the silent one went quiet before it, and are not blamed."""
    tasks = [
        task("coordinator", "work_in_silence", phase="wait"),
        task("p-1", "work_in_silence", phase="compute", after_s=0.2),
        task("p-2", "work_in_silence", phase="queue"),
    ]

    error = run_to_failure(launcher, tasks, tmp_path, QUICK)

    assert "p-1" == error.worker


def test_the_kill_is_blamed_and_not_the_connection_that_broke_before_it_was_known(
    launcher: LocalLauncher, tmp_path: Path
) -> None:
    """Consequences that are reported first do not hide the cause."""
    tasks = [task("p-1", "lose_connection"), task("p-2", "kill_itself_later")]

    error = run_to_failure(launcher, tasks, tmp_path, PATIENT)

    assert "p-2" == error.worker
    assert "SIGKILL" in str(error)


def test_a_stopped_peer_is_blamed_and_not_the_one_that_lost_it(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A worker that runs into its own timeout names the peer; the kernel shows that this one is stopped."""
    tasks = [
        task("p-1", "kill_itself", signal=signal.SIGSTOP),
        task("p-2", "lose_peer", peer="p-1"),
    ]
    with launcher.start(tasks, log_dir=tmp_path, limits=PATIENT) as crew:
        crew.send("p-2", {"kind": "go"})
        with pytest.raises(RunFailedError, match=r"p-1 .*did not answer p-2.*SIGSTOP.*send of round 7") as caught:
            crew.receive()

    assert "p-1" == caught.value.worker


def test_a_job_whose_two_sides_wait_for_each_other_ends(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A listening supervisor and workers that listen to it are a hang like any other."""
    error = run_to_failure(launcher, [task("p-1", "echo")], tmp_path, QUICK)

    assert "waits, as every other worker and the supervisor do" in str(error)


def test_a_place_that_is_not_there_fails_the_start(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A core that the machine lacks is told as what it is."""
    misplaced = msgspec.structs.replace(task("p-1", "echo"), cores=(100_000,))

    with pytest.raises(RunFailedError, match=r"p-1 .* raised OSError: .*Invalid argument"):
        launcher.start([task("p-0", "echo"), misplaced], log_dir=tmp_path, limits=PATIENT)


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        ("tests.launch.no_such_module:echo", "No module named 'tests.launch.no_such_module'"),
        ("tests.launch.entries:no_such_function", "no attribute 'no_such_function'"),
    ],
    ids=["module", "function"],
)
def test_an_entry_that_is_not_there_fails_the_start(
    launcher: LocalLauncher, tmp_path: Path, entry: str, reason: str
) -> None:
    """`start` returns only when each worker has said its first word."""
    tasks = [task("p-0", "echo"), Task(name="p-1", entry=entry, payload={})]

    with pytest.raises(RunFailedError, match=reason) as caught:
        launcher.start(tasks, log_dir=tmp_path, limits=PATIENT)

    assert "p-1" == caught.value.worker
    assert "in phase start" in str(caught.value)


def test_speaking_to_a_dead_worker_tells_how_it_died(launcher: LocalLauncher, tmp_path: Path) -> None:
    """`send` blames the first cause as `receive` does."""
    with launcher.start([task("p-0", "leave", code=3)], log_dir=tmp_path, limits=PATIENT) as crew:
        await_end(crew.pids.values())
        with pytest.raises(RunFailedError, match="ended with exit code 3"):  # noqa: PT012 - the first may be on its way
            while True:
                crew.send("p-0", {"kind": "go"})
