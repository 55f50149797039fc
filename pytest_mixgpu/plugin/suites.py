"""Where a test belongs: from the path of a test file to its suite's folder, plan and lock. Imports no pytest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from pytest_mixgpu.marks.lock import read_lock
from pytest_mixgpu.plugin.keys import LOCK_NAME
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.plan_file import load_plan, plan_digest

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from pytest_mixgpu.jobs.workloads.recipe import AnyRecipe
    from pytest_mixgpu.marks.lock import Lock
    from pytest_mixgpu.records.plan import Plan

PLAN_NAME = "benchmark.toml"


@dataclass(frozen=True)
class Suite:
    """A folder of tests with its lock and, where it has one, its plan."""

    folder: Path

    @property
    def plan_path(self) -> Path:
        """Where the plan is, or would be."""
        return self.folder / PLAN_NAME

    @property
    def lock_path(self) -> Path:
        """Where the lock is, or would be."""
        return self.folder / LOCK_NAME

    @cached_property
    def plan(self) -> Plan | None:
        """The plan; None where the suite has none."""
        return load_plan(self.plan_path) if self.plan_path.is_file() else None

    @cached_property
    def plan_digest(self) -> str:
        """Of the plan as it is now; empty where the suite has none."""
        return "" if self.plan is None else plan_digest(self.plan)

    @cached_property
    def recipes(self) -> dict[str, AnyRecipe]:
        """The recipes that the plan asks for, its own and its rehearsal's, by name, as they are now."""
        from pytest_mixgpu.plugin.measure import recipe_for

        stages = () if self.plan is None else (self.plan, self.plan.rehearsal)
        names = [stage.workload.recipe for stage in stages if stage is not None]
        return {name: recipe_for(name, self.folder) for name in names}

    @cached_property
    def recipe_digests(self) -> dict[str, str]:
        """Of these recipes, by name."""
        return {name: canonical_digest(recipe.as_dict()) for name, recipe in self.recipes.items()}

    @cached_property
    def lock(self) -> Lock | None:
        """The lock; None where nothing was frozen yet."""
        return read_lock(self.lock_path)

    @property
    def name(self) -> str:
        """What records and report folders call it: the plan's id, else the folder's name."""
        return self.folder.name if self.plan is None else self.plan.id


def shown(path: Path, config: pytest.Config) -> str:
    """A path as the user would type it where the session was started."""
    try:
        return str(path.relative_to(config.invocation_params.dir))
    except ValueError:
        return str(path)


def suite_folder(test_file: Path, root: Path) -> Path:
    """The nearest folder at or above the file, within the root, that holds a plan or a lock; else the file's own."""
    own = test_file if test_file.is_dir() else test_file.parent
    for folder in (own, *own.parents):
        if (folder / PLAN_NAME).is_file() or (folder / LOCK_NAME).is_file():
            return folder
        if folder == root:
            break
    return own
