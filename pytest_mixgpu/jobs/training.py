"""Local training: from a recipe and a device to steps taken. Runs inside a worker; imports torch when used.

The same code serves the averaging job, the solo baseline and the reference, so that what they compute is equal.
"""

import copy
import math
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.build import NUMBER_FORMATS, open_workload
from pytest_mixgpu.jobs.workloads.recipe import Recipe
from pytest_mixgpu.timing.clocks import clock_for

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager

    import torch

_SEED_STRIDE = 10_007
"""Keeps the random numbers of participants apart (dropout), the same ones in every run of a seed."""


class TrainingTask(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a worker trains; travels to it as plain JSON."""

    recipe: Recipe
    data_root: str | None
    device: str
    """Torch's name of the device inside the worker."""
    seed: int
    participant: int
    num_participants: int
    """Over how many each epoch is dealt out."""
    batch_size: int
    total_steps: int
    """Local steps of the whole run: the length of the learning-rate schedule."""
    number_format: str


class Steps(msgspec.Struct, frozen=True, kw_only=True):
    """What a stretch of steps came to."""

    samples: int
    losses: "torch.Tensor"
    """One a step, still on the device: reading them is left for after the round."""

    def mean_loss(self) -> float | None:
        """Mean over the steps; None where it is not finite."""
        mean = float(self.losses.mean())
        return mean if math.isfinite(mean) else None


class Trainer:
    """A model with its data and optimizer on one device.

    Args:
        task: what is trained.
        wrap: applied to the model for training, for example DistributedDataParallel.
    """

    def __init__(
        self, task: TrainingTask, *, wrap: "Callable[[torch.nn.Module], torch.nn.Module]" = lambda model: model
    ) -> None:
        import torch

        self.task = task
        self.clock = clock_for(task.device)
        check_number_format(task.number_format)
        compute_in_float32()
        self.workload = open_workload(task.recipe, data_root=Path(task.data_root) if task.data_root else None)
        self.model = self.workload.make_model(task.seed).to(torch.device(task.device))
        self._wrapped = wrap(self.model)
        self._begin()

    @property
    def num_parameters(self) -> int:
        """Trained values of the model."""
        return sum(parameter.numel() for parameter in self.model.parameters())

    def take_first_step(self, alive: "Callable[[], None]" = lambda: None) -> None:
        """Take one step and undo it, so that whatever is only done once is not done in a round."""
        import torch

        before = copy.deepcopy(self.model.state_dict())
        self.run_steps(1, alive)
        self.clock.now_s()
        with torch.no_grad():
            self.model.load_state_dict(before)
        self._begin()

    def run_steps(
        self,
        num_steps: int,
        alive: "Callable[[], None]" = lambda: None,
        before_backward: "Callable[[], None]" = lambda: None,
    ) -> Steps:
        """Take steps on the next batches of this participant's share.

        Args:
            num_steps: how many.
            alive: called before each, and before the first batch is read.
            before_backward: called before each backward pass, in which a wrapped model may wait for others.
        """
        import torch

        losses = torch.zeros(num_steps, device=self.task.device)
        samples = 0
        alive()
        for index, (x, y) in enumerate(self._batches.take(num_steps)):
            alive()
            self._optimizer.zero_grad(set_to_none=True)
            loss = self.workload.loss(self._wrapped, x, y, number_format=self.task.number_format)
            before_backward()
            loss.backward()  # type: ignore[no-untyped-call]
            self._optimizer.step()
            self._scheduler.step()
            losses[index] = loss.detach()
            samples += len(y)
        return Steps(samples=samples, losses=losses)

    def join_uneven(self) -> "AbstractContextManager[object]":
        """For a wrapped model: the context in which participants may take different numbers of steps."""
        context: AbstractContextManager[object] = self._wrapped.join()  # type: ignore[operator]
        return context

    def _begin(self) -> None:
        import torch

        task = self.task
        self.model.zero_grad(set_to_none=True)
        self._optimizer, self._scheduler = self.workload.make_optimizer(self.model, task.total_steps)
        self._batches = self.workload.batches(
            seed=task.seed,
            participant=task.participant,
            num_participants=task.num_participants,
            batch_size=task.batch_size,
            device=task.device,
        )
        torch.manual_seed(task.seed * _SEED_STRIDE + task.participant)
        self._wrapped.train()


def compute_in_float32() -> None:
    """Make float32 mean float32: torch lets convolutions on a GPU round to TF32 unless told otherwise."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False


def check_number_format(number_format: str) -> None:
    """Refuse a format that is not known.

    Raises:
        PlanError: it is not.
    """
    if number_format not in NUMBER_FORMATS:
        raise PlanError(
            f"settings.number_format is {number_format!r}; known are {', '.join(NUMBER_FORMATS)} "
            "(bfloat16 is autocast: weights and updates stay float32)"
        )
