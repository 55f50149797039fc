"""Samples that fit into memory: from arrays to batches on a device. torch and numpy only inside functions."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.model import Augment, Input
from pytest_mixgpu.jobs.workloads.sources.place import mean_and_std, put
from pytest_mixgpu.jobs.workloads.sources.protocol import Opened
from pytest_mixgpu.jobs.workloads.splits import stratified

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from pytest_mixgpu.jobs.workloads.deal import Numbers
    from pytest_mixgpu.jobs.workloads.sources.protocol import Batch

RESIDENT_BYTES = 64 * 2**20


class ArraySamples:
    """One split in memory.

    Args:
        pixels: (samples, channels, height, width), as stored.
        labels: the class of each.
        target: what the model is given.
        resident_bytes: up to this size the split is prepared once and stays on the device; above it, batch by batch.
    """

    def __init__(
        self,
        pixels: "NDArray[np.generic]",
        labels: "NDArray[np.int64]",
        target: Input,
        *,
        resident_bytes: int = RESIDENT_BYTES,
    ) -> None:
        import numpy as np

        if target.augment != Augment():
            raise PlanError("input.augment is for images in files; for arrays, vary the samples before they are stored")
        if pixels.shape[1] not in {1, target.channels}:
            raise PlanError(f"samples have {pixels.shape[1]} channels; input.channels says {target.channels}")
        self._pixels = np.ascontiguousarray(pixels)
        self._labels = np.ascontiguousarray(labels, dtype="<i8")
        self._input = target
        self._resident_bytes = resident_bytes
        self._resident = cache(self._put)

    @property
    def labels(self) -> Sequence[int]:
        """The class of each sample."""
        labels: list[int] = self._labels.tolist()
        return labels

    def stream(
        self, dealt: Iterable[tuple["Numbers", "Numbers"]], *, seed: int, device: "torch.device"
    ) -> Iterator["Batch"]:
        """Yield training batches; arrays are not varied, so the seed has no say beyond the dealing."""
        del seed
        for numbers, _ in dealt:
            yield self._take(numbers, device)

    def in_order(self, batch_size: int, device: "torch.device") -> Iterator["Batch"]:
        """Yield all samples once, in order."""
        import numpy as np

        for start in range(0, len(self._labels), batch_size):
            yield self._take(np.arange(start, min(start + batch_size, len(self._labels))), device)

    def manifest(self) -> Iterator[str]:
        """Yield one line for the pixels and one for the labels."""
        for name, array in (("pixels", self._pixels), ("labels", self._labels)):
            little = array.astype(array.dtype.newbyteorder("<"), copy=False)
            shape = "x".join(str(size) for size in little.shape)
            yield f"{name} {little.dtype.str} {shape} {hashlib.sha256(little.tobytes()).hexdigest()}"

    def _take(self, numbers: "Numbers", device: "torch.device") -> "Batch":
        import torch

        pixels, labels = self._resident(device)
        index = put(torch.from_numpy(numbers), device)
        if pixels is not None:
            return pixels.index_select(0, index), labels.index_select(0, index)
        chosen = put(torch.from_numpy(self._pixels[numbers]), device)
        return prepare(chosen, self._input), labels.index_select(0, index)

    def _put(self, device: "torch.device") -> tuple["torch.Tensor | None", "torch.Tensor"]:
        """Bring labels, and pixels if they are few, to the device for good."""
        import torch

        labels = torch.from_numpy(self._labels).to(device)
        size = self._input.image_size
        if 4 * len(self._labels) * self._input.channels * size * size > self._resident_bytes:
            return None, labels
        return prepare(torch.from_numpy(self._pixels).to(device), self._input), labels


def prepare(pixels: "torch.Tensor", target: Input) -> "torch.Tensor":
    """Turn stored pixels (samples, channels, height, width) into what the model is given."""
    import torch
    from torch.nn.functional import interpolate

    size = (target.image_size, target.image_size)
    values = pixels.to(torch.float32) / target.pixel_max
    if values.shape[-2:] != size:
        values = interpolate(values, size=size, mode="bilinear", align_corners=False, antialias=True)
    mean, std = mean_and_std(target, values.device)
    return ((values - mean) / std).contiguous()


def carve(  # noqa: PLR0913 - one heap and how it is split
    pixels: "NDArray[np.generic]",
    labels: "NDArray[np.int64]",
    target: Input,
    *,
    test_samples: int,
    validation_samples: int,
    seed: int,
) -> Opened:
    """Split one heap of samples: the test set first, then validation out of what trains."""
    rest, test = stratified(labels.tolist(), test_samples, seed)
    kept, held = stratified(labels[list(rest)].tolist(), validation_samples, seed)
    train, validation = [rest[number] for number in kept], [rest[number] for number in held]
    return Opened(
        train=ArraySamples(pixels[train], labels[train], target),
        validation=ArraySamples(pixels[validation], labels[validation], target),
        test=ArraySamples(pixels[list(test)], labels[list(test)], target),
    )
