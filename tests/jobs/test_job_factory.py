"""The settings choose the job, and the files that produce the number are all listed."""

import subprocess
import sys
from pathlib import Path

import pytest

import pytest_mixgpu
from pytest_mixgpu.jobs.averaging import AveragingJob
from pytest_mixgpu.jobs.code import code_paths, evaluator_paths
from pytest_mixgpu.jobs.factory import job_for
from pytest_mixgpu.jobs.reference import ReferenceJob
from pytest_mixgpu.jobs.solo import SoloJob
from tests.fakes import NoLauncher
from tests.jobs.made_jobs import made_header, made_setup

_PACKAGE = Path(pytest_mixgpu.__file__).parent


@pytest.mark.parametrize(
    ("exchange", "kind", "num_rounds"), [("star", AveragingJob, 3), ("none", SoloJob, 6), ("ddp", ReferenceJob, 3)]
)
def test_the_exchange_chooses_the_job(tmp_path: Path, exchange: str, kind: type, num_rounds: int) -> None:
    """Each has all rounds of the schedule; the solo job has them once a device."""
    job = job_for(made_setup(made_header(exchange=exchange), NoLauncher(), tmp_path))

    assert isinstance(job, kind)
    assert num_rounds == job.num_rounds


def test_a_job_that_was_not_started_can_be_stopped(tmp_path: Path) -> None:
    """A failure before the start leaves nothing to end."""
    for exchange in ("star", "none", "ddp"):
        job_for(made_setup(made_header(exchange=exchange), NoLauncher(), tmp_path)).stop()


_ENTRIES = (
    "jobs.conduct",
    "jobs.coordinator",
    "jobs.participant",
    "jobs.referenceworker",
    "jobs.soloworker",
    "jobs.workloads.sources.npz",
    "jobs.workloads.sources.packaged",
    "jobs.workloads.sources.pets",
    "launch.local",
    "launch.zygote",
    "devices.allocate",
    "devices.interference",
)


def test_all_code_that_produces_the_number_is_listed() -> None:
    """Whatever is loaded with the conduct of a run and with its workers is hashed, once, in a fixed order."""
    imports = "; ".join(f"import pytest_mixgpu.{entry}" for entry in _ENTRIES)
    program = f"{imports}; import sys; print(*(m.__file__ for n, m in sys.modules.items() if 'pytest_mixgpu' in n))"
    told = subprocess.run(
        [sys.executable, "-c", program], check=True, capture_output=True, text=True, timeout=60
    ).stdout
    loaded = {Path(name) for name in told.split()}
    paths = code_paths()

    assert set() == loaded - set(paths) - {_PACKAGE / "__init__.py"}
    assert list(paths) == sorted(set(paths))


def test_the_evaluator_is_part_of_the_code() -> None:
    """What turns weights into right and wrong exists, and is hashed with the rest too."""
    assert all(path.is_file() for path in evaluator_paths())
    assert set(evaluator_paths()) <= set(code_paths())


@pytest.mark.parametrize(
    "decider",
    [
        "jobs/scoring.py",
        "records/bits.py",
        "jobs/workloads/build.py",
        "jobs/workloads/evaluate.py",
        "jobs/workloads/sources/arrays.py",
        "jobs/workloads/sources/pets.py",
        "jobs/workloads/sources/place.py",
    ],
)
def test_whatever_decides_about_right_and_wrong_is_of_the_evaluator(decider: str) -> None:
    """Crop, resize, normalisation and number format move answers as the comparison itself does."""
    assert _PACKAGE / decider in evaluator_paths()
