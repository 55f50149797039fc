"""Scoring inside a worker: from a model and a split to what the record's evaluation needs. Imports torch when used."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pytest_mixgpu.jobs.cores import room_for
from pytest_mixgpu.jobs.messages import Scale, Scored
from pytest_mixgpu.jobs.words import Scoring
from pytest_mixgpu.jobs.workloads.evaluate import score, weights_digest

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    import torch

    from pytest_mixgpu.jobs.training import Trainer
    from pytest_mixgpu.jobs.workloads.build import OpenWorkload
    from pytest_mixgpu.jobs.workloads.sources.protocol import Split

SAY_EVERY_S = 5.0
"""A word each few seconds is enough for a person, and costs no batch anything."""


def own_scale(trainer: Trainer) -> Scale:
    """The device, format and threads that a participant trains with."""
    import torch

    return Scale(
        device=trainer.task.device, number_format=trainer.task.number_format, num_threads=torch.get_num_threads()
    )


def score_model(  # noqa: PLR0913 - what is scored, with what, and who hears of it
    model: torch.nn.Module,
    workload: OpenWorkload,
    split: Split,
    scale: Scale,
    *,
    alive: Callable[[], None],
    say: Callable[[Scoring], None],
    cores: Collection[int] = (),
    say_every_s: float = SAY_EVERY_S,
) -> Scored:
    """Score a model on a split.

    Args:
        model: what is scored.
        workload: whose samples.
        split: which of them.
        scale: with what.
        alive: called before each batch.
        say: told now and then how far it is.
        cores: what may be used beside this process's own, if more threads are declared than it has cores.
        say_every_s: how often at most.
    """
    import torch

    num_total, num_done = workload.counts[split], 0
    num_threads, said_s = scale.num_threads, time.perf_counter()
    with room_for(scale.num_threads, cores) as num_cores:

        def before_batch(_module: torch.nn.Module, inputs: tuple[torch.Tensor, ...]) -> None:
            nonlocal num_done, num_threads, said_s
            alive()
            num_threads, now_s = torch.get_num_threads(), time.perf_counter()
            if num_done and now_s - said_s >= say_every_s:
                said_s = now_s
                say(Scoring(num_done=num_done, num_total=num_total, num_threads=num_threads, num_cores=num_cores))
            num_done += len(inputs[0])

        # A hook, since the evaluator itself is frozen code that knows nothing of supervision.
        hook = model.register_forward_pre_hook(before_batch)
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
        num_threads=num_threads,
    )
