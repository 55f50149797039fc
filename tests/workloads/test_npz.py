"""A user's own arrays become a workload by a file alone."""

from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from pytest_mixgpu.errors import PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads.build import open_workload
from pytest_mixgpu.jobs.workloads.evaluate import score
from pytest_mixgpu.jobs.workloads.model import Augment, NpzData
from pytest_mixgpu.jobs.workloads.recipe import check_files, load_recipe
from pytest_mixgpu.jobs.workloads.sources.arrays import ArraySamples
from tests.workloads.workload_parts import npz_recipe, write_npz

CARVED = NpzData(path="a.npz", layout="nhw", test_samples=9, validation_samples=6)


def splits(num_samples: int = 6, **changed: object) -> dict[str, object]:
    """Return arrays of a file that has its own test split."""
    x, y = np.zeros((num_samples, 4, 4), dtype=np.uint8), np.arange(num_samples) % 3
    return {"x_train": x, "y_train": y, "x_test": x, "y_test": y} | changed


USERS_RECIPE = """
schema = 1
name = "leaves"
description = "three kinds of leaves, 16 by 16 pixels"
num_classes = 3
extra = "torch"
packages = ["torch", "timm"]
evaluation_batch = 64
files = [{ any_of = ["leaves.npz"], fetch = "copy it from the herbarium's share" }]

[data]
source = "npz"
path = "leaves.npz"
layout = "nhwc"
test_samples = 9
validation_samples = 6

[input]
image_size = 16
channels = 3
pixel_max = 255.0
mean = [0.5, 0.5, 0.5]
std = [0.25, 0.25, 0.25]

[model]
factory = "timm.models.vision_transformer:VisionTransformer"
arguments = { img_size = 16, patch_size = 8, num_classes = 3, embed_dim = 16, depth = 1, num_heads = 2 }

[optimizer]
learning_rate = 1e-3
weight_decay = 0.05
warmup_share = 0.1
"""


def test_a_users_own_workload(tmp_path: Path) -> None:
    """A TOML file in a user's folder and an npz file under the data root are a whole workload."""
    (tmp_path / "leaves.toml").write_text(USERS_RECIPE)
    recipe = load_recipe("leaves", folders=(tmp_path,))
    with pytest.raises(WorkloadError, match="to fetch: copy it from the herbarium's share"):
        open_workload(recipe, data_root=tmp_path)
    x = np.random.default_rng(0).integers(0, 255, size=(30, 16, 16, 3), dtype=np.uint8)
    np.savez(tmp_path / "leaves.npz", x=x, y=np.arange(30) % 3)

    workload = open_workload(recipe, data_root=tmp_path)
    model = workload.make_model(0)
    images, labels = next(
        workload.batches(seed=0, participant=0, num_participants=1, batch_size=4, device="cpu").take(1)
    )
    workload.loss(model, images, labels).backward()  # type: ignore[no-untyped-call]
    result = score(model, workload, "test", device="cpu", number_format="float32", num_threads=1)

    assert (4, 3, 16, 16) == images.shape
    assert result.num_total == 9


