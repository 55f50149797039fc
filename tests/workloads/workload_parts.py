"""Small workloads made up for tests: recipes, arrays, and pictures in the true layout of Oxford-IIIT Pet."""

from pathlib import Path

import msgspec
import numpy as np

from pytest_mixgpu.jobs.workloads.model import Input, Model, NpzData, Recipe
from pytest_mixgpu.jobs.workloads.recipe import load_recipe

BREEDS = ("Abyssinian", "beagle", "Birman", "pug")


def npz_recipe(data: NpzData, *, channels: int = 1, num_classes: int = 3) -> Recipe:
    """Return a recipe of one linear layer on 4 by 4 pixels."""
    return msgspec.structs.replace(
        load_recipe("digits-vit"),
        name="mine",
        num_classes=num_classes,
        packages=("torch",),
        evaluation_batch=4,
        data=data,
        input=Input(image_size=4, channels=channels, pixel_max=255.0, mean=(0.5,) * channels, std=(0.25,) * channels),
        model=Model(factory="tests.workloads.workload_parts:flat_linear", arguments={"channels": channels}),
    )


def flat_linear(channels: int) -> object:
    """Return the smallest network there is."""
    from torch import nn

    return nn.Sequential(nn.Flatten(), nn.Linear(16 * channels, 3))


def write_npz(path: Path, num_samples: int = 30, **more: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
    """Write `x` and `y` of uint8 pixels in three classes, and whatever else is given."""
    rng = np.random.default_rng(0)
    y = np.arange(num_samples) % 3
    x = rng.integers(0, 255, size=(num_samples, 4, 4), dtype=np.uint8)
    np.savez(path, x=x, y=y, **more)  # type: ignore[arg-type]  # numpy types the keywords as booleans


def write_pets(root: Path, *, num_trainval: int = 12, num_test: int = 6) -> Path:
    """Write small JPEG pictures and lists, breeds 1 to 4 of 37, and return the dataset's folder."""
    from PIL import Image

    folder = root / "oxford-iiit-pet"
    (folder / "images").mkdir(parents=True)
    (folder / "annotations").mkdir()
    rng = np.random.default_rng(1)
    number = 0
    for part, count in (("trainval", num_trainval), ("test", num_test)):
        lines = []
        for index in range(count):
            number += 1
            breed = index % len(BREEDS)
            name = f"{BREEDS[breed]}_{number}"
            height, width = (40, 60) if number % 2 else (70, 50)
            pixels = rng.integers(0, 255, size=(height // 10, width // 10, 3), dtype=np.uint8)
            picture = Image.fromarray(pixels).resize((width, height))
            picture.save(folder / "images" / f"{name}.jpg", quality=90)
            lines.append(f"{name} {breed + 1} {1 + breed % 2} {1 + breed // 2}\n")
        (folder / "annotations" / f"{part}.txt").write_text("".join(lines))
    return folder
