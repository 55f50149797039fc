"""E1's own workload, on a tiny dataset in the true layout."""

import random
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from PIL.Image import Image

from pytest_mixgpu.errors import PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads.build import OpenWorkload, open_workload
from pytest_mixgpu.jobs.workloads.evaluate import score, weights_digest
from pytest_mixgpu.jobs.workloads.model import Augment, Input, PetsData, Recipe
from pytest_mixgpu.jobs.workloads.recipe import check_files, load_recipe
from pytest_mixgpu.jobs.workloads.sources.pets import PetSamples, crop_box, open_pets, read_list
from pytest_mixgpu.jobs.workloads.sources.protocol import Opened
from tests.workloads.workload_parts import write_pets

CPU = torch.device("cpu")
SMALL = Input(
    image_size=32,
    channels=3,
    pixel_max=255.0,
    mean=(0.5, 0.5, 0.5),
    std=(0.5, 0.5, 0.5),
    resize=36,
    augment=Augment(flip=0.5, area=(0.35, 1.0)),
)


def opened(root: Path, *, loader_threads: int = 0) -> Opened:
    """Open the tiny dataset, three pictures for validation."""
    return open_pets(PetsData(validation_samples=3, loader_threads=loader_threads), SMALL, root, 37)


def tiny(recipe: Recipe) -> Recipe:
    """Return E1's recipe with a validation split that the tiny dataset has room for."""
    return msgspec.structs.replace(recipe, data=PetsData(validation_samples=3), evaluation_batch=3)


def one_batch(data: Opened, seed: int, epoch: int, device: torch.device = CPU) -> torch.Tensor:
    """Return four training pictures as one seed and epoch vary them."""
    dealt = [(np.arange(4), np.full(4, epoch))]
    return next(data.train.stream(dealt, seed=seed, device=device))[0]


def test_same_pictures_as_torchvision(tmp_path: Path) -> None:
    """Names, breeds and pixels are those of torchvision's own reader and transforms."""
    from torchvision import transforms
    from torchvision.datasets import OxfordIIITPet

    write_pets(tmp_path)
    look = transforms.Compose(
        [
            transforms.Resize(36, transforms.InterpolationMode.BICUBIC),
            transforms.CenterCrop(32),
            transforms.ToTensor(),
            transforms.Normalize((0.5,) * 3, (0.5,) * 3),
        ]
    )
    theirs = OxfordIIITPet(tmp_path, split="test", transform=look)

    x, y = next(opened(tmp_path).test.in_order(6, CPU))

    assert [label for _, label in theirs] == y.tolist()
    torch.testing.assert_close(torch.stack([image for image, _ in theirs]), x)


def test_validation_is_carved_from_trainval(tmp_path: Path) -> None:
    """Training and validation together are `trainval`; the test list is left whole."""
    folder = write_pets(tmp_path)
    data = opened(tmp_path)

    trainval = [picture.label for picture in read_list(folder / "annotations" / "trainval.txt", 37)]
    assert sorted(trainval) == sorted([*data.train.labels, *data.validation.labels])
    assert (len(data.train.labels), len(data.validation.labels), len(data.test.labels)) == (9, 3, 6)


def test_variation_is_decided_by_seed_epoch_and_number(tmp_path: Path) -> None:
    """Equal draws give equal pixels; another seed or epoch gives others."""
    write_pets(tmp_path)
    data = opened(tmp_path)
    first = one_batch(data, 1, 0)

    assert torch.equal(first, one_batch(data, 1, 0))
    assert not torch.equal(first, one_batch(data, 2, 0))
    assert not torch.equal(first, one_batch(data, 1, 1))
    assert first.shape == (4, 3, 32, 32)


def test_threads_change_nothing(tmp_path: Path) -> None:
    """Pictures decoded ahead by threads come in the same order with the same pixels, to the last batch."""
    write_pets(tmp_path)
    samples = opened(tmp_path).train
    assert isinstance(samples, PetSamples)
    dealt = [(np.array([index, (index + 3) % 9]), np.array([0, index])) for index in range(9)]

    in_line, ahead = (list(samples._decoded(dealt, 1, num_threads, CPU)) for num_threads in (0, 3))

    assert len(dealt) == len(ahead)
    for (numbers, tensors), (numbers_ahead, tensors_ahead) in zip(in_line, ahead, strict=True):
        assert numbers.tolist() == numbers_ahead.tolist()
        assert torch.equal(tensors, tensors_ahead)


def test_stream_on_another_device_is_served_by_threads(tmp_path: Path) -> None:
    """A device that is not the CPU gets its batches from the threads; the meta device stands for one."""
    write_pets(tmp_path)
    dealt = [(np.arange(2), np.zeros(2, dtype=np.int64))] * 5

    stream = opened(tmp_path, loader_threads=2).train.stream(dealt, seed=1, device=torch.device("meta"))

    assert [("meta", (2, 3, 32, 32))] * 5 == [(x.device.type, tuple(x.shape)) for x, _ in stream]


class CountedPets(PetSamples):
    """Notes how many pictures were opened."""

    num_opened = 0

    def _open(self, number: int) -> Image:
        self.num_opened += 1
        return super()._open(number)


