"""Oxford-IIIT Pet: from torchvision's layout on disk to batches. torch, torchvision and PIL only inside functions.

`<data root>/oxford-iiit-pet/images/*.jpg` and `annotations/{trainval,test}.txt`; nothing is downloaded.
"""

import hashlib
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from math import exp, log, sqrt
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.model import Augment, Input, PetsData
from pytest_mixgpu.jobs.workloads.sources.place import pinned, put
from pytest_mixgpu.jobs.workloads.sources.protocol import Opened
from pytest_mixgpu.jobs.workloads.splits import stratified

if TYPE_CHECKING:
    import torch
    from PIL.Image import Image

    from pytest_mixgpu.jobs.workloads.deal import Numbers
    from pytest_mixgpu.jobs.workloads.sources.protocol import Batch

FETCH = (
    "curl -LO https://www.robots.ox.ac.uk/~vgg/data/pets/data/{images,annotations}.tar.gz, and unpack both into "
    "oxford-iiit-pet/ under the data root"
)
NUM_AHEAD = 3
"""Batches that are decoded ahead of the device, never beyond the round that runs."""


class Picture(NamedTuple):
    """One line of a list of the dataset."""

    name: str
    label: int


class PetSamples:
    """One split, read from files as it is needed."""

    def __init__(self, folder: Path, pictures: Sequence[Picture], target: Input, loader_threads: int) -> None:
        self._folder = folder
        self._pictures = tuple(pictures)
        self._input = target
        self._loader_threads = loader_threads

    @property
    def labels(self) -> Sequence[int]:
        """The breed of each picture."""
        return [picture.label for picture in self._pictures]

    def stream(
        self, dealt: Iterable[tuple["Numbers", "Numbers"]], *, seed: int, device: "torch.device"
    ) -> Iterator["Batch"]:
        """Yield varied training batches, in the order that was dealt whatever the threads do.

        Nothing is decoded before the first batch is asked for, nor beyond the last that was dealt.
        """
        num_threads = 0 if device.type == "cpu" else self._loader_threads
        for numbers, pixels in self._decoded(dealt, seed, num_threads, device):
            yield self._placed(numbers, pixels, device)

    def _decoded(
        self, dealt: Iterable[tuple["Numbers", "Numbers"]], seed: int, num_threads: int, device: "torch.device"
    ) -> Iterator[tuple["Numbers", "torch.Tensor"]]:
        """Decode batch by batch: in line without threads, else some batches ahead and into pinned memory."""
        import torch

        if not num_threads:
            for numbers, epochs in dealt:
                pairs = zip(numbers.tolist(), epochs.tolist(), strict=True)
                yield numbers, torch.stack([self._varied(number, epoch, seed) for number, epoch in pairs])
            return
        with ThreadPoolExecutor(num_threads, thread_name_prefix="decode") as threads:
            ahead: deque[tuple[Numbers, Future[torch.Tensor]]] = deque()
            for numbers, epochs in dealt:
                pairs = zip(numbers.tolist(), epochs.tolist(), strict=True)
                pictures = [threads.submit(self._varied, number, epoch, seed) for number, epoch in pairs]
                # Begun in the order of asking, so the pictures that this one waits for are under way already.
                ahead.append((numbers, threads.submit(_stacked, pictures, device)))
                if len(ahead) > NUM_AHEAD:
                    yield _awaited(*ahead.popleft())
            while ahead:
                yield _awaited(*ahead.popleft())

    def in_order(self, batch_size: int, device: "torch.device") -> Iterator["Batch"]:
        """Yield all pictures once, resized and cropped at the centre."""
        import numpy as np
        import torch
        from torchvision.transforms import CenterCrop, Compose, InterpolationMode, PILToTensor, Resize

        look = Compose(
            [
                Resize(self._input.resize or self._input.image_size, InterpolationMode.BICUBIC),
                CenterCrop(self._input.image_size),
                PILToTensor(),
            ]
        )
        for start in range(0, len(self._pictures), batch_size):
            numbers = np.arange(start, min(start + batch_size, len(self._pictures)))
            pixels = torch.stack([look(self._open(number)) for number in numbers.tolist()])
            yield self._placed(numbers, pixels, device)

    def manifest(self) -> Iterator[str]:
        """Yield one line a file, in the order of names."""
        for picture in sorted(self._pictures):
            digest = hashlib.sha256(self._path(picture).read_bytes()).hexdigest()
            yield f"{picture.name}.jpg {picture.label} {digest}"

    def _path(self, picture: Picture) -> Path:
        return self._folder / "images" / f"{picture.name}.jpg"

    def _open(self, number: int) -> "Image":
        from PIL import Image

        with Image.open(self._path(self._pictures[number])) as image:
            return image.convert("RGB")

    def _varied(self, number: int, epoch: int, seed: int) -> "torch.Tensor":
        """One training picture: cropped, resized and perhaps mirrored, as (seed, epoch, number) decide."""
        from torchvision.transforms import InterpolationMode
        from torchvision.transforms.functional import hflip, pil_to_tensor, resized_crop

        image = self._open(number)
        draw = random.Random(f"{seed}:{epoch}:{number}")  # noqa: S311 - a reproducible draw, not a secret
        left, top, width, height = crop_box(image.width, image.height, self._input.augment, draw)
        size = [self._input.image_size, self._input.image_size]
        cropped = resized_crop(image, top, left, height, width, size, InterpolationMode.BICUBIC)
        if draw.random() < self._input.augment.flip:
            cropped = hflip(cropped)
        tensor: torch.Tensor = pil_to_tensor(cropped)
        return tensor

    def _placed(self, numbers: "Numbers", pixels: "torch.Tensor", device: "torch.device") -> "Batch":
        import torch

        from pytest_mixgpu.jobs.workloads.sources.arrays import prepare

        labels = torch.tensor([self._pictures[number].label for number in numbers], dtype=torch.int64)
        return prepare(put(pixels, device), self._input), put(labels, device)


