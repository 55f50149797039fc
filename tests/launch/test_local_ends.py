"""Nothing is left running: after stop, Ctrl-C, and the death of supervisor or parent process. Real processes."""

import os
import signal
import time
from pathlib import Path

import pytest

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits
from tests.launch.processes import PATIENT, await_end, start_supervisor, task


def test_stop_ends_what_workers_started_too(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Children of a worker end with it, also one that left its process group."""
    with launcher.start([task("p-0", "start_children")], log_dir=tmp_path, limits=PATIENT) as crew:
        children = crew.receive()[1]["pids"]
        pids = [*crew.pids.values(), *children]  # type: ignore[misc]

    assert [] == await_end(pids, timeout_s=0.0)


def test_a_worker_that_does_not_want_to_end_is_killed(launcher: LocalLauncher, tmp_path: Path) -> None:
    """After the time of grace nobody is asked any more."""
    with launcher.start([task("p-0", "refuse_to_end")], log_dir=tmp_path, limits=Limits(grace_s=0.3)) as crew:
        crew.receive()
        pids = list(crew.pids.values())

    assert [] == await_end(pids, timeout_s=0.0)


def test_a_second_stop_does_nothing(launcher: LocalLauncher, tmp_path: Path) -> None:
    """`stop` may stand before the end of the `with` block."""
    with launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT) as crew:
        crew.stop()
        with pytest.raises(RunFailedError, match="cannot be spoken to"):
            crew.send("p-0", {"kind": "go"})


def test_closing_the_launcher_ends_the_preloaded_processes(tmp_path: Path) -> None:
    """Closing also ends workers of a crew that nobody stopped."""
    launcher = LocalLauncher(preload=())
    crew = launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT)
    pids = [*crew.pids.values(), *launcher.zygote_pids()]
    launcher.close()
    left = await_end(pids)
    crew.stop()

    assert [] == left


@pytest.mark.parametrize("fork", [False, True], ids=["alone", "with-a-fork-that-holds-its-lines"])
def test_no_orphans_after_the_supervisor_was_killed(tmp_path: Path, *, fork: bool) -> None:
    """SIGKILL leaves the supervisor no word, and still all that it started ends."""
    supervisor, pids = start_supervisor(tmp_path, "echo,start_children", fork=fork)
    assert 5 == len(pids)
    supervisor.kill()
    left = await_end(pids)
    os.killpg(supervisor.pid, signal.SIGKILL) if fork else None
    supervisor.communicate()

    assert [] == left


def test_no_orphans_after_ctrl_c(tmp_path: Path) -> None:
    """Ctrl-C reaches the supervisor alone, which ends its workers and says what it was."""
    supervisor, pids = start_supervisor(tmp_path, "echo,start_children")
    os.killpg(supervisor.pid, signal.SIGINT)
    said, _ = supervisor.communicate(timeout=30)

    assert [] == await_end(pids)
    assert ("interrupted\n", 0) == (said, supervisor.returncode)


def test_no_orphans_after_an_impatient_ctrl_c(tmp_path: Path) -> None:
    """A second Ctrl-C while a deaf worker has its time of grace ends it at once."""
    supervisor, pids = start_supervisor(tmp_path, "refuse_to_end", grace_s=300.0)
    os.killpg(supervisor.pid, signal.SIGINT)
    time.sleep(0.5)
    os.killpg(supervisor.pid, signal.SIGINT)
    said, _ = supervisor.communicate(timeout=30)

    assert [] == await_end(pids)
    assert "interrupted\n" == said


def test_a_stopped_parent_process_does_not_save_its_workers(tmp_path: Path) -> None:
    """A preloaded process that somebody stopped goes on at the end, so that it can clear up."""
    limits = Limits(grace_s=0.2)
    with LocalLauncher(preload=()) as launcher:
        with launcher.start([task("p-0", "start_children")], log_dir=tmp_path, limits=limits) as crew:
            pids = [*crew.pids.values(), *crew.receive()[1]["pids"]]  # type: ignore[misc]
            os.kill(launcher.zygote_pids()[0], signal.SIGSTOP)
        left = await_end(pids)

    assert [] == left


def test_a_killed_parent_process_is_told_and_replaced(tmp_path: Path) -> None:
    """Workers die with the process that forked them; the next start makes a new one."""
    with LocalLauncher(preload=()) as launcher:
        with launcher.start([task("p-0", "start_children")], log_dir=tmp_path, limits=PATIENT) as crew:
            children: list[int] = crew.receive()[1]["pids"]  # type: ignore[assignment]
            pids = [*crew.pids.values(), children[0]]
            os.kill(launcher.zygote_pids()[0], signal.SIGKILL)
            with pytest.raises(RunFailedError, match=r"p-0 .*parent process of the workers.*SIGKILL"):
                crew.receive()
        left = await_end(pids)
        # What left its worker's group is out of reach once both parents were killed; so much is not promised.
        os.kill(children[1], signal.SIGKILL)
        with launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT) as crew:
            assert "ready" == crew.receive()[1]["kind"]

    assert [] == left
