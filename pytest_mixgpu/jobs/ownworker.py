"""Inside a worker of a user's own job: from the supervisor's words to calls of the user's functions, timed.

Imports torch only where the user asks for its process group, and where it is loaded already.
"""

from __future__ import annotations

import contextlib
import importlib
import math
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NoReturn

import msgspec

from pytest_mixgpu.devices.hosts import host_address
from pytest_mixgpu.jobs.cputime import CpuMeter
from pytest_mixgpu.jobs.facts import Asked, worker_facts
from pytest_mixgpu.jobs.instruments import Instruments
from pytest_mixgpu.jobs.messages import Scale, Scored
from pytest_mixgpu.jobs.wire import WireError
from pytest_mixgpu.jobs.words import (
    Connect,
    Listening,
    Opened,
    OwnRound,
    RunRound,
    Score,
    Scores,
    any_word,
    to_message,
    to_word,
)
from pytest_mixgpu.records.bits import encode_bits
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.timing.clocks import clock_for
from pytest_mixgpu.timing.model import ParticipantStamps

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    import torch

    from pytest_mixgpu.launch.protocol import Channel, Message


class OwnPayload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker of a user's own job is started with."""

    name: str
    asked: Asked
    work: str
    recipe: dict[str, object]
    data_root: str | None
    folder: str | None
    device: str
    device_id: str
    seed: int
    rank: int
    world_size: int
    shares: tuple[int, ...]
    batch_size: int
    number_format: str
    exchange: str
    num_rounds: int
    num_warmup_rounds: int
    scale: Scale
    bind: str


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """What your `run_round` returns."""

    samples: int
    """Training samples that this worker processed: as many as its steps and batches have, or the run fails."""
    train_loss: float | None = None
    """Mean over the local steps."""


class Answers(msgspec.Struct, frozen=True, kw_only=True):
    """What your `score` returns."""

    correct: Sequence[bool]
    """Right or wrong, of each sample of the split in its order. Counted here, and kept for the test split."""
    weights_digest: str
    """Of the weights that were scored: `context.weights_digest(model)`."""
    loss: float | None = None


class OwnRoundContext:
    """One round, as your `run_round` is given it. `enter`, `phase` and `moving` cost nothing without instruments."""

    def __init__(self, channel: Channel, word: RunRound, task: OwnPayload, instruments: Instruments) -> None:
        self._channel = channel
        self.index = word.index
        """Counts from 0, warm-ups included."""
        self.steps = word.steps[task.rank]
        """Optimizer steps that this worker is to take."""
        self.instrumented = word.instrumented
        """Whether phases are told apart in this round, at a cost."""
        self.enter = instruments.enter
        self.phase = instruments.phase
        self.moving = instruments.moving

    def alive(self, *, waiting: bool = False) -> None:
        """Show that this worker goes on: to be said at each step, or it is held to hang.

        Args:
            waiting: what comes now waits for others: in a hang they are looked at first.
        """
        self._channel.status(phase="collective" if waiting else "compute", round_index=self.index)


