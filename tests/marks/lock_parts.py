"""A lock with everything that it can hold, the same again as it is now, and how plain data is walked leaf by leaf."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pytest_mixgpu.marks.differences import plain
from pytest_mixgpu.marks.lock import Bindings, Contents, Lock, RunsThen, amend, compare, freeze
from pytest_mixgpu.marks.lock_file import seal_of, state_digest
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.present import Present
from pytest_mixgpu.marks.sealed_parts import parts_of
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import plan_digest
from tests.samples import e1_plan, made_recipe

FROZEN = "2026-11-29T10:00:00+00:00"
LATER = "2026-11-30T09:00:00+00:00"
MARK = PassMark(id="m", metric="speedup", comparator="at_least", bound=0.7, unit="x", of="ideal")
RECIPE = {**made_recipe("digits-vit"), "input": {"mean": [0.5, 0.25], "resize": 248}}
SOURCES = {
    "pytest_mixgpu/jobs/conduct.py": "c0" * 32,
    "pytest_mixgpu/records/bits.py": "b0" * 32,
    "pytest_mixgpu/marks/judge.py": "d0" * 32,
    "helper.py": "e0" * 32,
    "test_m.py::test_m": "f0" * 32,
}
COVERS = {
    "code": ("pytest_mixgpu/jobs/conduct.py", "pytest_mixgpu/records/bits.py"),
    "evaluator": ("pytest_mixgpu/records/bits.py",),
    "judge": ("pytest_mixgpu/marks/judge.py", "pytest_mixgpu/records/bits.py"),
    "m": ("helper.py", "test_m.py::test_m"),
}
AFTER_RUNS = RunsThen(num_runs=12, head="ab" * 32, count=25)


def present_of(plan: Plan | None = None, recipe: dict[str, Any] | None = None, **sources: str) -> Present:
    """Return what is there now, with some sources changed: `judge_py="…"`."""
    plan, recipe = plan or e1_plan(), recipe or RECIPE
    names = {Path(path.partition("::")[0]).name.replace(".", "_"): path for path in SOURCES}
    files = SOURCES | {names[name]: digest for name, digest in sources.items()}
    parts = {part: canonical_digest([files[path] for path in paths]) for part, paths in COVERS.items()}
    return Present(
        bindings=Bindings(
            plan=plan_digest(plan),
            code=parts["code"],
            evaluator=parts["evaluator"],
            judge=parts["judge"],
            recipes={"digits-vit": canonical_digest(recipe)},
            tests={"m": parts["m"]},
        ),
        contents=Contents(plan=plain(plan), recipes={"digits-vit": recipe}, sources=files),
        covers=COVERS,
        places={"m": "test_m.py::test_m"},
    )


def frozen(now: Present | None = None, plan: Plan | None = None) -> Lock:
    now = now or present_of()
    return freeze(
        None, [MARK], [], suite="s", plan=plan or e1_plan(), bindings=now.bindings, now=FROZEN,
        contents=now.contents, covers=now.covers,
    )  # fmt: skip


def amended(lock: Lock, id_: str, now: Present, *, plan: Plan | None = None, at: str = LATER) -> Lock:
    return amend(
        lock, id_, "the devices changed", at, marks=[MARK], claims=[], plan=plan or e1_plan(), bindings=now.bindings,
        contents=now.contents, covers=now.covers, then=AFTER_RUNS,
    )  # fmt: skip


def departures(lock: Lock, plan: Plan, recipe: dict[str, Any] | None = None) -> list[str]:
    """Say how plan and recipe depart from the lock."""
    recipe = recipe or RECIPE
    found = compare(
        lock,
        plan_digest=plan_digest(plan),
        plan=plan,
        recipe_digests={"digits-vit": canonical_digest(recipe)},
        recipes={"digits-vit": recipe},
    )
    return [str(one) for one in found]


def as_schema_1(lock: Lock) -> Lock:
    """Write a lock as schema 1 did."""
    bindings = replace(lock.bindings, judge="", tests={})
    old = replace(lock, schema=1, contents=Contents(), bindings=bindings)
    entry = replace(
        lock.chain[0], num_runs=None, ledger_head=None, ledger_count=None, parts=None, state=state_digest(old)
    )
    return replace(old, chain=(replace(entry, seal=seal_of(entry)),))


def as_schema_2(lock: Lock) -> Lock:
    """Write a lock as schema 2 did: of one change, since what stood before is not known any more."""
    old = replace(lock, schema=2)
    entry = replace(lock.chain[0], parts=None, state=state_digest(old))
    return replace(old, chain=(replace(entry, seal=seal_of(entry)),))


def resealed(lock: Lock) -> Lock:
    """Make the last change of an edited lock fit to it again, as whoever can run our code can."""
    last = lock.chain[-1]
    parts = None if last.parts is None else parts_of(lock)
    last = replace(last, state=state_digest(lock), parts=parts)
    return replace(lock, chain=(*lock.chain[:-1], replace(last, seal=seal_of(last))))


Steps = tuple[str | int, ...]


def leaves(value: object, steps: Steps = ()) -> Iterator[tuple[Steps, object]]:
    if isinstance(value, dict):
        for key, entry in value.items():
            yield from leaves(entry, (*steps, key))
    elif isinstance(value, list):
        for index, entry in enumerate(value):
            yield from leaves(entry, (*steps, index))
    else:
        yield steps, value


def with_leaf(value: Any, steps: Steps, leaf: object) -> Any:
    if not steps:
        return leaf
    first, *others = steps
    copy: Any = dict(value) if isinstance(value, dict) else list(value)
    copy[first] = with_leaf(value[first], tuple(others), leaf)
    return copy


def field_of(steps: Steps) -> str:
    return "".join(f"[{step}]" if isinstance(step, int) else f".{step}" for step in steps).removeprefix(".")


def another(value: object) -> object:
    """Change a value as little as its type allows."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    return value * 1.0000001 + 1e-9 if isinstance(value, float) else f"{value}."
