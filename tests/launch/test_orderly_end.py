"""What a log says of an end: nothing where the supervisor ended the run, all of it where something went wrong."""

import os
import signal
from pathlib import Path

import pytest

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.crew import LocalCrew
from pytest_mixgpu.launch.local import LocalLauncher
from tests.launch.processes import PATIENT, task


def _joined(launcher: LocalLauncher, folder: Path, *, error: str) -> LocalCrew:
    """Start a worker that another one hangs on, and return when they are connected."""
    tasks = [task("p-0", "hold_line"), task("p-1", "outlive_peer", error=error)]
    crew = launcher.start(tasks, log_dir=folder, limits=PATIENT)
    crew.send("p-1", crew.receive()[1])
    assert "joined" == crew.receive()[1]["kind"]
    return crew


def test_a_peer_that_was_ended_first_is_no_failure(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Whoever is ended last sees the others go, and has nothing to report."""
    with _joined(launcher, tmp_path, error="lost"):
        pass

    assert {"p-0.log": "", "p-1.log": ""} == {path.name: path.read_text() for path in tmp_path.iterdir()}


def test_an_error_of_its_own_is_told_to_the_end(launcher: LocalLauncher, tmp_path: Path) -> None:
    """What has nothing to do with the others stands in the log, also where it happens while the run is ended."""
    with _joined(launcher, tmp_path, error="value"):
        pass

    assert "" == (tmp_path / "p-0.log").read_text()
    assert "ValueError: the weights are gone" in (tmp_path / "p-1.log").read_text()


def test_a_peer_that_died_is_one(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A death that nobody wished for is told as ever, and the one who saw it says so in its log."""
    with _joined(launcher, tmp_path, error="lost") as crew:
        os.kill(crew.pids["p-0"], signal.SIGKILL)
        with pytest.raises(RunFailedError, match=r"p-0 .*was killed by SIGKILL"):
            crew.receive()

    assert "PeerLostError: p-0 does not answer" in (tmp_path / "p-1.log").read_text()


def test_a_wish_that_comes_at_the_last_moment_changes_nothing(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A worker is a fork: nothing of its parent's may run in it while it ends, whenever it is asked to."""
    with launcher.start([task("p-0", "end_while_asked")], log_dir=tmp_path, limits=PATIENT) as crew:
        crew.receive()

    assert "" == (tmp_path / "p-0.log").read_text()
