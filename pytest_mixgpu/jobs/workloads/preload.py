"""What the workers of a workload can share: from its recipe to the modules that are imported once, before any fork."""

from pytest_mixgpu.jobs.workloads.model import OwnRecipe, Recipe

_FIT_FOR_A_FORK = frozenset({"timm"})
"""Packages of models that start no thread and touch no device when they are imported. Of a user's own nobody knows."""


def preload_for(recipe: Recipe | OwnRecipe) -> tuple[str, ...]:
    """Name what is worth importing before workers are forked: torch, and where the model comes from if that is known.

    Args:
        recipe: the workload.

    Returns:
        Names of modules. What is left out is imported by each worker, later and as often as there are workers.
    """
    if isinstance(recipe, OwnRecipe):
        return ("torch",) if "torch" in recipe.packages else ()
    module, _, _ = recipe.model.factory.partition(":")
    package, _, _ = module.partition(".")
    return ("torch", module) if package in _FIT_FOR_A_FORK else ("torch",)
