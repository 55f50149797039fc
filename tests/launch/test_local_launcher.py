"""Workers on this machine: where they run and how they are spoken to. Real processes."""

import os
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits
from tests.launch.processes import PATIENT, await_end, task

DEVICE = Device(
    id="cpu:here:0",
    kind="cpu-portable",
    name="a core",
    vendor="cpu",
    host="here",
    ordinal=0,
    environment=(("MIXGPU_KIND", "device"),),
)


def test_seventeen_workers_start_and_answer(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Sixteen participants and a coordinator: all have their own process, get their payload and hear their word."""
    tasks = [task(f"p-{index}", "echo", index=index) for index in range(17)]
    with launcher.start(tasks, log_dir=tmp_path, limits=PATIENT) as crew:
        greetings = dict(crew.receive() for _ in tasks)
        for index in range(17):
            crew.send(f"p-{index}", {"kind": "go", "index": index})
        answers = dict(crew.receive() for _ in tasks)

    assert {f"p-{index}": {"index": index} for index in range(17)} == {n: m["payload"] for n, m in greetings.items()}
    assert {f"p-{index}": index for index in range(17)} == {name: answer["index"] for name, answer in answers.items()}
    assert 17 == len({message["pid"] for message in greetings.values()})


def test_a_worker_has_the_place_that_its_task_names(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Cores, threads, variables of task and device, a session and a log of its own; the supervisor's folder."""
    core = min(os.sched_getaffinity(0))
    names = ["OMP_NUM_THREADS", "MKL_NUM_THREADS", "MIXGPU_KIND", "MIXGPU_TASK", "CUDA_VISIBLE_DEVICES"]
    place = msgspec.structs.replace(
        task("p-0", "tell_place", names=names),
        device=DEVICE,
        cores=(core,),
        num_threads=3,
        environment=(("CUDA_VISIBLE_DEVICES", "GPU-1"), ("MIXGPU_KIND", "task"), ("MIXGPU_TASK", "1")),
    )
    with launcher.start([place], log_dir=tmp_path / "logs", limits=PATIENT) as crew:
        _, said = crew.receive()

    assert [core] == said["cores"]
    assert dict(zip(names, ["3", "3", "device", "1", "GPU-1"], strict=True)) == said["environment"]
    assert (True, str(Path.cwd())) == (said["session"], said["folder"])
    assert (tmp_path / "logs" / "p-0.log").exists()


def test_workers_of_equal_kernel_environment_share_a_parent(tmp_path: Path) -> None:
    """Only variables that are read when torch is loaded ask for another preloaded process."""
    with LocalLauncher(preload=()) as launcher:
        launcher.warm([(), (("A", "1"),), (("CUDA_VISIBLE_DEVICES", "0"),), (("A", "1"), ("RANK", "1"))])
        first = launcher.zygote_pids()
        launcher.warm([(("A", "1"),), ()])
        second = launcher.zygote_pids()

    assert 2 == len(first)
    assert first == second


def test_workers_order_sets_alike_in_every_session(tmp_path: Path) -> None:
    """Two launchers give their workers one hash seed, so that equal training seeds meet equal order."""
    seeds = []
    for _ in range(2):
        with (
            LocalLauncher(preload=()) as launcher,
            launcher.start(
                [task("p-0", "tell_place", names=["PYTHONHASHSEED"])], log_dir=tmp_path, limits=PATIENT
            ) as crew,
        ):
            said = crew.receive()[1]
            seeds.append((said["environment"], said["hash"]))

    assert seeds[0] == seeds[1]


def test_huge_messages_pass_both_ways_at_once(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Neither side waits for the other to read before it writes on."""
    num_bytes = 20_000_000
    tasks = [task(f"p-{index}", "speak_a_lot", num_bytes=num_bytes) for index in range(2)]
    with launcher.start(tasks, log_dir=tmp_path, limits=PATIENT) as crew:
        for each in tasks:
            crew.send(each.name, {"kind": "huge", "text": "y" * num_bytes})
        said = [crew.receive()[1] for _ in range(4)]

    assert [num_bytes, num_bytes] == [message["num_bytes"] for message in said if message["kind"] == "heard"]


def test_a_crew_that_came_to_its_end_says_so(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Waiting for workers that have all returned is an error, not a hang."""
    with launcher.start([task("p-0", "tell_place", names=[])], log_dir=tmp_path, limits=PATIENT) as crew:
        assert "place" == crew.receive()[1]["kind"]
        with pytest.raises(RunFailedError, match="returned, as all did"):
            crew.receive()
        with pytest.raises(RunFailedError, match="cannot be spoken to"):
            crew.send("p-0", {"kind": "go"})


def test_silence_ends_with_the_callers_patience(launcher: LocalLauncher, tmp_path: Path) -> None:
    """`timeout_s` bounds the wait for a word and says that the workers wait too."""
    with launcher.start([task("p-0", "echo")], log_dir=tmp_path, limits=PATIENT) as crew:
        crew.receive()
        with pytest.raises(RunFailedError, match="every worker waits for the supervisor"):
            crew.receive(timeout_s=0.2)


def test_two_tasks_of_one_name_are_refused(launcher: LocalLauncher, tmp_path: Path) -> None:
    """A name is how a failure is told, so it must be one worker's."""
    with pytest.raises(ValueError, match="different names"):
        launcher.start([task("p-0", "echo"), task("p-0", "echo")], log_dir=tmp_path, limits=Limits())


def test_two_crews_live_side_by_side(launcher: LocalLauncher, tmp_path: Path) -> None:
    """Stopping one crew leaves the other alone, though they share a parent."""
    with launcher.start([task("p-0", "echo")], log_dir=tmp_path / "a", limits=PATIENT) as first:
        first.receive()
        with launcher.start([task("p-0", "echo")], log_dir=tmp_path / "b", limits=PATIENT) as second:
            second.receive()
            pids = list(second.pids.values())
        assert [] == await_end(pids)
        first.send("p-0", {"kind": "go"})
        assert "go" == first.receive()[1]["kind"]
