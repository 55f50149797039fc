"""A user's own job by its name: from `module:factory` to the function that makes it. Imports no torch itself.

The module is imported here, in the supervisor, and again in each worker that needs it: what a worker finds is what was
found here, since the folders are added to the path that workers take over.
"""

from __future__ import annotations

import importlib
import sys
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.code import own_modules
from pytest_mixgpu.records.plan_file import JOB

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path
    from types import ModuleType

    from pytest_mixgpu.jobs.crewjob import JobSetup


class NamedJob(msgspec.Struct, frozen=True):
    """A factory that was found."""

    name: str
    """`module:factory`."""
    factory: Callable[[JobSetup], object]
    modules: tuple[str, ...]
    """Its module, and those that came with it and are not installed."""

    def digests(self) -> dict[str, str]:
        """SHA-256 of these modules' files as they are now, by name; ours stand in the digest of the code."""
        found = own_modules()
        return {name: found[name] for name in self.modules if name in found}


@cache
def find_job(name: str, folders: tuple[Path, ...]) -> NamedJob:
    """Import a job's module and take its factory.

    Args:
        name: `module:factory`.
        folders: where to look after everything that Python finds by itself: the suite's, then the project's.

    Raises:
        PlanError: the name is none, there is no such module or attribute, importing it raised, or what was found cannot
            be called; says where it was looked for.
    """
    if not JOB.fullmatch(name):
        raise PlanError(f"job {name!r} is not of the form module:factory")
    module_name, _, attribute = name.partition(":")
    sys.path += [str(folder) for folder in folders if str(folder) not in sys.path]
    before = set(own_modules())
    module = _imported(name, module_name, folders)
    _refuse_namesake(name, module, folders)
    factory = getattr(module, attribute, None)
    if factory is None:
        here = ", ".join(key for key, value in vars(module).items() if callable(value) and not key.startswith("_"))
        raise PlanError(f"job {name!r}: {module.__file__} has no {attribute!r}; it has {here or 'nothing to call'}")
    if not callable(factory):
        raise PlanError(
            f"job {name!r}: {attribute!r} in {module.__file__} is a {type(factory).__name__}, expected a function that "
            "takes a JobSetup and returns a job"
        )
    return NamedJob(name, factory, tuple(sorted({module_name, *(set(own_modules()) - before)})))


def _imported(name: str, module_name: str, folders: Sequence[Path]) -> ModuleType:
    importlib.invalidate_caches()
    try:
        return importlib.import_module(module_name)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module_name}.".startswith(f"{error.name}."):
            raise PlanError(f"job {name!r}: importing {module_name} failed: {error}") from error
        looked = ", ".join(map(str, folders))
        raise PlanError(
            f"job {name!r}: there is no module {error.name!r}; looked on Python's path, then in {looked}"
        ) from error
    except (Exception, SystemExit) as error:
        raise PlanError(f"job {name!r}: importing {module_name} raised {type(error).__name__}: {error}") from error


def _refuse_namesake(name: str, module: ModuleType, folders: Sequence[Path]) -> None:
    """A module of the same name that Python found first is another job than the one beside the plan."""
    parts = module.__name__.split(".")
    places = (folder.joinpath(*parts) for folder in folders)
    files = (file for place in places for file in (place.with_suffix(".py"), place / "__init__.py"))
    expected = next((file.resolve() for file in files if file.is_file()), None)
    found = getattr(module, "__file__", None)
    if expected is not None and str(expected) != str(found) and (found is None or not expected.samefile(found)):
        raise PlanError(
            f"job {name!r}: {module.__name__} was found at {found}, and there is one at {expected}: rename one of them"
        )
