"""The reference: what the usual tool, plain DistributedDataParallel, does on the same pool. Imports no torch.

It decides nothing and stands beside the fleet: same code, data, batch size and shares, gradients averaged each step.
"""

from typing import Literal

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.crewjob import CrewJob, JobSetup, start_line, worker_task
from pytest_mixgpu.jobs.roundlines import own_line
from pytest_mixgpu.jobs.words import Connect, Listening, Opened, OwnRound, RunRound
from pytest_mixgpu.records.model import Evaluation, RoundLine, Start

_FIRST = "participant-0"


class ReferenceJob(CrewJob):
    """DistributedDataParallel over gloo or NCCL.

    Args:
        setup: what the job is made from.

    Raises:
        PlanError: shares do not fit the pool, or the pool mixes vendors, which have no collectives in common.
    """

    def __init__(self, setup: JobSetup) -> None:
        shares, pool = setup.header.settings.shares, setup.header.pool
        if len(shares) != len(pool):
            raise PlanError(f"settings.shares names {len(shares)} participants, the pool has {len(pool)} devices")
        vendors = sorted({device.vendor for device in pool.devices})
        if len(vendors) > 1:
            raise PlanError(
                f"a reference run needs one vendor, the pool {pool.spec} has {', '.join(vendors)}: "
                "DistributedDataParallel has no collectives between them"
            )
        super().__init__(setup)
        self._names = [f"participant-{index}" for index in range(len(pool))]
        self.num_rounds = setup.num_rounds

    def start(self) -> Start:
        """Start all ranks and let them form their group."""
        setup, shares = self._setup, self._setup.header.settings.shares
        tasks = [
            worker_task(
                setup,
                "pytest_mixgpu.jobs.referenceworker:train_in_group",
                index=index,
                num_participants=len(shares),
                steps_a_round=share,
            )
            for index, share in enumerate(shares)
        ]
        talk = self._assemble(tasks)
        address = talk.hear(_FIRST, Listening)
        for name in self._names[1:]:
            talk.tell(name, Connect(host=address.host, port=address.port))
        return start_line(setup, [talk.hear(name, Opened) for name in self._names])

    def run_round(self, index: int) -> RoundLine:
        """Let all ranks take their steps."""
        settings = self._setup.header.settings
        for name in self._names:
            self._running.tell(name, RunRound(index=index, steps=settings.shares))
        words = [self._running.hear(name, OwnRound) for name in self._names]
        line = own_line(words, index=index, warmup=index < settings.warmup_rounds, participants=range(len(self._names)))
        self._tally.add(line)
        return line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Let the first rank score: all hold the same weights."""
        return self._score(_FIRST, split)
