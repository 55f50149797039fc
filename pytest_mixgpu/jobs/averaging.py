"""The averaging job: local steps on every participant, a sample-weighted mean at a coordinator, round by round.

Serves fleet, controls, mixed runs and the baseline with an exchange. Runs in the supervisor; imports no torch.
"""

from typing import Literal

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.crewjob import CrewJob, JobSetup, coordinator_task, new_token, start_line, worker_task
from pytest_mixgpu.jobs.roundlines import star_line
from pytest_mixgpu.jobs.words import Connect, Listening, Opened, RunRound, StarRound
from pytest_mixgpu.records.model import Evaluation, RoundLine, Start

PAYLOADS = ("float32",)
_COORDINATOR = "coordinator"


class AveragingJob(CrewJob):
    """Local SGD with a star exchange.

    Args:
        setup: what the job is made from.

    Raises:
        PlanError: shares do not fit the pool, or the payload is not known.
    """

    def __init__(self, setup: JobSetup) -> None:
        settings, pool = setup.header.settings, setup.header.pool
        if settings.payload not in PAYLOADS:
            raise PlanError(
                f"settings.payload is {settings.payload!r}; the star exchange knows {', '.join(PAYLOADS)} so far"
            )
        if len(settings.shares) != len(pool):
            raise PlanError(
                f"settings.shares names {len(settings.shares)} participants, the pool has {len(pool)} devices"
            )
        super().__init__(setup)
        self._update_bytes = 0
        self.num_rounds = setup.num_rounds

    def start(self) -> Start:
        """Start coordinator and participants, join them, and measure their links."""
        setup, shares = self._setup, self._setup.header.settings.shares
        token = new_token()
        names = [f"participant-{index}" for index in range(len(shares))]
        tasks = [
            coordinator_task(setup, "pytest_mixgpu.jobs.coordinator:coordinate", token=token),
            *(
                worker_task(
                    setup,
                    "pytest_mixgpu.jobs.participant:participate",
                    index=index,
                    num_participants=len(shares),
                    steps_a_round=share,
                    token=token,
                )
                for index, share in enumerate(shares)
            ),
        ]
        talk = self._assemble(tasks)
        address = talk.hear(_COORDINATOR, Listening)
        for name in names:
            talk.tell(name, Connect(host=address.host, port=address.port))
        opened = [talk.hear(name, Opened) for name in names]
        coordinator = talk.hear(_COORDINATOR, Opened)
        self._update_bytes = coordinator.update_bytes
        return start_line(setup, [*opened, coordinator], links=coordinator.links)

    def run_round(self, index: int) -> RoundLine:
        """Let the coordinator run one round."""
        settings = self._setup.header.settings
        self._running.tell(_COORDINATOR, RunRound(index=index, steps=settings.shares))
        line = star_line(
            self._running.hear(_COORDINATOR, StarRound),
            index=index,
            warmup=index < settings.warmup_rounds,
            update_bytes=self._update_bytes,
        )
        self._tally.add(line)
        return line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Score: validation by the first participant on its device, test by the coordinator on the declared one."""
        return self._score(_COORDINATOR, split)
