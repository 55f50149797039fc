"""A training job of your own, in few lines: workers run your function on each device, supervised, round by round.

The factory that `--mixgpu-job=module:factory` or `job` in the plan names takes a `JobSetup` and returns a `Job`. With
`crew_job` it is one line:

    def job(setup):
        return crew_job(setup, "my_training:work", instrumented_rounds=1)

and `my_training.work` is called in a worker on each device with a `WorkContext`:

    def work(context):
        context.join_torch()
        ...  # open data, make a model, take a first step
        context.opened(data_digest=..., data_counts={"train": 900, "test": 300}, num_parameters=...)
        context.serve(run_round, score, barrier=torch.distributed.barrier)

A baseline's worker is alone (`exchange` is `none`); its devices work one after the other. What such a job says of
itself is `self-reported`: the plugin takes the times, and believes the rest. Imports no torch.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.jobs.crewjob import CrewJob, JobSetup, Tally, start_line
from pytest_mixgpu.jobs.facts import Asked
from pytest_mixgpu.jobs.ownworker import Answers, Done, OwnPayload, OwnRoundContext, WorkContext
from pytest_mixgpu.jobs.roundlines import own_line
from pytest_mixgpu.jobs.words import Connect, Listening, Opened, OwnRound, RunRound
from pytest_mixgpu.jobs.workloads.recipe import OwnRecipe
from pytest_mixgpu.launch.protocol import Task

if TYPE_CHECKING:
    from collections.abc import Callable

    import msgspec

    from pytest_mixgpu.records.model import Evaluation, RoundLine, Start

__all__ = ["Answers", "Done", "JobSetup", "OwnJob", "OwnRoundContext", "WorkContext", "crew_job"]


def crew_job(setup: JobSetup, work: str | Callable[[WorkContext], None], *, instrumented_rounds: int = 0) -> OwnJob:
    """Return a job whose workers run your function.

    Args:
        setup: as the factory was given it.
        work: the function, or `module:function`, which spares the supervisor the import.
        instrumented_rounds: so many rounds are run after the last score with instruments that cost time, to tell phases
            apart and exposed from total communication; their slowdown is printed, and no mark is judged by them.
    """
    return OwnJob(setup, work, instrumented_rounds=instrumented_rounds)


class OwnJob(CrewJob):
    """Your function in a worker on each device; arguments as `crew_job`.

    Raises:
        ValueError: the function cannot be found by its name in a worker.
    """

    def __init__(
        self, setup: JobSetup, work: str | Callable[[WorkContext], None], *, instrumented_rounds: int = 0
    ) -> None:
        super().__init__(setup)
        self._work = work if isinstance(work, str) else f"{work.__module__}:{work.__qualname__}"
        if self._work.count(":") != 1 or "<" in self._work:
            raise ValueError(f"work {self._work!r} is no module:function, which a worker could import")
        self._is_solo = setup.header.settings.exchange == "none"
        self._names = [f"participant-{index}" for index in range(len(setup.header.pool))]
        self._present = 0
        self.num_rounds = setup.num_rounds * (len(self._names) if self._is_solo else 1)
        # One device alone exchanges nothing: there is nothing to tell apart.
        self.num_instrumented_rounds = 0 if self._is_solo else instrumented_rounds

    def start(self) -> Start:
        """Start the workers, let them meet, and hear what they opened."""
        talk = self._assemble([self._task(index) for index in range(len(self._names))])
        # The first of each group says where it listens, or that it does not.
        for leader, others in self._groups():
            address = talk.hear(leader, Listening)
            for name in others:
                talk.tell(name, Connect(host=address.host, port=address.port))
        opened = [talk.hear(name, Opened) for name in self._names]
        if not any(word.data_digest for word in opened):
            raise RunFailedError("no worker gave a digest of its data (`opened`)", worker=self._names[0], phase="open")
        return start_line(self._setup, opened)

    def run_round(self, index: int) -> RoundLine:
        """Let the workers whose turn it is run a round."""
        settings, names = self._setup.header.settings, self._names
        participants = list(range(len(names)))
        turn, place = divmod(index, self._setup.num_rounds)
        if self._is_solo:
            if turn != self._present:
                self._present, self._tally = turn, Tally()
            participants = [turn]
        instrumented = index >= self.num_rounds
        order = RunRound(index=index, steps=settings.shares, instrumented=instrumented)
        for number in participants:
            self._running.tell(names[number], order)
        words = [self._running.hear(names[number], OwnRound) for number in participants]
        warmup = place < settings.warmup_rounds and not instrumented
        line = own_line(words, index=index, warmup=warmup, participants=participants, instrumented=instrumented)
        if not instrumented:
            self._tally.add(line)
        return line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Let the first worker score, or the one whose turn it was: all others hold the same weights."""
        return self._score(self._names[self._present], split)

    def _groups(self) -> list[tuple[str, list[str]]]:
        if self._is_solo:
            return [(name, []) for name in self._names]
        return [(self._names[0], self._names[1:])]

    def _task(self, index: int) -> Task:
        setup, settings = self._setup, self._setup.header.settings
        devices = setup.header.pool.devices
        device = devices[index]
        recipe = setup.recipe
        payload = OwnPayload(
            name=self._names[index],
            asked=Asked.now(code=setup.code),
            work=self._work,
            recipe=recipe.own if isinstance(recipe, OwnRecipe) else recipe.as_dict(),
            data_root=None if setup.data_root is None else str(setup.data_root.absolute()),
            folder=None if setup.folder is None else str(setup.folder.absolute()),
            device=device.torch_device,
            device_id=device.id,
            seed=setup.header.seed,
            rank=0 if self._is_solo else index,
            world_size=1 if self._is_solo else len(devices),
            shares=settings.shares,
            batch_size=settings.batch_size,
            number_format=settings.number_format,
            exchange=settings.exchange,
            num_rounds=setup.num_rounds,
            num_warmup_rounds=settings.warmup_rounds,
            scale=setup.scale,
            bind=setup.bind,
        )
        return Task(
            name=self._names[index],
            entry="pytest_mixgpu.jobs.ownworker:serve",
            payload=_plain(payload),
            device=device,
            cores=(device.ordinal,) if device.vendor == "cpu" else (),
            num_threads=settings.num_threads,
        )


def _plain(payload: msgspec.Struct) -> dict[str, object]:
    import msgspec

    plain: dict[str, object] = msgspec.to_builtins(payload)
    return plain
