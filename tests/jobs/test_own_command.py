"""A command line that writes records: what it says is taken strictly, and nothing of it is left running."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.command import job, joined_environment
from pytest_mixgpu.jobs.commandlines import CommandError, parse_line
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.workloads.recipe import OwnRecipe
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits
from pytest_mixgpu.records.model import RunRecord
from tests.jobs.test_own_checked import own_header, run_own

FOLDER = Path(__file__).parent


@pytest.fixture(scope="module")
def bare_launcher() -> Iterator[LocalLauncher]:
    with LocalLauncher(preload=()) as launcher:
        yield launcher


def run_command(folder: Path, launcher: LocalLauncher, fault: str = "none", **options: Any) -> RunRecord:
    """Run the made-up command line; `own` overrides its table."""
    own: dict[str, object] = {"command": ["{python}", "own_command.py", fault], "silence_s": 30.0}
    own |= {"instrumented_rounds": 1} | options.pop("own", {})
    recipe = OwnRecipe(schema=1, name="commanded", description="nothing is trained", own=own)

    def make(setup: JobSetup) -> object:
        return job(msgspec.structs.replace(setup, recipe=recipe, folder=FOLDER))

    return run_own(folder, make, launcher, limits=Limits(heartbeat_s=10.0, progress_s=20.0), **options)


def left_over() -> list[psutil.Process]:
    """Processes of the made-up command that still run below this one."""
    found = []
    for process in psutil.Process().children(recursive=True):
        try:
            words = process.cmdline()
        except psutil.Error:
            continue
        if "own_command.py" in words or words[:2] == ["sleep", "600"]:
            found.append(process)
    return found


def test_a_whole_run(bare_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Rounds, scores and instruments are taken from its lines; its processes are looked at, and end."""
    run = run_command(tmp_path, bare_launcher)

    assert "completed" == run.status, run.outcome
    assert [False, False, False, True] == [line.instrumented for line in run.rounds]
    assert run.test is not None
    assert (46, 50) == (run.test.num_correct, run.test.num_total)
    assert run.start is not None
    assert ["participant-0", "participant-1"] == [worker.worker for worker in run.start.workers]
    assert all("own_command.py" in worker.own_modules for worker in run.start.workers)
    assert ["compute", "send"] == [segment.phase for segment in run.rounds[-1].segments[0]]
    assert run.outcome is not None
    assert "logs/command.log" in run.outcome.files
    assert [] == left_over()


def test_a_baseline_has_a_command_for_each_device(bare_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Each counts its participants from 0, and works when it is its turn."""
    header = own_header(exchange="none", to_finish=False, evaluate_every=0)
    run = run_command(tmp_path, bare_launcher, header=header)

    assert "completed" == run.status, run.outcome
    assert [(0,), (0,), (0,), (1,), (1,), (1,)] == [line.participants for line in run.rounds]
    assert [] == left_over()


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("dies", "exited with status 3"),
        ("participants", "names participants [7, 1], expected 0 to 1, each once"),
        ("phases", "phases add up to 9.000000 s"),
        ("nan", "cannot be read"),
        ("longer", "a round of 100.0 s"),
        ("garbage", "'epoch 1, loss 0.3'"),
        ("unknown-field", "unknown field `speed`"),
        ("huge", "more than 8,388,608 bytes"),
        ("skips", "wrote round 2, expected round 1"),
        ("twice", "before it was told to"),
        ("short-score", "the test split has 50"),
        ("foreign-pid", "which the command did not start"),
        ("afterwards", "after the end: nothing was asked"),
        ("bad-exit", "exited with status 5 after the end"),
    ],
)
def test_a_fault_is_a_failed_run(bare_launcher: LocalLauncher, tmp_path: Path, fault: str, said: str) -> None:
    """It says what was found, and the command is gone with all that it started."""
    run = run_command(tmp_path, bare_launcher, fault)

    assert "failed" == run.status
    assert run.outcome is not None
    assert said in run.outcome.reason
    assert [] == left_over()


def test_silence_has_a_limit(bare_launcher: LocalLauncher, tmp_path: Path) -> None:
    """A command that hangs is ended after its own limit of silence, in the phase and round that it was in."""
    run = run_command(tmp_path, bare_launcher, "silent", own={"silence_s": 1.0})

    assert "failed" == run.status
    assert run.outcome is not None
    assert "wrote nothing for 1 s" in run.outcome.reason
    assert ("compute", 1) == (run.faults[0].phase, run.faults[0].round_index)
    assert [] == left_over()


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"command": ["no-such-program-ab"]}, "cannot be started"),
        ({"command": ["{python}", "-c", "print('nothing')"]}, "exited with status 0 before it was told to end"),
    ],
)
def test_a_command_that_does_not_start(
    bare_launcher: LocalLauncher, tmp_path: Path, own: dict[str, object], said: str
) -> None:
    """The run fails before its first round, and says why."""
    run = run_command(tmp_path, bare_launcher, own=own)

    assert ("failed", 0) == (run.status, len(run.rounds))
    assert run.outcome is not None
    assert said in run.outcome.reason


@pytest.mark.parametrize(
    ("own", "said"),
    [
        ({"command": [""]}, "names nothing to start"),
        ({"command": ["a"], "silence_s": 0.0}, "must be positive"),
        ({"command": ["a"], "instrumented_rounds": -1}, "0 or more"),
    ],
)
def test_a_table_that_says_nothing_is_a_plan_error(
    bare_launcher: LocalLauncher, tmp_path: Path, own: dict[str, object], said: str
) -> None:
    """What is wrong with the recipe is named."""
    with pytest.raises(PlanError, match=said):
        run_command(tmp_path, bare_launcher, own=own)


@given(raw=st.binary(max_size=400) | st.text(max_size=200).map(str.encode))
def test_whatever_is_written_is_a_line_or_an_error(raw: bytes) -> None:
    """Nothing that a command writes raises anything else, and no message is long."""
    said = ""
    try:
        parse_line(raw)
    except CommandError as error:
        said = str(error)

    assert len(said) < 2000


def gpu(place: int, **environment: str) -> Device:
    return Device(
        id=f"gpu-{place}",
        kind="a40",
        name="NVIDIA A40",
        vendor="nvidia",
        host="here",
        ordinal=place,
        environment=tuple(sorted(environment.items())),
    )


def test_one_command_sees_its_devices_and_no_others() -> None:
    """Lists of visible devices are joined in the order of the pool; anything else has to agree."""
    two = [gpu(0, CUDA_VISIBLE_DEVICES="GPU-a", CUDA_DEVICE_ORDER="PCI_BUS_ID")]
    two.append(gpu(1, CUDA_VISIBLE_DEVICES="GPU-b", CUDA_DEVICE_ORDER="PCI_BUS_ID"))

    assert {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-b", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"} == joined_environment(two)
    with pytest.raises(PlanError, match="cannot have both"):
        joined_environment([gpu(0, CUDA_DEVICE_ORDER="PCI_BUS_ID"), gpu(1, CUDA_DEVICE_ORDER="FASTEST_FIRST")])
    with pytest.raises(PlanError, match="different variables"):
        joined_environment([gpu(0, CUDA_VISIBLE_DEVICES="GPU-a"), gpu(1, HIP_VISIBLE_DEVICES="0")])
