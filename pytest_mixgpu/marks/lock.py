"""Changing the lock: from marks, claims and digests to a new `Lock`, or a refusal. Reads and writes no file."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.compared import compare
from pytest_mixgpu.marks.differences import Difference, earlier_values, plain
from pytest_mixgpu.marks.lock_chain import broken_seals, extend, with_parts_bound
from pytest_mixgpu.marks.lock_file import (
    BINDINGS,
    Bindings,
    Contents,
    Lock,
    Planned,
    RunsThen,
    digests_since,
    lock_digest,
    read_lock,
    write_lock,
)
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.marks.present import Present, settled_sources
from pytest_mixgpu.records.plan import Plan

__all__ = [
    "BINDINGS",
    "Bindings",
    "Contents",
    "Difference",
    "Lock",
    "Planned",
    "RunsThen",
    "amend",
    "broken_seals",
    "compare",
    "digests_since",
    "freeze",
    "lock_digest",
    "missing_from",
    "planned_of",
    "read_lock",
    "refuse_broken",
    "write_lock",
]

NO_CONTENTS = Contents()


def planned_of(plan: Plan | None) -> Planned | None:
    """Take from a plan what the lock freezes of it by value."""
    if plan is None:
        return None
    return Planned(
        seeds=plan.seeds,
        rehearsal_seeds=None if plan.rehearsal is None else plan.rehearsal.seeds,
        disturbance=plan.disturbance,
    )


def freeze(  # noqa: PLR0913 - one argument a source of the lock's content
    lock: Lock | None,
    marks: Sequence[PassMark],
    claims: Sequence[Claim],
    *,
    suite: str,
    plan: Plan | None,
    bindings: Bindings,
    now: str,
    contents: Contents = NO_CONTENTS,
    covers: Mapping[str, tuple[str, ...]] = {},
    then: RunsThen | None = None,
) -> Lock:
    """Add marks and claims that are not frozen yet. What is frozen is never changed here.

    Args:
        lock: the present lock; None makes a new one.
        marks: as collected now.
        claims: as collected now.
        suite: the suite's name.
        plan: its plan, if it has one.
        bindings: digests as they are now.
        now: UTC, ISO 8601.
        contents: what the digests stand for now; the plan's content is taken from the plan.
        covers: the source files that stand behind each part, as `Present` has them.
        then: the runs that are registered by now.

    Raises:
        LockError: two share an id, a frozen one differs, or plan or recipes differ from what was frozen.
    """
    _refuse_twins(marks, claims)
    present = _present(bindings, contents, covers, plan)
    if lock is None:
        return _first(marks, claims, suite=suite, plan=plan, present=present, now=now, then=then)
    refuse_broken(lock)
    refused = [
        *(difference for mark in marks for difference in compare(lock, mark=mark) if lock.mark(mark.id)),
        *(difference for claim in claims for difference in compare(lock, claim=claim) if lock.claim(claim.id)),
        *compare(
            lock,
            plan_digest=bindings.plan,
            recipe_digests=bindings.recipes,
            plan=plan,
            recipes=contents.recipes,
        ),
    ]
    if refused:
        raise LockError("a frozen lock is not changed by freezing again. " + "; ".join(str(one) for one in refused))
    new_marks = [mark for mark in marks if lock.mark(mark.id) is None]
    new_claims = [claim for claim in claims if lock.claim(claim.id) is None]
    if not new_marks and not new_claims:
        return lock
    lock = with_parts_bound(lock, at=now, then=then)
    changed = msgspec.structs.replace(
        lock,
        marks=_sorted_marks([*lock.marks, *new_marks]),
        claims=tuple(sorted([*lock.claims, *new_claims], key=lambda claim: claim.id)),
    )
    ids = tuple(sorted(_ids(new_marks, new_claims)))
    return extend(_settled(changed, present), event="freeze", ids=ids, at=now, why="added", was="", then=then)


def _first(  # noqa: PLR0913 - as `freeze`
    marks: Sequence[PassMark],
    claims: Sequence[Claim],
    *,
    suite: str,
    plan: Plan | None,
    present: Present,
    now: str,
    then: RunsThen | None,
) -> Lock:
    ids = tuple(sorted(_ids(marks, claims)))
    if not ids:
        raise LockError("there is no mark and no claim to freeze; select the tests that carry them")
    lock = Lock(
        suite=suite,
        frozen_at=now,
        bindings=present.bindings,
        planned=planned_of(plan),
        contents=present.contents,
        marks=_sorted_marks(marks),
        claims=tuple(sorted(claims, key=lambda claim: claim.id)),
    )
    return extend(lock, event="freeze", ids=ids, at=now, why="frozen for the first time", was="", then=then)


def amend(  # noqa: PLR0913 - one argument a source of the lock's content
    lock: Lock,
    id_: str,
    why: str,
    now: str,
    *,
    marks: Sequence[PassMark],
    claims: Sequence[Claim],
    plan: Plan | None,
    bindings: Bindings,
    contents: Contents = NO_CONTENTS,
    covers: Mapping[str, tuple[str, ...]] = {},
    then: RunsThen | None = None,
) -> Lock:
    """Change one frozen thing to what marker, plan or code now say, and keep date, reason and what was there.

    Nothing else is taken along: what differs besides, differs from the lock as before.

    Args:
        lock: the present lock.
        id_: of a mark or claim, or one of `BINDINGS`. `plan` takes the recipes along: a plan names its workloads, and
            another workload has another recipe.
        why: the reason, in words.
        now: UTC, ISO 8601.
        marks: as collected now; a frozen mark that is gone from them is dropped.
        claims: as collected now.
        plan: as it is now.
        bindings: digests as they are now.
        contents: what the digests stand for now; the plan's content is taken from the plan.
        covers: the source files that stand behind each part, as `Present` has them.
        then: the runs that are registered by now.

    Raises:
        LockError: no reason, nothing of that name, or nothing to change.
    """
    refuse_broken(lock)
    _refuse_twins(marks, claims)
    if not why.strip():
        raise LockError(f"an amendment of {id_} needs its reason: add --passmark-why='…'")
    lock = with_parts_bound(lock, at=now, then=then)
    present = _present(bindings, contents, covers, plan)
    changed, was = _amended(lock, id_, marks, claims, plan, present)
    if changed == lock:
        raise LockError(f"{id_} is already as the lock holds it: change the marker or the plan first")
    return extend(
        _settled(changed, present), event="amend", ids=(id_,), at=now, why=why.strip(), was=_json(was), then=then
    )


def missing_from(lock: Lock, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the frozen marks and claims that are not among these ids: deselected, skipped or deleted."""
    return tuple(id_ for id_ in lock.ids if id_ not in ids)


