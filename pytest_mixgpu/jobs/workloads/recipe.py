"""From a name to a `Recipe`, and whether what it needs is here. Imports no torch and opens no data.

Shipped recipes lie in `recipes/`; folders of a user are looked at first.
"""

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path

from pytest_mixgpu.errors import MissingExtraError, PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads.model import NpzData, PetsData, Recipe
from pytest_mixgpu.records.tables import value_of

__all__ = ["Recipe", "check_files", "load_recipe", "recipe_names", "require_packages", "resolve_data_root"]

DATA_VARIABLE = "MIXGPU_DATA"

_SHIPPED = Path(__file__).parent / "recipes"


def recipe_names(folders: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Return the names of all recipes, shipped and in `folders`, in alphabetical order."""
    found = {path.stem for folder in (*folders, _SHIPPED) for path in folder.glob("*.toml")}
    return tuple(sorted(found))


def load_recipe(name: str, *, folders: tuple[Path, ...] = ()) -> Recipe:
    """Read one recipe, strictly.

    Args:
        name: of the file, without `.toml`.
        folders: a user's own, looked at before the shipped ones.

    Raises:
        PlanError: there is no such recipe, or it cannot be read; the message names the file and the field.
    """
    known = recipe_names(folders)
    if name not in known:
        looked = ", ".join(str(folder) for folder in (*folders, _SHIPPED))
        raise PlanError(f"no recipe is called {name!r}; there are {', '.join(known)} (looked in {looked})")
    path = next(path for folder in (*folders, _SHIPPED) if (path := folder / f"{name}.toml").is_file())
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PlanError(f"recipe {path} cannot be read as TOML: {error}") from error
    recipe = value_of(table, Recipe, where=f"recipe {path}")
    if recipe.name != name:
        raise PlanError(f"recipe {path} calls itself {recipe.name!r}; name and file name must agree")
    return recipe


def resolve_data_root(given: Path | None) -> Path:
    """Return where data lies: the argument, else what MIXGPU_DATA says, else `data/` under the current directory."""
    return (given or Path(os.environ.get(DATA_VARIABLE) or "data")).absolute()


def check_files(recipe: Recipe, data_root: Path | None) -> None:
    """Make sure that all packages and files of a workload are here, before anything starts.

    Args:
        recipe: the workload.
        data_root: where its files lie; None as `resolve_data_root` says.

    Raises:
        MissingExtraError: a package is not installed; the message has the command that installs it.
        WorkloadError: files are missing; the message says which, where they were looked for and how to fetch them.
    """
    require_packages(recipe)
    root = resolve_data_root(data_root)
    missing = [
        (" or ".join(str(root / path) for path in file.any_of), file.fetch)
        for file in recipe.files
        if not any((root / path).exists() for path in file.any_of)
    ]
    if not missing and isinstance(recipe.data, NpzData) and not (root / recipe.data.path).is_file():
        missing = [(str(root / recipe.data.path), "make it or copy it there; `path` in the recipe's [data] names it")]
    if not missing and isinstance(recipe.data, PetsData):
        from pytest_mixgpu.jobs.workloads.sources.pets import missing_images

        missing = missing_images(root)
    if missing:
        raise WorkloadError(_missing_text(recipe, root, given=data_root is not None, missing=missing))


def require_packages(recipe: Recipe) -> None:
    """Make sure that the packages of a workload can be imported, without importing them.

    Raises:
        MissingExtraError: one is not installed.
    """
    absent = [name for name in recipe.packages if find_spec(name) is None]
    if absent:
        remedy = f": pip install 'pytest-mixgpu[{recipe.extra}]'" if recipe.extra else ""
        raise MissingExtraError(
            f"workload {recipe.name!r} needs {', '.join(absent)}, which {'is' if len(absent) == 1 else 'are'} not "
            f"installed{remedy}"
        )


def _missing_text(recipe: Recipe, root: Path, *, given: bool, missing: list[tuple[str, str]]) -> str:
    """Say what is missing, where it was looked for, and how to get it."""
    if given:
        origin = "as given"
    elif os.environ.get(DATA_VARIABLE):
        origin = f"as {DATA_VARIABLE} says"
    else:
        origin = f"the default; --mixgpu-data or {DATA_VARIABLE} names another"
    lines = [f"workload {recipe.name!r} lacks files. Looked under {root} ({origin}):"]
    for paths, fetch in missing:
        lines += [f"  missing: {paths}", f"    to fetch: {fetch}"]
    return "\n".join(lines)
