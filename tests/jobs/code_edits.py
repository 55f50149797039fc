"""A process that makes one run while somebody writes into the code that it was loaded from: a copy, never our own.

Called as a module, with the copy first on `PYTHONPATH`: the report folder, the moment, and what is left in the file.
"""

import sys
from pathlib import Path

from msgspec.structs import replace

import pytest_mixgpu
from pytest_mixgpu.jobs.code import code_seen
from pytest_mixgpu.jobs.conduct import conduct
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.protocol import Job
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.records.store import RunStore
from tests.fakes import FakeJob, NoLauncher
from tests.jobs.made_jobs import digits, made_header, run_it

EDITED = Path(pytest_mixgpu.__file__).parent / "jobs" / "star.py"
LEFT = {"as-it-was": "", "a-comment": "\n# Nothing else.\n", "other-code": "\nOTHER = 1\n"}


class EditedJob(FakeJob):
    """A job in whose second round somebody writes."""

    def __init__(self, left: str) -> None:
        super().__init__(num_rounds=3)
        self._left = left

    def _note(self, call: str) -> None:
        super()._note(call)
        if call == "round 1":
            write_into(EDITED, left=self._left)


def write_into(path: Path, *, left: str) -> None:
    """Write other code into a file, then what it shall hold in the end."""
    before = path.read_text("utf-8")
    path.write_text(before + "\nraise SystemExit\n", "utf-8")
    path.write_text(before + left, "utf-8")


def main(folder: Path, moment: str, left: str) -> None:
    """Make a run and print its id."""
    seen = code_seen()
    header = made_header(rounds=2, warmup_rounds=1, evaluate_every=0)
    header = replace(header, digests=replace(header.digests, code=seen.digest))
    if moment == "during":
        job: Job = EditedJob(LEFT[left])
    else:
        job = FakeJob(num_rounds=3)
    if moment == "before":
        write_into(EDITED, left=LEFT[left])
    if moment == "beside-a-parent":
        with LocalLauncher() as launcher:
            launcher.warm([()])
            write_into(EDITED, left=LEFT[left])
            run_it(header, launcher, folder)
        return

    def make(_setup: JobSetup) -> Job:
        return job

    conduct(header, digits(), launcher=NoLauncher(), writer=RunStore(folder).register(header), make_job=make)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
