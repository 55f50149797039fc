"""The settings choose the job, and the files that produce the number are all listed."""

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


def test_all_code_that_produces_the_number_is_listed() -> None:
    """Every module of the rooms that run between GO and a recorded round, once, in a fixed order."""
    paths = code_paths()

    rooms = {path.relative_to(_PACKAGE).parts[0] for path in paths}
    assert {"jobs", "launch", "timing"} == rooms
    assert list(paths) == sorted(set(paths))
    assert _PACKAGE / "jobs" / "workloads" / "build.py" in paths


def test_the_evaluator_is_part_of_the_code() -> None:
    """What turns weights into right and wrong exists, and is hashed with the rest too."""
    assert all(path.is_file() for path in evaluator_paths())
    assert set(evaluator_paths()) <= set(code_paths())
