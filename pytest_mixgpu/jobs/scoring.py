"""Scoring inside a worker: from a model and a split to what the record's evaluation needs. Imports torch when used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mixgpu.jobs.messages import Scale, Scored
from pytest_mixgpu.jobs.workloads.evaluate import score, weights_digest

if TYPE_CHECKING:
    from collections.abc import Callable

    import torch

    from pytest_mixgpu.jobs.training import Trainer
    from pytest_mixgpu.jobs.workloads.build import OpenWorkload
    from pytest_mixgpu.jobs.workloads.sources.protocol import Split


def own_scale(trainer: Trainer) -> Scale:
    """The device, format and threads that a participant trains with."""
    import torch

    return Scale(
        device=trainer.task.device, number_format=trainer.task.number_format, num_threads=torch.get_num_threads()
    )


def score_model(
    model: torch.nn.Module, workload: OpenWorkload, split: Split, scale: Scale, *, alive: Callable[[], None]
) -> Scored:
    """Score a model on a split; `alive` is called before each batch."""
    # A hook, since the evaluator itself is frozen code that knows nothing of supervision.
    hook = model.register_forward_pre_hook(lambda _module, _inputs: alive())
    try:
        result = score(
            model,
            workload,
            split,
            device=scale.device,
            number_format=scale.number_format,
            num_threads=scale.num_threads,
        )
    finally:
        hook.remove()
    return Scored(
        num_correct=result.num_correct,
        num_total=result.num_total,
        loss=result.loss,
        correct_bits=result.correct_bits_hex if split == "test" else "",
        duration_s=result.duration_s,
        weights_digest=weights_digest(model),
    )
