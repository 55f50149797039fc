"""What is imported before workers of a workload are forked."""

import msgspec
import pytest

from pytest_mixgpu.jobs.workloads.preload import preload_for
from pytest_mixgpu.jobs.workloads.recipe import load_recipe


@pytest.mark.parametrize(
    ("factory", "expected"),
    [
        ("timm.models.vision_transformer:VisionTransformer", ("torch", "timm.models.vision_transformer")),
        ("timm:create_model", ("torch", "timm")),
        ("torch.nn:Linear", ("torch",)),
        ("my_models.small:Net", ("torch",)),
        ("timmy:Net", ("torch",)),
    ],
)
def test_models_of_known_packages_are_preloaded(factory: str, expected: tuple[str, ...]) -> None:
    """Torch always is; a user's own module never, since nobody knows what its import starts."""
    recipe = load_recipe("digits-vit")
    changed = msgspec.structs.replace(recipe, model=msgspec.structs.replace(recipe.model, factory=factory))

    assert expected == preload_for(changed)