def test_takes_steps(tmp_path: Path) -> None:
    """Steps on a user's arrays move the weights."""
    write_npz(tmp_path / "a.npz")
    workload = open_workload(npz_recipe(CARVED), data_root=tmp_path)
    model = workload.make_model(0)
    optimizer, _ = workload.make_optimizer(model, 10)
    before = [parameter.clone() for parameter in model.parameters()]

    for x, y in workload.batches(seed=0, participant=0, num_participants=1, batch_size=5, device="cpu").take(2):
        workload.loss(model, x, y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()

    assert workload.counts == {"train": 15, "validation": 6, "test": 9}
    assert not any(torch.equal(old, new) for old, new in zip(before, model.parameters(), strict=True))


@pytest.mark.parametrize(
    ("extra", "expected"),
    [
        pytest.param({}, {"train": 4, "validation": 2, "test": 6}, id="carved"),
        pytest.param(
            {"x_validation": np.zeros((3, 4, 4), dtype=np.uint8), "y_validation": np.arange(3)},
            {"train": 6, "validation": 3, "test": 6},
            id="given",
        ),
    ],
)
def test_own_test_split(tmp_path: Path, extra: dict[str, object], expected: dict[str, int]) -> None:
    """A file's own splits are kept; validation is carved from what trains unless it is given."""
    np.savez(tmp_path / "a.npz", **splits(**extra))  # type: ignore[arg-type]  # numpy types the keywords as booleans
    data = NpzData(path="a.npz", layout="nhw", validation_samples=0 if extra else 2)

    assert expected == open_workload(npz_recipe(data), data_root=tmp_path).counts


@pytest.mark.parametrize(
    ("layout", "shape"),
    [
        pytest.param("nhw", (30, 4, 4), id="grey"),
        pytest.param("nhwc", (30, 4, 4, 3), id="channels-last"),
        pytest.param("nchw", (30, 3, 4, 4), id="channels-first"),
        pytest.param("nhw", (30, 9, 7), id="resized"),
    ],
)
def test_layouts(tmp_path: Path, layout: str, shape: tuple[int, ...]) -> None:
    """Every layout comes out as (samples, channels, height, width) of the size that the model sees."""
    np.savez(tmp_path / "a.npz", x=np.ones(shape, dtype=np.float32) * 255, y=np.arange(30) % 3)
    data = msgspec.convert(msgspec.to_builtins(CARVED) | {"layout": layout}, NpzData)
    workload = open_workload(npz_recipe(data, channels=3), data_root=tmp_path)

    x, _ = next(workload.batches(seed=0, participant=0, num_participants=1, batch_size=2, device="cpu").take(1))

    assert x.shape == (2, 3, 4, 4)
    assert torch.allclose(x, torch.full_like(x, 2.0))


@pytest.mark.parametrize(
    ("arrays", "changed", "expected"),
    [
        pytest.param(splits(), {"test_samples": 3}, "has its own test arrays", id="test-twice"),
        pytest.param(
            splits(x_validation=np.zeros((3, 4, 4)), y_validation=np.arange(3)),
            {"validation_samples": 1},
            "has validation arrays",
            id="validation-twice",
        ),
        pytest.param({"x": np.zeros((3, 4, 4))}, {}, "holds x; expected x and y", id="no-labels"),
        pytest.param(splits(z=np.zeros(1)), {}, "expected x and y", id="unknown-array"),
        pytest.param(splits(x_test=np.zeros((6, 4))), {}, "x_test in .* is float64 of shape", id="shape"),
        pytest.param(splits(y_test=np.arange(6) % 4), {}, "runs from 0 to 3; num_classes = 3", id="label-above"),
        pytest.param(splits(y_test=np.arange(6) - 1), {}, "runs from -1", id="label-below"),
        pytest.param(splits(y_test=np.zeros(6)), {}, "expected 6 whole numbers", id="label-type"),
        pytest.param(splits(y_test=np.arange(5) % 3), {}, "expected 6 whole numbers", id="label-count"),
        pytest.param(splits(x_test=np.array(["a"] * 6, dtype=object)), {}, "cannot be read as plain", id="pickle"),
        pytest.param(splits(x_test=np.zeros((6, 4, 4), dtype=bool)), {}, "is bool", id="bool"),
    ],
)
def test_contradictions_are_refused(
    tmp_path: Path, arrays: dict[str, object], changed: dict[str, object], expected: str
) -> None:
    """Arrays that are not what the recipe says are refused by name."""
    np.savez(tmp_path / "a.npz", **arrays)  # type: ignore[arg-type]  # numpy types the keywords as booleans
    plain = {"source": "npz", "path": "a.npz", "layout": "nhw"} | changed
    recipe = npz_recipe(msgspec.convert(plain, NpzData))

    with pytest.raises(PlanError, match=expected):
        open_workload(recipe, data_root=tmp_path)


def test_missing_file_is_named(tmp_path: Path) -> None:
    """A file that is not there is named with its whole path before anything is opened, also if no `files` name it."""
    recipe = msgspec.structs.replace(npz_recipe(CARVED), files=())

    with pytest.raises(WorkloadError, match=f"missing: {tmp_path / 'a.npz'}"):
        check_files(recipe, tmp_path)
    write_npz(tmp_path / "a.npz")
    check_files(recipe, tmp_path)


def test_wrong_channels_are_refused(tmp_path: Path) -> None:
    """Two channels cannot become three."""
    np.savez(tmp_path / "a.npz", x=np.zeros((30, 2, 4, 4)), y=np.arange(30) % 3)
    data = NpzData(path="a.npz", layout="nchw", test_samples=9, validation_samples=6)

    with pytest.raises(PlanError, match=r"samples have 2 channels; input\.channels says 3"):
        open_workload(npz_recipe(data, channels=3), data_root=tmp_path)


def test_augment_is_refused(tmp_path: Path) -> None:
    """A variation that would be ignored is an error instead."""
    write_npz(tmp_path / "a.npz")
    recipe = npz_recipe(CARVED)
    recipe = msgspec.structs.replace(recipe, input=msgspec.structs.replace(recipe.input, augment=Augment(flip=0.5)))

    with pytest.raises(PlanError, match="augment is for images in files"):
        open_workload(recipe, data_root=tmp_path)


@pytest.mark.parametrize("changed", ["pixel", "label"])
def test_digest_sees_every_sample(tmp_path: Path, changed: str) -> None:
    """One pixel or one label changes the digest; reading again does not."""
    x, y = np.zeros((30, 4, 4), dtype=np.uint8), np.arange(30) % 3

    def digest() -> str:
        np.savez(tmp_path / "a.npz", x=x, y=y)
        return open_workload(npz_recipe(CARVED), data_root=tmp_path).digest

    first = digest()
    assert first == digest()
    if changed == "pixel":
        x[17, 2, 3] = 1
    else:
        y[17] = (y[17] + 1) % 3
    assert first != digest()


def test_large_splits_are_prepared_batch_by_batch() -> None:
    """A split that does not stay on the device gives the same batches as one that does."""
    pixels = np.random.default_rng(0).integers(0, 255, size=(30, 1, 7, 7), dtype=np.uint8)
    target = npz_recipe(CARVED).input
    resident, passing = (
        ArraySamples(pixels, np.arange(30) % 3, target, resident_bytes=size) for size in (30 * 16 * 4, 30 * 16 * 4 - 1)
    )

    for kept, made in zip(*(samples.in_order(8, torch.device("cpu")) for samples in (resident, passing)), strict=True):
        assert torch.equal(kept[0], made[0])
        assert torch.equal(kept[1], made[1])
