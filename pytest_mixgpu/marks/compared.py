"""The lock compared with what is there now: marks, claims, plan, recipes and digests to `Difference`s. Pure.

Plan, recipes, marks and claims are compared by value, so that a difference names its field; where the lock holds no
content (schema 1), and for code, digests are compared.
"""

from collections.abc import Mapping

from pytest_mixgpu.marks.differences import Difference, plain, plain_differences, short
from pytest_mixgpu.marks.lock_file import Lock
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.records.plan import Plan

PLAN_FILE = "benchmark.toml"


def compare(  # noqa: PLR0913 - one keyword for each thing that can be compared
    lock: Lock,
    *,
    mark: PassMark | None = None,
    claim: Claim | None = None,
    place: str = "the marker",
    plan_digest: str | None = None,
    code_digest: str | None = None,
    evaluator_digest: str | None = None,
    recipe_digests: Mapping[str, str] = {},
    plan: Plan | None = None,
    recipes: Mapping[str, Mapping[str, object]] = {},
) -> list[Difference]:
    """List what differs from the lock; what is not given is not compared.

    A mark or claim that is not frozen differs as a whole. A recipe that the lock does not bind is not compared.

    Args:
        lock: as it is now.
        mark: as collected.
        claim: as collected.
        place: where its marker stands, as a sentence names it.
        plan_digest: of the plan as it is now.
        code_digest: of the code that produces the number, as it is now.
        evaluator_digest: of the evaluator as it is now.
        recipe_digests: of the recipes as they are now, by workload.
        plan: as it is now; with it, a difference names its field.
        recipes: as they are now, by workload; likewise.
    """
    found: list[Difference] = []
    if mark is not None:
        found += _marker_differences(mark, lock.mark(mark.id), place)
    if claim is not None:
        found += _marker_differences(claim, lock.claim(claim.id), place)
    if plan_digest is not None:
        found += _plan_differences(lock, plan, plan_digest)
    for name, digest, expected in (
        ("code", code_digest, lock.bindings.code),
        ("evaluator", evaluator_digest, lock.bindings.evaluator),
    ):
        if digest is not None and digest != expected:
            found.append(
                Difference(field=name, found=short(digest), expected=short(expected), where=_restore("it", name))
            )
    for workload, digest in sorted(recipe_digests.items()):
        found += _recipe_differences(lock, workload, digest, recipes.get(workload))
    return found


def _marker_differences(found: PassMark | Claim, frozen: PassMark | Claim | None, place: str) -> tuple[Difference, ...]:
    if frozen is None:
        where = "add it by --passmark-freeze before the first run"
        one = "a mark" if isinstance(found, PassMark) else "a claim"
        return (
            Difference(
                field=found.id,
                found=f"{one} of that name",
                expected="none",
                where=where,
                found_in=place,
                is_unfrozen=True,
            ),
        )
    where = _restore(f"the marker of {found.id}", found.id)
    return plain_differences(plain(found), plain(frozen), field=found.id, found_in=place, where=where)


def _plan_differences(lock: Lock, plan: Plan | None, digest: str) -> tuple[Difference, ...]:
    held, where = lock.contents.plan, _restore("it", "plan")
    if plan is not None and held:
        named = plain_differences(plain(plan), held, found_in=PLAN_FILE, where=where)
        if named:
            return named
    return _by_digest("plan", digest, lock.bindings.plan, PLAN_FILE, where)


def _recipe_differences(
    lock: Lock, workload: str, digest: str, recipe: Mapping[str, object] | None
) -> tuple[Difference, ...]:
    if workload not in lock.bindings.recipes:
        return ()
    field, file = f"recipes.{workload}", f"{workload}.toml"
    held, where = lock.contents.recipes.get(workload), _restore(f"the recipe {file}", "recipes")
    if recipe is not None and held is not None:
        named = plain_differences(recipe, held, field=field, found_in=file, where=where)
        if named:
            return named
    return _by_digest(field, digest, lock.bindings.recipes[workload], file, where)


def _by_digest(field: str, digest: str, bound: str, found_in: str, where: str) -> tuple[Difference, ...]:
    if digest == bound:
        return ()
    return (Difference(field=field, found=short(digest), expected=short(bound), found_in=found_in, where=where),)


def _restore(what: str, id_: str) -> str:
    return f"restore {what}, or amend: --passmark-amend={id_} --passmark-why='…'"
