"""The job of this suite, as `job = "plain_ddp_job:job"` in `benchmark.toml` names it.

It is imported by pytest itself, which needs no torch; what trains is imported by the workers.
"""

from pytest_mixgpu.jobs.own import JobSetup, OwnJob, crew_job


def job(setup: JobSetup) -> OwnJob:
    """Run `plain_ddp_training.work` on each device; tell phases apart in one more round after the last score."""
    return crew_job(setup, "plain_ddp_training:work", instrumented_rounds=1)