def refuse_broken(lock: Lock) -> None:
    """Refuse to build on a lock that was edited by hand.

    Raises:
        LockError: its chain does not hold.
    """
    faults = broken_seals(lock)
    if faults:
        raise LockError(f"{faults[0]}. Restore the lock from git before it is changed")


def _present(
    bindings: Bindings, contents: Contents, covers: Mapping[str, tuple[str, ...]], plan: Plan | None
) -> Present:
    by_value = {} if plan is None else plain(plan)
    return Present(bindings=bindings, contents=msgspec.structs.replace(contents, plan=by_value), covers=covers)


def _settled(lock: Lock, present: Present) -> Lock:
    """Fill in what the lock's digests stand for, as far as they are those of now; bind what never was.

    A lock of schema 1 bound neither the judge nor the tests, and every mark that is new has a test that is.
    """
    bound, now = lock.bindings, present.bindings
    ids = lock.ids
    tests = {id_: bound.tests.get(id_) or now.tests.get(id_, "") for id_ in sorted(ids)}
    bindings = msgspec.structs.replace(
        bound, judge=bound.judge or now.judge, tests={id_: digest for id_, digest in tests.items() if digest}
    )
    settled = msgspec.structs.replace(lock, bindings=bindings)
    held = lock.contents
    recipes = {
        name: present.contents.recipes[name]
        if name in present.contents.recipes and now.recipes.get(name) == digest
        else held.recipes.get(name, {})
        for name, digest in bindings.recipes.items()
    }
    contents = Contents(
        plan=present.contents.plan if bindings.plan == now.plan else held.plan,
        recipes={name: recipe for name, recipe in recipes.items() if recipe},
        sources=settled_sources(settled, present),
    )
    return msgspec.structs.replace(settled, contents=contents)


