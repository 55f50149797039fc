"""The model of a recipe: from factory, seed and perhaps pretrained weights to a module. torch only inside functions."""

from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads.model import Recipe, Weights
from pytest_mixgpu.jobs.workloads.sources.packaged import package_file

if TYPE_CHECKING:
    import torch

    State = dict[str, torch.Tensor]


def make_model(recipe: Recipe, seed: int, root: Path) -> "torch.nn.Module":
    """Build the model with the weights that training starts from; torch's global generator is left as it was."""
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(seed)
        model = _factory(recipe.model.factory)(**recipe.model.arguments)
    if not isinstance(model, torch.nn.Module):
        raise PlanError(f"{recipe.model.factory} made a {type(model).__name__}, expected a torch.nn.Module")
    if recipe.model.weights is not None:
        load_weights(model, recipe.model.weights, weights_path(recipe, root))
    return model


def weights_path(recipe: Recipe, root: Path) -> Path | None:
    """Return the file of the pretrained weights; None where the recipe starts from scratch.

    Raises:
        WorkloadError: it is not there.
    """
    weights = recipe.model.weights
    if weights is None:
        return None
    if weights.package:
        return package_file(weights.package, weights.resource, extra=recipe.extra)
    found = next((root / path for path in weights.any_of if (root / path).is_file()), None)
    if found is None:
        raise WorkloadError(f"workload {recipe.name!r} lacks its weights: {' or '.join(weights.any_of)} under {root}")
    return found


def load_weights(model: "torch.nn.Module", weights: Weights, path: Path | None) -> None:
    """Load pretrained weights; all but the new head must fit exactly.

    Raises:
        PlanError: names or shapes do not fit.
    """
    if path is None:
        return
    stored = _read(path)
    own = model.state_dict()
    if weights.by_position:
        stored = _renamed(stored, own, path)
    for name in weights.new_head:
        if name not in own:
            raise PlanError(f"model.weights.new_head names {name!r}, which the model does not have")
        stored[name] = own[name]
    wrong = [name for name in own.keys() & stored.keys() if own[name].shape != stored[name].shape]
    odd = sorted((own.keys() ^ stored.keys()) | set(wrong))
    if odd:
        raise PlanError(f"weights {path} do not fit the model; the first of {len(odd)} that differ is {odd[0]!r}")
    model.load_state_dict(stored)


def _factory(name: str) -> Callable[..., object]:
    """Import what the recipe names."""
    module, _, attribute = name.partition(":")
    try:
        made: Callable[..., object] = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        raise PlanError(f"model.factory {name!r} cannot be imported: {error}") from error
    return made


def _read(path: Path) -> "State":
    """Read tensors only: neither format may run code."""
    if path.suffix == ".safetensors":
        from safetensors.torch import load_file

        loaded: State = load_file(path)
        return loaded
    import torch

    return dict(torch.load(path, map_location="cpu", weights_only=True))


def _renamed(stored: "State", own: Mapping[str, "torch.Tensor"], path: Path) -> "State":
    """Give the stored tensors the model's names, by position."""
    if len(stored) != len(own):
        raise PlanError(f"weights {path} hold {len(stored)} tensors; the model has {len(own)}")
    return dict(zip(own, stored.values(), strict=True))
