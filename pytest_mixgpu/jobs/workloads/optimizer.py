"""The optimizer of a recipe: from a model and a number of steps to AdamW and its schedule. torch inside functions."""

from math import cos, pi
from typing import TYPE_CHECKING

from pytest_mixgpu.jobs.workloads.model import Optimizer

if TYPE_CHECKING:
    import torch
    from torch.optim.lr_scheduler import LambdaLR


def make_optimizer(
    model: "torch.nn.Module", settings: Optimizer, *, total_steps: int, head: tuple[str, ...] = ()
) -> tuple["torch.optim.Optimizer", "LambdaLR"]:
    """Build AdamW (fused: one kernel for all parameters) and its schedule.

    Args:
        model: its parameters must be on their device already.
        settings: of the recipe.
        total_steps: steps of one participant until the end of the run, warm-up rounds included.
        head: parameters that learn at `head_factor` times the rate.
    """
    import torch
    from torch.optim.lr_scheduler import LambdaLR

    groups: dict[tuple[float, float], list[torch.nn.Parameter]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            factor = settings.head_factor if name in head else 1.0
            # Biases and scales of normalisation are not decayed, as is usual for these networks.
            decay = settings.weight_decay if parameter.ndim > 1 else 0.0
            groups.setdefault((factor, decay), []).append(parameter)
    optimizer = torch.optim.AdamW(
        [
            {"params": parameters, "lr": settings.learning_rate * factor, "weight_decay": decay}
            for (factor, decay), parameters in groups.items()
        ],
        betas=settings.betas,
        fused=True,
    )
    if settings.clip_norm is not None:
        clip_norm, clipped = settings.clip_norm, [parameter for group in groups.values() for parameter in group]

        def clip(*_: object) -> None:
            torch.nn.utils.clip_grad_norm_(clipped, clip_norm)

        optimizer.register_step_pre_hook(clip)
    return optimizer, LambdaLR(optimizer, lambda step: rate(step, total_steps, settings))


def rate(step: int, total_steps: int, settings: Optimizer) -> float:
    """Return the learning rate of a step as a share of the highest: a line up, a cosine down to the final share."""
    num_warmup = min(round(settings.warmup_share * total_steps), total_steps - 1)
    if step < num_warmup:
        return (step + 1) / (num_warmup + 1)
    progress = min(1.0, (step - num_warmup) / (total_steps - num_warmup))
    return settings.final_share + (1 - settings.final_share) * (1 + cos(pi * progress)) / 2
