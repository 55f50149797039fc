"""What is imported before workers are forked."""

from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.local import LocalLauncher
from tests.launch.processes import PATIENT, task


def test_torch_is_preloaded_under_the_kernels_of_each_kind(tmp_path: Path) -> None:
    """Two kinds have parents of their own with other kernels, one thread each before the fork, and torch loaded."""
    pytest.importorskip("torch")
    own = msgspec.structs.replace(task("own", "tell_numerics"), num_threads=2)
    portable = msgspec.structs.replace(
        task("portable", "tell_numerics"), environment=(("ATEN_CPU_CAPABILITY", "default"),)
    )
    with LocalLauncher(preload=("torch",)) as launcher:
        with launcher.start([own, portable], log_dir=tmp_path, limits=PATIENT) as crew:
            said = dict(crew.receive() for _ in range(2))
        reports = launcher.preloads()

    assert "DEFAULT" == said["portable"]["capability"] != said["own"]["capability"]
    assert (2, 1) == (said["own"]["num_threads"], said["portable"]["num_threads"])
    assert [512.0, 512.0] == [message["sum"] for message in said.values()]
    assert [True, True] == [message["random_state_fresh"] for message in said.values()]
    assert [(1, ())] * 2 == [(report.num_threads, report.missing) for report in reports]


def test_a_module_that_is_not_installed_is_left_to_the_worker(tmp_path: Path) -> None:
    """A preload only saves time; who needs the module fails in its own words."""
    with (
        LocalLauncher(preload=("no_such_module", "json")) as launcher,
        launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT) as crew,
    ):
        assert "ready" == crew.receive()[1]["kind"]
        assert [("no_such_module",)] == [report.missing for report in launcher.preloads()]


@pytest.mark.parametrize("module", ["preload_threads", "preload_cuda"])
def test_a_preload_that_forbids_a_fork_is_given_up(tmp_path: Path, module: str) -> None:
    """A fork after a thread may hang, one after CUDA cannot use a GPU: workers then import for themselves."""
    with (
        LocalLauncher(preload=(f"tests.launch.{module}",)) as launcher,
        launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT) as crew,
    ):
        assert "ready" == crew.receive()[1]["kind"]
        assert [1] == [report.num_threads for report in launcher.preloads()]


def test_a_preload_that_fails_is_told(tmp_path: Path) -> None:
    """The error names the module and what it raised."""
    with (
        LocalLauncher(preload=("tests.launch.preload_broken",)) as launcher,
        pytest.raises(
            RunFailedError, match=r"p-0 did not start: preloading tests.launch.preload_broken failed: Runtime"
        ),
    ):
        launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT)
