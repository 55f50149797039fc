"""What is imported before workers are forked."""

from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.local import LocalLauncher
from tests.launch.processes import PATIENT, await_end, task


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


def test_warming_ends_when_all_are_ready(tmp_path: Path) -> None:
    """Every environment has its preloaded parent when `warm` returns, and the run finds it there."""
    environments = [(), (("A", "1"),), (("A", "2"), ("CUDA_VISIBLE_DEVICES", "0"))]
    with LocalLauncher(preload=("json", "no_such_module")) as launcher:
        launcher.warm(environments)
        reports, pids = launcher.preloads(), launcher.zygote_pids()
        tasks = [
            msgspec.structs.replace(task(f"p-{index}", "echo"), environment=environment)
            for index, environment in enumerate(environments)
        ]
        with launcher.start(tasks, log_dir=tmp_path, limits=PATIENT):
            pass

        assert [("no_such_module",)] * 3 == [report.missing for report in reports]
        assert pids == launcher.zygote_pids()


def test_environments_are_preloaded_side_by_side(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No preload waits for another: here each goes on only when the other has begun."""
    monkeypatch.setenv("MIXGPU_TEST_FOLDER", str(tmp_path))
    with LocalLauncher(preload=("tests.launch.preload_meeting",)) as launcher:
        launcher.warm([(("MIXGPU_TEST_OWN", "a"),), (("MIXGPU_TEST_OWN", "b"),)])

        assert 2 == len(launcher.preloads())


def test_a_preload_that_forbids_a_fork_is_given_up_before_the_first_run() -> None:
    """What `warm` leaves behind can be forked, in every environment."""
    with LocalLauncher(preload=("tests.launch.preload_threads",)) as launcher:
        launcher.warm([(), (("A", "1"),)])

        assert [1, 1] == [report.num_threads for report in launcher.preloads()]


def test_what_is_preloaded_follows_what_is_needed() -> None:
    """Nothing is loaded that nobody asked for; a later wish adds to the earlier ones, and one that is met is free."""
    with LocalLauncher(preload=("no_such_default",)) as launcher:
        loaded, pids = [], []
        for modules in (["json", "none_a"], ["none_b"], ["json", "none_a"], None):
            launcher.warm([()], modules=modules)
            loaded.append(launcher.preloads()[0].missing)
            pids.append(launcher.zygote_pids())

    assert [("none_a",), ("none_a", "none_b"), ("none_a", "none_b"), ("none_a", "none_b")] == loaded
    assert pids[0] != pids[1] == pids[2] == pids[3]


def test_an_unsafe_preload_is_not_tried_again() -> None:
    """What was given up once stays given up, whatever is asked for."""
    with LocalLauncher() as launcher:
        launcher.warm([()], modules=["tests.launch.preload_threads"])
        launcher.warm([()], modules=["no_such_module", "tests.launch.preload_threads"])

        assert [(1, ())] == [(report.num_threads, report.missing) for report in launcher.preloads()]


def test_a_failure_to_warm_is_told_by_the_run_that_meets_it(tmp_path: Path) -> None:
    """`warm` knows of the failure and leaves it to the run; another environment is not touched by it."""
    with LocalLauncher(preload=("tests.launch.preload_by_choice",)) as launcher:
        launcher.warm([(), (("MIXGPU_TEST_BROKEN", "1"),)])

        assert 1 == len(launcher.preloads())
        with launcher.start([task("p-0", "echo")], log_dir=tmp_path / "a", limits=PATIENT) as crew:
            assert "ready" == crew.receive()[1]["kind"]
        broken = msgspec.structs.replace(task("p-1", "echo"), environment=(("MIXGPU_TEST_BROKEN", "1"),))
        with pytest.raises(RunFailedError, match=r"p-1 did not start: preloading .* failed: RuntimeError: too old"):
            launcher.start([broken], log_dir=tmp_path / "b", limits=PATIENT)


def test_a_preload_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It must not wake up beside a measured round; the run that needs it begins anew."""
    monkeypatch.setenv("MIXGPU_TEST_FOLDER", str(tmp_path))
    with LocalLauncher(preload=("tests.launch.preload_meeting",)) as launcher:
        launcher.warm([(("MIXGPU_TEST_OWN", "a"),)], within_s=0.5)

        assert [] == await_end(launcher.zygote_pids())
        (tmp_path / "b").touch()
        alone = msgspec.structs.replace(task("p-0", "echo"), environment=(("MIXGPU_TEST_OWN", "a"),))
        with launcher.start([alone], log_dir=tmp_path / "logs", limits=PATIENT) as crew:
            assert "ready" == crew.receive()[1]["kind"]


def test_a_preload_that_fails_is_told(tmp_path: Path) -> None:
    """The error names the module and what it raised."""
    with (
        LocalLauncher(preload=("tests.launch.preload_broken",)) as launcher,
        pytest.raises(
            RunFailedError, match=r"p-0 did not start: preloading tests.launch.preload_broken failed: Runtime"
        ),
    ):
        launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT)
