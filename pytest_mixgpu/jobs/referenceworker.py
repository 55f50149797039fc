"""A rank of the reference: plain DistributedDataParallel. Runs inside a worker; imports torch when used.

Gradients are averaged inside the steps, so communication lies within `compute`; only the wait for the slowest at the
end of a round stands apart.
"""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, NoReturn

import msgspec

from pytest_mixgpu.devices.hosts import host_address
from pytest_mixgpu.jobs.cputime import CpuMeter
from pytest_mixgpu.jobs.opening import describe, open_trainer
from pytest_mixgpu.jobs.soloworker import score_here
from pytest_mixgpu.jobs.wire import WireError
from pytest_mixgpu.jobs.words import (
    Connect,
    Listening,
    OwnRound,
    RunRound,
    Score,
    WorkerPayload,
    any_word,
    to_message,
    to_word,
)
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.timing.model import ParticipantStamps

if TYPE_CHECKING:
    import torch

    from pytest_mixgpu.jobs.training import Trainer
    from pytest_mixgpu.launch.protocol import Channel, Message


def train_in_group(channel: Channel, payload: Message) -> NoReturn:
    """Entry of the worker: join the group, open, then do as the supervisor says until it ends this process."""
    task = msgspec.convert(payload, WorkerPayload)
    spawned_s = task.asked.age_s()
    _join_group(channel, task)
    trainer = open_trainer(channel, task, wrap=lambda model: _distributed(model, task.training.device))
    opened = describe(task, trainer, spawned_s=spawned_s, first_step_s=task.asked.age_s())
    channel.send(to_message(opened))
    while True:
        word = any_word(channel.receive())
        if isinstance(word, RunRound):
            channel.send(to_message(_run_round(channel, trainer, word, rank=task.training.participant)))
        elif isinstance(word, Score):
            channel.send(to_message(score_here(channel, trainer, word, task)))
        else:
            raise WireError(f"the supervisor sent `{type(word).__name__}` out of turn")


def _join_group(channel: Channel, task: WorkerPayload) -> None:
    import torch.distributed as dist
    from torch.distributed import TCPStore  # type: ignore[attr-defined]

    rank, world_size = task.training.participant, task.training.num_participants
    channel.status(phase="idle")
    if rank == 0:
        host = task.bind or host_address()
        # The store is up before anybody is told where; its port is the kernel's choice.
        store = TCPStore(host, 0, world_size, is_master=True, wait_for_workers=False)
        channel.send(to_message(Listening(host=host, port=store.port)))
    else:
        address = to_word(channel.receive(), Connect)
        store = TCPStore(address.host, address.port, world_size, is_master=False)
    channel.status(phase="join")
    backend = "gloo" if task.training.device == "cpu" else "nccl"
    dist.init_process_group(backend, store=store, rank=rank, world_size=world_size)


def _distributed(model: torch.nn.Module, device: str) -> torch.nn.Module:
    from torch.nn.parallel import DistributedDataParallel

    return DistributedDataParallel(model, device_ids=None if device == "cpu" else [0])


def _run_round(channel: Channel, trainer: Trainer, word: RunRound, *, rank: int) -> OwnRound:
    import torch.distributed as dist

    def alive() -> None:
        channel.status(phase="compute", round_index=word.index)

    def before_backward() -> None:
        # From here on a rank waits for the slowest: on a hang, one that is still in `compute` is the cause.
        channel.status(phase="collective", round_index=word.index)

    # With unequal shares, ranks that are done must still answer the collectives of the rest.
    uneven = trainer.join_uneven() if len(set(word.steps)) > 1 else contextlib.nullcontext()
    channel.status(phase="wait", round_index=word.index)
    dist.barrier()
    started_at, cpu, start_s = utc_now(), CpuMeter(trainer.task.device), time.perf_counter()
    with uneven:
        steps = trainer.run_steps(word.steps[rank], alive, before_backward)
    compute_end_s = trainer.clock.now_s() - start_s
    compute_cpu_s = cpu.used_s()
    channel.status(phase="wait", round_index=word.index)
    dist.barrier()
    close_s = trainer.clock.now_s() - start_s
    return OwnRound(
        started_at=started_at,
        stamps=ParticipantStamps(compute_end_s=compute_end_s, close_s=close_s),
        samples=steps.samples,
        train_loss=steps.mean_loss(),
        compute_cpu_s=compute_cpu_s,
    )
