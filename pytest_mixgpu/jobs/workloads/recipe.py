"""From a name to a `Recipe`, and whether what it needs is here. Imports no torch and opens no data.

Shipped recipes lie in `recipes/`; folders of a user are looked at first.
"""

import os
import tomllib
from importlib.util import find_spec
from pathlib import Path

from pytest_mixgpu.errors import MissingExtraError, PlanError, WorkloadError
from pytest_mixgpu.jobs.workloads.model import NpzData, OwnRecipe, PetsData, Recipe
from pytest_mixgpu.records.tables import value_of

__all__ = [
    "AnyRecipe",
    "OwnRecipe",
    "Recipe",
    "any_recipe",
    "check_files",
    "for_own_job_only",
    "load_recipe",
    "recipe_names",
    "require_packages",
    "resolve_data_root",
]

AnyRecipe = Recipe | OwnRecipe
"""What a name can stand for."""

DATA_VARIABLE = "MIXGPU_DATA"

_SHIPPED = Path(__file__).parent / "recipes"


def recipe_names(folders: tuple[Path, ...] = ()) -> tuple[str, ...]:
    """Return the names of all recipes, shipped and in `folders`, in alphabetical order."""
    found = {path.stem for folder in (*folders, _SHIPPED) for path in folder.glob("*.toml")}
    return tuple(sorted(found))


def load_recipe(name: str, *, folders: tuple[Path, ...] = ()) -> Recipe:
    """Read a recipe that our jobs can train; arguments and errors are those of `any_recipe`.

    Raises:
        PlanError: it is for a job of a user's own.
    """
    recipe = any_recipe(name, folders=folders)
    if isinstance(recipe, OwnRecipe):
        raise PlanError(for_own_job_only(name))
    return recipe


def for_own_job_only(name: str) -> str:
    """Say that a recipe has nothing that a job of ours could train."""
    return (
        f"recipe {name!r} has a table [own] and no model: only a job of your own can train it. Name that job: "
        "`job = 'module:factory'` at the top of benchmark.toml, or --mixgpu-job=module:factory"
    )


def any_recipe(name: str, *, folders: tuple[Path, ...] = ()) -> AnyRecipe:
    """Read one recipe, strictly. One with a table `own` is for a user's own job.

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
    kind: type[AnyRecipe] = OwnRecipe if "own" in table else Recipe
    recipe = value_of(table, kind, where=f"recipe {path}")
    if recipe.name != name:
        raise PlanError(f"recipe {path} calls itself {recipe.name!r}; name and file name must agree")
    return recipe


def resolve_data_root(given: Path | None) -> Path:
    """Return where data lies: the argument, else what MIXGPU_DATA says, else `data/` under the current directory."""
    return (given or Path(os.environ.get(DATA_VARIABLE) or "data")).absolute()


def check_files(recipe: AnyRecipe, data_root: Path | None) -> None:
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
    data = None if isinstance(recipe, OwnRecipe) else recipe.data
    if not missing and isinstance(data, NpzData) and not (root / data.path).is_file():
        missing = [(str(root / data.path), "make it or copy it there; `path` in the recipe's [data] names it")]
    if not missing and isinstance(data, PetsData):
        from pytest_mixgpu.jobs.workloads.sources.pets import missing_images

        missing = missing_images(root)
    if missing:
        raise WorkloadError(_missing_text(recipe, root, given=data_root is not None, missing=missing))


def require_packages(recipe: AnyRecipe) -> None:
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


def _missing_text(recipe: AnyRecipe, root: Path, *, given: bool, missing: list[tuple[str, str]]) -> str:
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