def _stacked(pictures: list["Future[torch.Tensor]"], device: "torch.device") -> "torch.Tensor":
    import torch

    return pinned(torch.stack([picture.result() for picture in pictures]), device)


def _awaited(numbers: "Numbers", pixels: "Future[torch.Tensor]") -> tuple["Numbers", "torch.Tensor"]:
    return numbers, pixels.result()


def crop_box(width: int, height: int, augment: Augment, draw: random.Random) -> tuple[int, int, int, int]:
    """Draw (left, top, width, height) of a crop by area and aspect; what does not fit in ten tries is centred."""
    low, high = augment.aspect
    for _ in range(10):
        area = width * height * draw.uniform(*augment.area)
        aspect = exp(draw.uniform(log(low), log(high)))
        wide, tall = round(sqrt(area * aspect)), round(sqrt(area / aspect))
        if 0 < wide <= width and 0 < tall <= height:
            return draw.randint(0, width - wide), draw.randint(0, height - tall), wide, tall
    wide, tall = min(width, round(height * high)), min(height, round(width / low))
    return (width - wide) // 2, (height - tall) // 2, wide, tall


def open_pets(data: PetsData, target: Input, root: Path, num_classes: int) -> Opened:
    """Open the dataset: its own test list, validation carved from `trainval`.

    Raises:
        PlanError: a list has a line that cannot be read, or a breed beyond the number of classes.
    """
    folder = root / "oxford-iiit-pet"
    trainval, test = (read_list(folder / "annotations" / f"{name}.txt", num_classes) for name in ("trainval", "test"))
    kept, held = stratified([picture.label for picture in trainval], data.validation_samples, data.split_seed)
    threads = data.loader_threads
    return Opened(
        train=PetSamples(folder, [trainval[number] for number in kept], target, threads),
        validation=PetSamples(folder, [trainval[number] for number in held], target, threads),
        test=PetSamples(folder, test, target, threads),
    )


def read_list(path: Path, num_classes: int) -> tuple[Picture, ...]:
    """Read `name breed species breed-within-species` lines; breeds count from 1 there and from 0 here."""
    pictures = []
    for line_number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = line.split()
        if len(fields) != 4 or not fields[1].isdecimal() or not 1 <= int(fields[1]) <= num_classes:
            raise PlanError(f"{path}:{line_number}: {line!r}; expected name, breed 1 to {num_classes}, species, breed")
        pictures.append(Picture(fields[0], int(fields[1]) - 1))
    return tuple(pictures)


def missing_images(root: Path) -> list[tuple[str, str]]:
    """Return what is missing of the pictures that the lists name, with how to fetch it."""
    folder = root / "oxford-iiit-pet"
    present = {path.name for path in (folder / "images").iterdir()}
    names = [
        f"{line.split()[0]}.jpg"
        for part in ("trainval", "test")
        for line in (folder / "annotations" / f"{part}.txt").read_text(encoding="utf-8").splitlines()
        if line.strip() and not line.startswith("#")
    ]
    absent = [name for name in names if name not in present]
    if not absent:
        return []
    return [(f"{len(absent)} of {len(names)} pictures in {folder / 'images'}, the first {absent[0]}", FETCH)]