@pytest.mark.parametrize("device", ["cpu", "meta"], ids=["in line", "by threads"])
def test_a_round_reads_what_it_trains_on_and_nothing_else(tmp_path: Path, device: str) -> None:
    """No picture is opened before a round asks for its first batch, and none that only the next round needs."""
    folder = write_pets(tmp_path)
    pictures = read_list(folder / "annotations" / "trainval.txt", 37)
    train = CountedPets(folder, pictures, SMALL, 2)
    workload = OpenWorkload(load_recipe("pets-vit-b16"), Opened(train=train, validation=train, test=train), tmp_path)
    batches = workload.batches(seed=0, participant=0, num_participants=1, batch_size=2, device=device)
    counts = []
    for num_steps in (5, 1):
        round_ = batches.take(num_steps)
        counts.append(train.num_opened)
        assert num_steps == len(list(round_))
        counts.append(train.num_opened)

    assert [0, 10, 10, 12] == counts


@given(
    width=st.integers(min_value=1, max_value=600),
    height=st.integers(min_value=1, max_value=600),
    low=st.floats(min_value=0.01, max_value=1.0),
    seed=st.integers(),
)
def test_crops_lie_inside(width: int, height: int, low: float, seed: int) -> None:
    """A crop is never empty and never leaves its picture."""
    left, top, wide, tall = crop_box(width, height, Augment(area=(low, 1.0)), random.Random(seed))  # noqa: S311

    assert 0 <= left <= left + wide <= width
    assert 0 <= top <= top + tall <= height
    assert min(wide, tall) >= 1


def test_no_augment_keeps_nearly_all() -> None:
    """With the whole area and the picture's own aspect nothing is cut off."""
    augment = Augment(aspect=(2.0, 2.0))

    assert crop_box(200, 100, augment, random.Random(0)) == (0, 0, 200, 100)  # noqa: S311


def test_digest_sees_files_and_labels(tmp_path: Path) -> None:
    """A changed byte of a picture or of a list changes the manifest; times of files do not."""
    folder = write_pets(tmp_path)
    first = list(opened(tmp_path).test.manifest())
    picture = min((folder / "images").glob("*_13.jpg"))
    content = picture.read_bytes()

    picture.write_bytes(content)
    assert first == list(opened(tmp_path).test.manifest())
    picture.write_bytes(content + b"\0")
    assert first != list(opened(tmp_path).test.manifest())


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        pytest.param("a_1 38 1 1", "expected name, breed 1 to 37", id="breed-above"),
        pytest.param("a_1 0 1 1", "expected name, breed 1 to 37", id="breed-below"),
        pytest.param("a_1 1", ":2: 'a_1 1'", id="short"),
        pytest.param("a_1 one 1 1", "expected name", id="word"),
    ],
)
def test_bad_lists_are_refused(tmp_path: Path, line: str, expected: str) -> None:
    """A line that is not of the dataset is named with its number."""
    path = tmp_path / "test.txt"
    path.write_text(f"a_0 1 1 1\n{line}\n")

    with pytest.raises(PlanError, match=expected):
        read_list(path, 37)


def test_missing_picture_is_counted(tmp_path: Path) -> None:
    """Pictures that the lists name and the folder lacks are counted before anything starts."""
    folder = write_pets(tmp_path)
    (folder / "images" / "beagle_2.jpg").unlink()
    (tmp_path / "vit_base_patch16_224.pth").touch()

    with pytest.raises(WorkloadError, match=r"1 of 18 pictures in .*images, the first beagle_2\.jpg"):
        check_files(load_recipe("pets-vit-b16"), tmp_path)


def test_real_model_takes_real_steps(tmp_path: Path) -> None:
    """The 86-million-parameter model loads its weights, learns from pictures and is scored, all on the CPU."""
    import timm
    from safetensors.torch import save_file

    write_pets(tmp_path, num_test=4)
    pretrained = timm.create_model("vit_base_patch16_224")
    save_file(pretrained.state_dict(), tmp_path / "vit_base_patch16_224.safetensors")
    workload = open_workload(tiny(load_recipe("pets-vit-b16")), data_root=tmp_path)
    model = workload.make_model(0).train()

    assert 85_000_000 < sum(parameter.numel() for parameter in model.parameters()) < 87_000_000
    assert torch.equal(
        pretrained.get_parameter("blocks.3.attn.qkv.weight"), model.get_parameter("blocks.3.attn.qkv.weight")
    )
    assert model.get_parameter("head.weight").shape == (37, 768)
    before = weights_digest(model)

    optimizer, scheduler = workload.make_optimizer(model, 4)
    losses = []
    stream = workload.batches(seed=0, participant=0, num_participants=2, batch_size=2, device="cpu")
    for x, y in stream.take(2):
        loss = workload.loss(model, x, y)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    result = score(model, workload, "test", device="cpu", number_format="float32", num_threads=1)

    assert x.shape == (2, 3, 224, 224)
    assert np.isfinite(losses).all()
    assert before != weights_digest(model)
    assert result.num_total == 4
    assert len(workload.digest) == 64