def _amended(  # noqa: PLR0913, PLR0917 - one value a source of the new content
    lock: Lock,
    id_: str,
    marks: Sequence[PassMark],
    claims: Sequence[Claim],
    plan: Plan | None,
    present: Present,
) -> tuple[Lock, object]:
    """Return the lock with one thing changed, and what stood there before."""
    if id_ in BINDINGS:
        return _rebound(lock, id_, plan, present)
    frozen_mark, frozen_claim = lock.mark(id_), lock.claim(id_)
    if frozen_mark is not None:
        kept = [mark for mark in lock.marks if mark.id != id_]
        new_marks = _sorted_marks([*kept, *(mark for mark in marks if mark.id == id_)])
        return msgspec.structs.replace(lock, marks=new_marks), _was(frozen_mark, marks)
    if frozen_claim is not None:
        others = [claim for claim in lock.claims if claim.id != id_]
        new_claims = sorted([*others, *(claim for claim in claims if claim.id == id_)], key=lambda claim: claim.id)
        return msgspec.structs.replace(lock, claims=tuple(new_claims)), _was(frozen_claim, claims)
    known = ", ".join([*lock.ids, *BINDINGS])
    raise LockError(
        f"the lock holds nothing called {id_!r}; it holds {known}. A new mark is added by --passmark-freeze"
    )


def _was(frozen: PassMark | Claim, collected: Sequence[PassMark | Claim]) -> object:
    """Return the fields that change, as they were; a mark or claim that is gone is kept whole."""
    new = next((one for one in collected if one.id == frozen.id), None)
    if new is None:
        return frozen
    fields = (name for name in frozen.__struct_fields__ if getattr(new, name) != getattr(frozen, name))
    return {"id": frozen.id, **{name: getattr(frozen, name) for name in fields}}


def _rebound(lock: Lock, id_: str, plan: Plan | None, present: Present) -> tuple[Lock, object]:
    """Bind the lock to one thing as it is now; what the runs were made under is kept field by field."""
    bound, now = lock.bindings, present.bindings
    was: dict[str, object] = {id_: getattr(bound, id_)}
    renewed = {id_: getattr(now, id_)}
    if id_ == "data":
        # Data that is not here cannot be looked at: what was bound of it stays.
        renewed["data"] = {**bound.data, **now.data}
    if id_ == "tests":
        renewed["tests"] = {name: now.tests.get(name, digest) for name, digest in bound.tests.items()}
        was["tests"] = _changed(bound.tests, renewed["tests"])
    if id_ in {"plan", "recipes"}:
        renewed["recipes"] = now.recipes
        was["recipes"] = _changed(bound.recipes, now.recipes)
    if id_ == "plan" and lock.contents.plan:
        was |= earlier_values(present.contents.plan, lock.contents.plan)
    elif id_ == "plan":
        was["planned"] = lock.planned
    for name, then in lock.contents.recipes.items():
        if "recipes" in renewed and name in present.contents.recipes:
            was |= earlier_values(present.contents.recipes[name], then, field=f"recipes.{name}")
    rebound = msgspec.structs.replace(lock, bindings=msgspec.structs.replace(bound, **renewed))
    if id_ == "plan":
        rebound = msgspec.structs.replace(rebound, planned=planned_of(plan))
    return rebound, was


def _changed(then: Mapping[str, str], now: Mapping[str, str]) -> dict[str, str]:
    return {name: digest for name, digest in then.items() if now.get(name) != digest}


def _refuse_twins(marks: Sequence[PassMark], claims: Sequence[Claim]) -> None:
    twins = [id_ for id_, count in Counter(_ids(marks, claims)).items() if count > 1]
    if twins:
        raise LockError(f"two tests carry the id {twins[0]!r}; an id is given once in a suite")


def _ids(marks: Sequence[PassMark], claims: Sequence[Claim]) -> list[str]:
    return [*(mark.id for mark in marks), *(claim.id for claim in claims)]


def _sorted_marks(marks: Sequence[PassMark]) -> tuple[PassMark, ...]:
    return tuple(sorted(marks, key=lambda mark: mark.id))


def _json(value: object) -> str:
    return msgspec.json.encode(value, order="sorted").decode()
