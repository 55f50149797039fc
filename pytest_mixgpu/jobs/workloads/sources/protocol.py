"""What a source of samples is, as models and evaluator see it. Imports no torch."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    import torch

    from pytest_mixgpu.jobs.workloads.deal import Numbers

    Batch = tuple[torch.Tensor, torch.Tensor]

Split = Literal["train", "validation", "test"]
SPLITS: tuple[Split, ...] = ("train", "validation", "test")


class Samples(Protocol):
    """One split."""

    @property
    def labels(self) -> Sequence[int]:
        """The class of each sample, in the order of the split."""

    def stream(
        self, dealt: Iterable[tuple["Numbers", "Numbers"]], *, seed: int, device: "torch.device"
    ) -> Iterator["Batch"]:
        """Yield training batches on the device for (sample numbers, epochs), varied as the recipe says.

        No sample is read before the first batch is asked for: it would be work that no round is charged for.
        """

    def in_order(self, batch_size: int, device: "torch.device") -> Iterator["Batch"]:
        """Yield all samples once, in the order of the split, without variation; the last batch may be short."""

    def manifest(self) -> Iterator[str]:
        """Yield lines that change when a byte of a sample or a label changes."""


@dataclass(frozen=True, slots=True)
class Opened:
    """A source that was opened."""

    train: Samples
    validation: Samples
    test: Samples

    def __getitem__(self, split: Split) -> Samples:
        samples: Samples = getattr(self, split)
        return samples
