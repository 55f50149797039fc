"""A job of a user's own is held to what a job is: what it raises, or says that cannot be, is a failed run."""

import dataclasses
import functools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.checked import checked
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.named import NamedJob, find_job
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.records.model import Header, RunRecord
from pytest_mixgpu.records.store import RunStore
from pytest_mixgpu.timing.model import ParticipantStamps, Segment
from tests.jobs import own_jobs
from tests.jobs.made_jobs import core_pool, made_header, run_it

STAMPS = ParticipantStamps(compute_end_s=0.001, close_s=0.001)


def own_header(**changes: Any) -> Header:
    return made_header(exchange=changes.pop("exchange", "ddp"), pool=core_pool("cpu", "cpu"), **changes)


def run_own(folder: Path, factory: Callable[[JobSetup], object], launcher: LocalLauncher, **options: Any) -> RunRecord:
    """Conduct a run of this job, and read its record again."""
    header = options.pop("header", None) or own_header()
    made = run_it(header, launcher, folder, make_job=checked(NamedJob("mine:job", factory, ())), **options)
    (again,) = RunStore(folder).records("made")
    assert again.outcome == made.outcome
    return again


@pytest.fixture
def idle_launcher() -> Any:
    with LocalLauncher(preload=()) as launcher:
        yield launcher


def test_an_honest_job_is_recorded(idle_launcher: LocalLauncher, tmp_path: Path) -> None:
    """What it says stands in the record as it said it; an evaluator that it does not name is filled in."""
    run = run_own(tmp_path, own_jobs.plain, idle_launcher)

    assert ("completed", 3) == (run.status, len(run.rounds)), run.outcome
    assert run.test is not None
    assert (47, 50, "evaluator") == (run.test.num_correct, run.test.num_total, run.test.evaluator_digest)
    assert run.outcome is not None
    assert run.outcome.moved_bytes == 0 or run.outcome.moved_bytes is None


@dataclasses.dataclass(frozen=True)
class Fault:
    """One thing that a job does wrong, and what is said of it."""

    method: str
    change: Any
    said: str


FAULTS = (
    Fault("start", ValueError("no data here"), "raised ValueError (start): no data here"),
    Fault("run_round", OSError("lost"), "raised OSError in round 1 (round): lost"),
    Fault("evaluate", KeyError("labels"), "raised KeyError (evaluate)"),
    Fault("run_round", SystemExit(0), "raised SystemExit in round 1"),
    Fault("start", 7, "start() returned a int, expected a Start"),
    Fault("run_round", None, "run_round() returned a NoneType, expected a RoundLine"),
    Fault("evaluate", "fine", "evaluate() returned a str, expected a Evaluation"),
    Fault("start", {"workers": ()}, "0 workers on"),
    Fault("start", {"data_counts": {"train": 5}}, "expected positive numbers for `train` and `test`"),
    Fault("start", {"data_digest": ""}, "no digest of the data"),
    Fault("start", {"num_parameters": 0}, "0 parameters"),
    Fault("start", {"started_at": "yesterday"}, "'yesterday', expected a moment"),
    Fault("start", {"hosts": ()}, "no facts of the host"),
    Fault("run_round", {"index": 5}, "index 5, expected 1"),
    Fault("run_round", {"warmup": True}, "warmup True, expected False"),
    Fault("run_round", {"instrumented": True}, "instrumented True, expected False"),
    Fault("run_round", {"participants": (0,)}, "expected one for each of 1 participants"),
    Fault("run_round", {"samples": (1, 1)}, "samples (1, 1), expected (64, 64)"),
    Fault("run_round", {"stamps": (STAMPS,)}, "found 1 values in `stamps`"),
    Fault("run_round", {"train_loss": (0.5,)}, "found 1 values in `train_loss`"),
    Fault("run_round", {"train_loss": (float("nan"), 0.5)}, "not finite"),
    Fault("run_round", {"round_s": float("inf")}, "not finite"),
    Fault("run_round", {"round_s": "long"}, "Expected `float`"),
    Fault("run_round", {"round_s": 0.0}, "a round of 0.0 s"),
    Fault("run_round", {"round_s": 1000.0}, "a round of 1000.0 s"),
    Fault("run_round", {"segments": ((Segment("compute", 0.0, 5.0),),) * 2}, "add up to 5.000000 s"),
    Fault("run_round", {"communication_s": (9.0, 0.0)}, "9.0 s of communication"),
    Fault("run_round", {"sent_bytes": (-1, 0)}, "(-1, 0) bytes sent"),
    Fault("evaluate", {"samples_seen": 1}, "samples_seen 1, expected 384"),
    Fault("evaluate", {"num_total": 5000}, "the test split has 50"),
    Fault("evaluate", {"num_correct": 49}, "49 right, and bits that say 47"),
    Fault("evaluate", {"correct_bits": "zz"}, "correct_bits"),
    Fault("evaluate", {"weights_digest": ""}, "no digest of the weights"),
    Fault("evaluate", {"split": "validation"}, "split validation, expected test"),
    Fault("stop", ValueError("gone already"), "the workers were not ended in order"),
)


