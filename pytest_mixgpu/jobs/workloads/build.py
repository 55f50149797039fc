"""A workload in a worker: from a recipe to data, models, optimizers and batches. torch only inside functions."""

import hashlib
from collections.abc import Iterator
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads import network, optimizer
from pytest_mixgpu.jobs.workloads.deal import deal
from pytest_mixgpu.jobs.workloads.model import DigitsData, MnistData, NpzData, Recipe
from pytest_mixgpu.jobs.workloads.recipe import check_files, resolve_data_root
from pytest_mixgpu.jobs.workloads.sources.protocol import SPLITS, Opened, Samples, Split

if TYPE_CHECKING:
    import torch
    from torch.optim.lr_scheduler import LambdaLR

    from pytest_mixgpu.jobs.workloads.deal import Numbers
    from pytest_mixgpu.jobs.workloads.sources.protocol import Batch

NUMBER_FORMATS = ("float32", "bfloat16")


class Batches:
    """The training batches of one participant. Made by `OpenWorkload.batches`."""

    def __init__(
        self, samples: Samples, dealt: Iterator[tuple["Numbers", "Numbers"]], *, seed: int, device: "torch.device"
    ) -> None:
        self._samples = samples
        self._dealt = dealt
        self._seed = seed
        self._device = device

    def take(self, num_steps: int) -> Iterator["Batch"]:
        """Yield the batches of the next steps.

        A source may read ahead within these, not beyond them: what a round trains on is read in that round and in no
        time that nobody counts, which would favour whoever has many short rounds.
        """
        return self._samples.stream(islice(self._dealt, num_steps), seed=self._seed, device=self._device)


class OpenWorkload:
    """A recipe whose data is open in this process. Made by `open_workload`."""

    def __init__(self, recipe: Recipe, opened: Opened, root: Path) -> None:
        self.recipe = recipe
        self._opened = opened
        self._root = root

    @property
    def counts(self) -> dict[str, int]:
        """Samples per split."""
        return {split: len(self._opened[split].labels) for split in SPLITS}

    @cached_property
    def digest(self) -> str:
        """SHA-256 over samples and labels of every split and over pretrained weights; taken once, when asked for."""
        manifest = hashlib.sha256()
        for split in SPLITS:
            for line in self._opened[split].manifest():
                manifest.update(f"{split} {line}\n".encode())
        weights = network.weights_path(self.recipe, self._root)
        if weights is not None:
            with weights.open("rb") as file:
                manifest.update(f"weights {hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
        return manifest.hexdigest()

    def samples(self, split: Split) -> Samples:
        """Return one split."""
        return self._opened[split]

    def make_model(self, seed: int) -> "torch.nn.Module":
        """Build the model on the CPU, with the weights that training starts from.

        Equal seeds give equal bits under equal CPU kernels; participants of several kinds must be handed one model.
        """
        return network.make_model(self.recipe, seed, self._root)

    def make_optimizer(self, model: "torch.nn.Module", total_steps: int) -> tuple["torch.optim.Optimizer", "LambdaLR"]:
        """Build optimizer and schedule for a model that is on its device already.

        Args:
            model: what is trained.
            total_steps: steps of this participant until the end of the run, warm-up rounds included.
        """
        weights = self.recipe.model.weights
        head = weights.new_head if weights else ()
        return optimizer.make_optimizer(model, self.recipe.optimizer, total_steps=total_steps, head=head)

    def batches(
        self,
        *,
        seed: int,
        participant: int,
        num_participants: int,
        batch_size: int,
        device: "torch.device | str",
    ) -> "Batches":
        """Return training batches on the device, without end and the same each time, to be taken round by round.

        Args:
            seed: of the run; decides the order and how images are varied.
            participant: index of this participant; each sees other samples of an epoch.
            num_participants: how many share an epoch.
            batch_size: samples of a step.
            device: where the batches are wanted.

        Raises:
            PlanError: there are fewer samples than participants.
        """
        import torch

        dealt = deal(
            self.counts["train"],
            seed=seed,
            participant=participant,
            num_participants=num_participants,
            batch_size=batch_size,
        )
        return Batches(self._opened.train, dealt, seed=seed, device=torch.device(device))

    def loss(
        self, model: "torch.nn.Module", x: "torch.Tensor", y: "torch.Tensor", *, number_format: str = "float32"
    ) -> "torch.Tensor":
        """Return the mean training loss of a batch, ready for `backward`."""
        from torch.nn.functional import cross_entropy

        with computing_in(number_format, x.device):
            return cross_entropy(model(x), y, label_smoothing=self.recipe.optimizer.label_smoothing)


def open_workload(recipe: Recipe, *, data_root: Path | None) -> OpenWorkload:
    """Open the data of a recipe.

    Args:
        recipe: what to open.
        data_root: where its files lie; None as `resolve_data_root` says.

    Raises:
        MissingExtraError: a package is not installed.
        WorkloadError: files are missing.
        PlanError: data and recipe contradict each other.
    """
    check_files(recipe, data_root)
    root = resolve_data_root(data_root)
    return OpenWorkload(recipe, _open(recipe, root), root)


def _open(recipe: Recipe, root: Path) -> Opened:
    """Choose the source; each is imported only when it is asked for."""
    match recipe.data:
        case DigitsData() as data:
            from pytest_mixgpu.jobs.workloads.sources.packaged import open_digits

            return open_digits(data, recipe.input)
        case MnistData() as data:
            from pytest_mixgpu.jobs.workloads.sources.packaged import open_mnist

            return open_mnist(data, recipe.input)
        case NpzData() as data:
            from pytest_mixgpu.jobs.workloads.sources.npz import open_npz

            return open_npz(data, recipe.input, root, recipe.num_classes)
        case data:
            from pytest_mixgpu.jobs.workloads.sources.pets import open_pets

            return open_pets(data, recipe.input, root, recipe.num_classes)


def computing_in(number_format: str, device: "torch.device") -> AbstractContextManager[object]:
    """Return the context in which a model computes in this number format; its weights stay float32.

    Raises:
        PlanError: the format is not one of NUMBER_FORMATS.
    """
    if number_format == "float32":
        return nullcontext()
    if number_format != "bfloat16":
        raise PlanError(f"number format {number_format!r} is unknown; there are {', '.join(NUMBER_FORMATS)}")
    import torch

    return torch.autocast(device.type, dtype=torch.bfloat16)
