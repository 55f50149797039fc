"""The solo baseline: the same code, data and settings on one device, without an exchange. Imports no torch.

A pool of several devices is measured one after the other, each with a whole schedule of its own; the others sleep
meanwhile. Every device draws the same batches from the same start, so that they differ in nothing but themselves.
"""

from typing import Literal

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.crewjob import CrewJob, JobSetup, Tally, start_line, worker_task
from pytest_mixgpu.jobs.roundlines import own_line
from pytest_mixgpu.jobs.words import Opened, OwnRound, RunRound
from pytest_mixgpu.records.model import Evaluation, RoundLine, Start


class SoloJob(CrewJob):
    """One participant at a time.

    Args:
        setup: what the job is made from.

    Raises:
        PlanError: the round is shared out.
    """

    def __init__(self, setup: JobSetup) -> None:
        shares = setup.header.settings.shares
        if len(shares) != 1:
            raise PlanError(f"a run without an exchange has one share, the whole round; settings.shares is {shares}")
        super().__init__(setup)
        self._share = shares[0]
        self._present = 0
        self.num_rounds = setup.num_rounds * len(setup.header.pool)

    def start(self) -> Start:
        """Start a worker on every device; each takes its first step."""
        setup = self._setup
        tasks = [
            worker_task(
                setup,
                "pytest_mixgpu.jobs.soloworker:train_alone",
                index=index,
                num_participants=1,
                steps_a_round=self._share,
            )
            for index in range(len(setup.header.pool))
        ]
        talk = self._assemble(tasks)
        return start_line(setup, [talk.hear(task.name, Opened) for task in tasks])

    def run_round(self, index: int) -> RoundLine:
        """Run a whole round on the device whose turn it is."""
        participant, turn = divmod(index, self._setup.num_rounds)
        if participant != self._present:
            self._present, self._tally = participant, Tally()
        self._running.tell(self._worker, RunRound(index=index, steps=(self._share,)))
        word = self._running.hear(self._worker, OwnRound)
        warmup = turn < self._setup.header.settings.warmup_rounds
        line = own_line([word], index=index, warmup=warmup, participants=[participant])
        self._tally.add(line)
        return line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Score the model of the device whose round was the last."""
        return self._score(self._worker, split)

    @property
    def _worker(self) -> str:
        return f"participant-{self._present}"
