"""What a suite's lock binds, as it is now: from a suite and its tests to a `Present`. Imports no pytest."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from pytest_mixgpu.jobs.code import code_paths, evaluator_paths
from pytest_mixgpu.jobs.workloads.model import OwnRecipe
from pytest_mixgpu.marks.differences import plain
from pytest_mixgpu.marks.lock_file import Bindings, Contents
from pytest_mixgpu.marks.present import Present
from pytest_mixgpu.plugin.measure import code_digests, package_root
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.sources import source_digests, sources_of, sources_of_job

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from pytest_mixgpu.plugin.suites import Suite

_JUDGING = ("marks", "records", "timing")
_BESIDE = (
    "__init__.py",
    "errors.py",
    "units.py",
    "devices/__init__.py",
    "devices/cpu_kinds.py",
    "devices/model.py",
    "devices/numa.py",
    "devices/spec.py",
)
_HANDING_OVER = (
    "plugin/experiment.py",
    "plugin/fixtures.py",
    "plugin/measure.py",
    "plugin/opinions.py",
    "plugin/outside.py",
    "plugin/repeats.py",
    "plugin/runs.py",
    "plugin/sequence.py",
    "plugin/stopwatch.py",
    "plugin/stored.py",
    "plugin/suites.py",
    "plugin/witnessing.py",
)
"""Modules of the plugin that decide what is run, take durations, or hand numbers and records to the judge. They are
bound with the judge: `code` is what stands in every record, and a worker elsewhere has no plugin."""


class Place(NamedTuple):
    """Where the test of a mark or claim is written."""

    file: Path
    name: str
    """`test_speed`, `TestFleet::test_speed`."""
    shown: str
    """As messages name it."""


def judge_paths() -> tuple[Path, ...]:
    """All modules that hand over numbers, compute metrics and judge, with those of the package that they stand on."""
    package = package_root() / "pytest_mixgpu"
    rooms = (path for room in _JUDGING for path in (package / room).rglob("*.py"))
    return tuple(sorted({*rooms, *(package / name for name in (*_BESIDE, *_HANDING_OVER))}))


@cache
def package_sources() -> dict[str, dict[str, str]]:
    """Digests of the package's source files behind `code`, `evaluator` and `judge`, as first found."""
    root = package_root()
    parts = {"code": code_paths(), "evaluator": evaluator_paths(), "judge": judge_paths()}
    return {part: source_digests(paths, root) for part, paths in parts.items()}


def present_of(
    suite: Suite,
    tests: Mapping[str, Place],
    *,
    root: Path,
    search: Sequence[Path] = (),
    data: Mapping[str, str] | None = None,
) -> Present:
    """Look at everything that a suite's lock binds.

    Args:
        suite: with or without a plan.
        tests: where each mark and claim is written, by id.
        root: of the project; what tests import from outside it is not followed.
        search: further folders in which their modules are looked for.
        data: digests of the workloads' data, as far as it is here; they are bound by a freeze, and compared by runs.
    """
    found, parts, plan = code_digests(), dict(package_sources()), suite.plan
    package = package_root() / "pytest_mixgpu"
    for id_, place in sorted(tests.items()):
        further = (*search, *_between(suite.folder, root))
        parts[id_] = _sources_of(place, suite.folder, root, further, package)
        if plan is not None and plan.own_job:
            # The job stands behind every number of the suite, as the test does that judges it.
            module = plan.own_job.partition(":")[0]
            parts[id_] |= sources_of_job(
                module, _named_by_command(suite), folder=suite.folder, root=root, search=further, without=(package,)
            )
    return Present(
        bindings=Bindings(
            plan=suite.plan_digest,
            code=found.code,
            evaluator=found.evaluator,
            recipes=suite.recipe_digests,
            data=dict(data or {}),
            judge=canonical_digest(parts["judge"]),
            tests={id_: canonical_digest(parts[id_]) for id_ in sorted(tests)},
        ),
        contents=Contents(
            plan={} if plan is None else plain(plan),
            recipes={name: plain(recipe) for name, recipe in suite.recipes.items()},
            # In the order in which an amendment lists them too, so that git shows what changed and nothing else.
            sources=dict(sorted({path: digest for files in parts.values() for path, digest in files.items()}.items())),
        ),
        covers={part: tuple(files) for part, files in parts.items()},
        places={id_: place.shown for id_, place in tests.items()},
    )


@cache
def _sources_of(place: Place, folder: Path, root: Path, search: tuple[Path, ...], package: Path) -> dict[str, str]:
    return sources_of(place.file, place.name, folder=folder, root=root, search=search, without=(package,))


def _named_by_command(suite: Suite) -> Iterator[Path]:
    """The files of the suite that the command line of a job names: its script, its configuration."""
    for recipe in suite.recipes.values():
        own = recipe.own if isinstance(recipe, OwnRecipe) else {}
        command = own.get("command", ())
        words = [word for word in command if isinstance(word, str)] if isinstance(command, list | tuple) else []
        yield from (path for word in words if (path := suite.folder / word).is_file())


def _between(folder: Path, root: Path) -> tuple[Path, ...]:
    """The folders above a suite's own, up to the root."""
    return tuple(one for one in folder.parents if one.is_relative_to(root))
