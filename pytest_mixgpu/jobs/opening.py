"""The start of a worker: from its payload to an open workload with its first step behind it. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mixgpu.jobs.facts import worker_facts
from pytest_mixgpu.jobs.training import Trainer
from pytest_mixgpu.jobs.words import Opened

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from pytest_mixgpu.jobs.words import WorkerPayload
    from pytest_mixgpu.launch.protocol import Channel


def open_trainer(
    channel: Channel,
    task: WorkerPayload,
    *,
    wrap: Callable[[torch.nn.Module], torch.nn.Module] = lambda model: model,
) -> Trainer:
    """Open data and model, and take the first step where it does not count."""
    channel.status(phase="open")
    trainer = Trainer(task.training, wrap=wrap)
    channel.status(phase="first step")
    trainer.take_first_step(lambda: channel.status(phase="first step"))
    return trainer


def describe(
    task: WorkerPayload,
    trainer: Trainer,
    *,
    spawned_s: float | None,
    first_step_s: float | None,
    update_bytes: int = 0,
) -> Opened:
    """Say what this worker is and what it opened."""
    return Opened(
        facts=worker_facts(
            task.name,
            device_id=task.device_id,
            spawned_s=spawned_s,
            first_step_s=first_step_s,
            code=task.asked.code,
        ),
        host_facts=task.asked.other_host_facts(task.device_id),
        data_digest=trainer.workload.digest if task.takes_digest else "",
        data_counts=trainer.workload.counts,
        num_parameters=trainer.num_parameters,
        update_bytes=update_bytes,
    )