class WorkContext:
    """What your worker function is given: who it is, where it computes, and how it talks to its supervisor."""

    def __init__(self, channel: Channel, task: OwnPayload) -> None:
        self._channel = channel
        self._task = task
        self._spawned_s = task.asked.age_s()
        self._has_listened = self._has_opened = False
        self.rank, self.world_size = task.rank, task.world_size
        self.device = task.device
        """Torch's name of the device, inside this worker: `cpu`, `cuda:0`."""
        self.seed = task.seed
        self.batch_size, self.number_format = task.batch_size, task.number_format
        self.exchange = task.exchange
        """As the plan says it; `none` in a baseline, whose worker is alone."""
        self.num_rounds = task.num_rounds
        """Rounds of the schedule, warm-ups included."""
        self.total_steps = task.num_rounds * task.shares[task.rank]
        """Local steps of the schedule: the length of a learning-rate schedule."""
        self.recipe: Mapping[str, object] = task.recipe
        """The table `[own]` of the workload's recipe."""
        self.data_root = None if task.data_root is None else Path(task.data_root)
        self.folder = None if task.folder is None else Path(task.folder)
        """The suite's folder."""
        self.scale = task.scale
        """The declared device, format and threads of every score."""

    def alive(self, phase: str = "open") -> None:
        """Show that this worker goes on while it opens its data and model."""
        self._channel.status(phase=phase)

    def rendezvous(self, listen: Callable[[], tuple[str, int]]) -> tuple[str, int]:
        """Meet the other workers: the first one listens, all learn where. To be called by all, before `opened`.

        Args:
            listen: called in the first worker only; opens a port and returns the address that others can reach.

        Raises:
            RuntimeError: the first worker never listened.
        """
        if self.rank == 0:
            host, port = listen()
            self._has_listened = True
            self._channel.send(to_message(Listening(host=host, port=port)))
            return host, port
        self._channel.status(phase="idle")
        address = to_word(self._channel.receive(), Connect)
        self._has_listened = True
        if not address.port:
            raise RuntimeError("the first worker opened without calling rendezvous(): either all meet, or none")
        return address.host, address.port

    def join_torch(self, backend: str = "") -> None:
        """Make torch's default process group of all workers.

        Args:
            backend: empty is gloo on CPU cores and NCCL (or RCCL) on GPUs.
        """
        import torch.distributed as dist
        from torch.distributed import TCPStore  # type: ignore[attr-defined]

        made: list[TCPStore] = []

        def listen() -> tuple[str, int]:
            host = self._task.bind or host_address()
            # The store is up before anybody is told where; its port is the kernel's choice.
            made.append(TCPStore(host, 0, self.world_size, is_master=True, wait_for_workers=False))
            return host, made[0].port

        host, port = self.rendezvous(listen)
        store = made[0] if made else TCPStore(host, port, self.world_size, is_master=False)
        self._channel.status(phase="join")
        backend = backend or ("gloo" if self.device == "cpu" else "nccl")
        dist.init_process_group(backend, store=store, rank=self.rank, world_size=self.world_size)

    def opened(
        self, *, data_digest: str, data_counts: Mapping[str, int], num_parameters: int, update_bytes: int = 0
    ) -> None:
        """Say that this worker is ready: data is open, and whatever is done only once is done.

        Args:
            data_digest: SHA-256 of the data that trains and scores; the same in all workers.
            data_counts: samples of each split; `train` and `test` at least.
            num_parameters: trained values of the model.
            update_bytes: what one update has on the wire; 0 is not stated.
        """
        if self.rank == 0 and not self._has_listened:
            self._channel.send(to_message(Listening(host="", port=0)))
        self._has_opened = True
        facts = worker_facts(
            self._task.name,
            device_id=self._task.device_id,
            spawned_s=self._spawned_s,
            first_step_s=self._task.asked.age_s(),
            code=self._task.asked.code,
        )
        opened = Opened(
            facts=facts,
            host_facts=self._task.asked.other_host_facts(self._task.device_id),
            data_digest=data_digest,
            data_counts=dict(data_counts),
            num_parameters=num_parameters,
            update_bytes=update_bytes,
        )
        self._channel.send(to_message(opened))

    def serve(
        self,
        run_round: Callable[[OwnRoundContext], Done],
        score: Callable[[Literal["validation", "test"]], Answers],
        *,
        barrier: Callable[[], object] | None = None,
    ) -> NoReturn:
        """Do as the supervisor says until it ends this process. To be called last, after `opened`.

        Args:
            run_round: runs one round of fixed work.
            score: scores the present model on a split, with what `scale` declares.
            barrier: waits for all workers; called before the clock of a round starts and before it stops, so that all
                workers' rounds are one. Without it a round is as long as its longest worker says.
        """
        if not self._has_opened:
            raise RuntimeError("serve() was called before opened(): the supervisor does not know yet what there is")
        if self.rank and not self._has_listened:
            # Nobody met: the address that was sent all the same is no order.
            to_word(self._channel.receive(), Connect)
        while True:
            word = any_word(self._channel.receive())
            if isinstance(word, RunRound):
                self._channel.send(to_message(self._round(word, run_round, barrier)))
            elif isinstance(word, Score):
                self._channel.send(to_message(self._scores(word, score)))
            else:
                raise WireError(f"the supervisor sent `{type(word).__name__}` out of turn")

    def weights_digest(self, model: torch.nn.Module) -> str:
        """Return the SHA-256 of a model's weights."""
        from pytest_mixgpu.jobs.workloads.evaluate import weights_digest

        return weights_digest(model)

    def _round(
        self, word: RunRound, run_round: Callable[[OwnRoundContext], Done], barrier: Callable[[], object] | None
    ) -> OwnRound:
        clock = clock_for(self.device)
        self._wait(barrier, word.index)
        started_at, cpu = utc_now(), CpuMeter(self.device)
        start_s = clock.now_s()
        instruments = Instruments(clock, on=word.instrumented)
        this = OwnRoundContext(self._channel, word, self._task, instruments)
        this.alive()
        done = run_round(this)
        end_s = clock.now_s() - start_s
        # Where workers exchange meanwhile they wait for each other as well: a lack of CPU time shows nothing then.
        compute_cpu_s = cpu.used_s() if self.exchange == "none" else None
        self._wait(barrier, word.index)
        close_s = clock.now_s() - start_s
        if not isinstance(done, Done):
            raise TypeError(f"run_round() returned a {type(done).__name__}, expected `Done`")
        loss = done.train_loss
        return OwnRound(
            started_at=started_at,
            stamps=ParticipantStamps(compute_end_s=end_s, close_s=close_s),
            samples=done.samples,
            train_loss=loss if loss is not None and math.isfinite(loss) else None,
            compute_cpu_s=compute_cpu_s,
            segments=instruments.segments(end_s=end_s, close_s=close_s),
            communication_s=instruments.communication_s(end_s=end_s),
        )

    def _wait(self, barrier: Callable[[], object] | None, index: int) -> None:
        if barrier is not None:
            self._channel.status(phase="wait", round_index=index)
            barrier()

    def _scores(self, word: Score, score: Callable[[Literal["validation", "test"]], Answers]) -> Scores:
        self._channel.status(phase="evaluate", round_index=word.after_round)
        start_s = time.perf_counter()
        with _threads(self.scale.num_threads) as num_threads:
            answers = score(word.split)
        if not isinstance(answers, Answers):
            raise TypeError(f"score() returned a {type(answers).__name__}, expected `Answers`")
        correct = [bool(one) for one in answers.correct]
        loss = answers.loss
        scored = Scored(
            num_correct=sum(correct),
            num_total=len(correct),
            loss=loss if loss is not None and math.isfinite(loss) else None,
            correct_bits=encode_bits(correct) if word.split == "test" else "",
            duration_s=time.perf_counter() - start_s,
            weights_digest=answers.weights_digest,
            num_threads=num_threads,
        )
        return Scores(scored=scored, scale=self.scale)


@contextlib.contextmanager
def _threads(wanted: int) -> Iterator[int]:
    """Let torch, where it is loaded, use so many threads for a while."""
    if "torch" not in sys.modules:
        yield wanted
        return
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(wanted)
    try:
        yield torch.get_num_threads()
    finally:
        torch.set_num_threads(before)


def serve(channel: Channel, payload: Message) -> None:
    """Entry of the worker: call the user's function.

    Raises:
        RuntimeError: it returned, though nobody said that the run is over.
    """
    task = msgspec.convert(payload, OwnPayload)
    context = WorkContext(channel, task)
    channel.status(phase="open")
    module, _, function = task.work.partition(":")
    getattr(importlib.import_module(module), function)(context)
    raise RuntimeError(f"{task.work} returned: it has to call context.serve(…) last, which does not return")
