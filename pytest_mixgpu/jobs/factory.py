"""Which job serves a run: one file a policy, chosen here and nowhere else."""

from collections.abc import Callable

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.averaging import AveragingJob
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.protocol import Job
from pytest_mixgpu.jobs.reference import ReferenceJob
from pytest_mixgpu.jobs.solo import SoloJob
from pytest_mixgpu.jobs.training import check_number_format

_JOBS: dict[str, Callable[[JobSetup], Job]] = {"none": SoloJob, "star": AveragingJob, "ddp": ReferenceJob}


def job_for(setup: JobSetup) -> Job:
    """The job that does what a run's settings ask for.

    Raises:
        PlanError: they ask for an exchange, a payload or a number format that is not known, or do not fit the pool.
    """
    settings = setup.header.settings
    check_number_format(settings.number_format)
    if settings.exchange not in _JOBS:
        raise PlanError(f"settings.exchange is {settings.exchange!r}; known are {', '.join(sorted(_JOBS))}")
    return _JOBS[settings.exchange](setup)