@pytest.mark.parametrize("fault", FAULTS, ids=lambda one: f"{one.method}: {one.said}"[:60])
def test_a_fault_is_a_failed_run(idle_launcher: LocalLauncher, tmp_path: Path, fault: Fault) -> None:
    """It says what was found; nothing is raised, and the record can be read."""
    run = run_own(tmp_path, lambda setup: own_jobs.Doctored(setup, fault.method, fault.change), idle_launcher)

    assert "failed" == run.status
    assert run.outcome is not None
    assert fault.said in run.outcome.reason
    assert run.test is None or fault.method == "stop"


def test_a_traceback_is_kept(idle_launcher: LocalLauncher, tmp_path: Path) -> None:
    """The log of the job is a file of the run, and the fault names it."""
    run = run_own(tmp_path, lambda setup: own_jobs.Doctored(setup, "start", ValueError("no data")), idle_launcher)

    assert run.outcome is not None
    assert "logs/job.log" in run.outcome.files
    assert ("job", "logs/job.log") == (run.faults[0].worker, run.faults[0].log)
    assert "Traceback" in (Path(run.path).parent / "logs" / "job.log").read_text("utf-8")


class WithoutStop:
    num_rounds = 3

    def start(self) -> None: ...
    def run_round(self, index: int) -> None: ...
    def evaluate(self, split: str) -> None: ...


def _short(setup: JobSetup) -> own_jobs.PlainJob:
    job = own_jobs.PlainJob(setup)
    job.num_rounds = 1
    return job


def _raising(_setup: JobSetup) -> object:
    raise RuntimeError("not today")


@pytest.mark.parametrize(
    ("factory", "said"),
    [
        (lambda _: WithoutStop(), "without stop()"),
        (lambda _: None, "returned a NoneType without start, run_round, evaluate, stop()"),
        (_short, "num_rounds is 1, the settings ask for 3"),
        (_raising, "raised RuntimeError (setup): not today"),
        (lambda: None, "raised TypeError (setup)"),
    ],
)
def test_a_factory_that_makes_no_job(
    idle_launcher: LocalLauncher, tmp_path: Path, factory: Callable[[JobSetup], object], said: str
) -> None:
    """What it returned instead is named."""
    run = run_own(tmp_path, factory, idle_launcher)

    assert "failed" == run.status
    assert run.outcome is not None
    assert said in run.outcome.reason


def test_a_forgotten_crew_is_stopped(idle_launcher: LocalLauncher, tmp_path: Path) -> None:
    """A job whose `stop` does nothing leaves no worker behind."""
    import psutil

    run = run_own(tmp_path, own_jobs.Careless, idle_launcher)

    assert "completed" == run.status, run.outcome
    children = psutil.Process().children(recursive=True)
    assert not [one for one in children if "mixgpu forgotten" in one.name()]


def test_a_plan_that_the_factory_refuses_is_a_plan_error(idle_launcher: LocalLauncher, tmp_path: Path) -> None:
    """What a factory says of the settings reaches the user as it is."""

    def refuses(_setup: JobSetup) -> object:
        raise PlanError("settings.payload must be int8")

    with pytest.raises(PlanError, match="int8"):
        run_own(tmp_path, refuses, idle_launcher)
    (run,) = RunStore(tmp_path).records("made")
    assert "failed" == run.status


def test_find_job(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is found beside the suite, with the modules that came with it, and their digests are those of now."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "found_helper_ab.py").write_text("VALUE = 1\n")
    (tmp_path / "found_job_ab.py").write_text("import found_helper_ab\n\ndef job(setup):\n    return setup\n")

    found = find_job("found_job_ab:job", (tmp_path,))

    assert {"found_helper_ab", "found_job_ab"} <= set(found.modules)
    before = found.digests()
    (tmp_path / "found_helper_ab.py").write_text("VALUE = 2\n")
    assert before["found_job_ab"] == found.digests()["found_job_ab"]
    assert before["found_helper_ab"] != found.digests()["found_helper_ab"]


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [
        ("absent_module_ab:job", None, "there is no module 'absent_module_ab'"),
        ("missing_{n}:other", "def job(setup): ...", "has no 'other'; it has job"),
        ("number_{n}:job", "job = 7", "is a int, expected a function"),
        ("needs_{n}:job", "import surely_not_installed_ab", "importing needs_{n} failed"),
        ("breaks_{n}:job", "raise ValueError('no GPU')", "raised ValueError: no GPU"),
        ("leaves_{n}:job", "raise SystemExit(3)", "raised SystemExit"),
        ("syntax_{n}:job", "def job(", "raised SyntaxError"),
        ("no colon", None, "not of the form module:factory"),
    ],
)
def test_a_job_that_is_not_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, source: str | None, said: str
) -> None:
    """Each way to miss it has its own words."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    number = functools.reduce(lambda total, each: 31 * total + ord(each), name, 7) % 10**6
    name, said = name.format(n=number), said.format(n=number)
    if source is not None:
        (tmp_path / f"{name.partition(':')[0]}.py").write_text(source)

    with pytest.raises(PlanError) as error:
        find_job(name, (tmp_path,))

    assert said in str(error.value)


def test_a_namesake_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A module that Python finds elsewhere first is not taken for the one beside the plan."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "colorsys.py").write_text("def job(setup): ...")

    with pytest.raises(PlanError, match="rename one of them"):
        find_job("colorsys:rgb_to_hsv", (tmp_path,))
