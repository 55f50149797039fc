"""Changing the lock: from marks, claims and digests to a new `Lock`, or a refusal. Reads and writes no file."""

from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.lock_file import (
    BINDINGS,
    Bindings,
    Lock,
    Planned,
    broken_seals,
    digests_since,
    extend,
    lock_digest,
    read_lock,
    write_lock,
)
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.records.plan import Plan

__all__ = [
    "BINDINGS",
    "Bindings",
    "Difference",
    "Lock",
    "Planned",
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


class Difference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A departure from the lock."""

    field: str
    """`e1-speedup.bound`, `plan`, `code`."""
    found: str
    expected: str
    where: str
    """Where to change it."""

    def __str__(self) -> str:
        return f"{self.field}: found {self.found}, the lock holds {self.expected}; {self.where}"


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

    Raises:
        LockError: two share an id, a frozen one differs, or plan or recipes differ from what was frozen.
    """
    _refuse_twins(marks, claims)
    if lock is None:
        fresh = Lock(
            suite=suite,
            frozen_at=now,
            bindings=bindings,
            planned=planned_of(plan),
            marks=_sorted_marks(marks),
            claims=tuple(sorted(claims, key=lambda claim: claim.id)),
        )
        ids = tuple(sorted(_ids(marks, claims)))
        if not ids:
            raise LockError("there is no mark and no claim to freeze; select the tests that carry them")
        return extend(fresh, event="freeze", ids=ids, at=now, why="frozen for the first time", was="")
    refuse_broken(lock)
    refused = [
        *(difference for mark in marks for difference in compare(lock, mark=mark) if lock.mark(mark.id)),
        *(difference for claim in claims for difference in compare(lock, claim=claim) if lock.claim(claim.id)),
        *compare(lock, plan_digest=bindings.plan, recipe_digests=bindings.recipes),
    ]
    if refused:
        raise LockError("a frozen lock is not changed by freezing again. " + "; ".join(str(one) for one in refused))
    new_marks = [mark for mark in marks if lock.mark(mark.id) is None]
    new_claims = [claim for claim in claims if lock.claim(claim.id) is None]
    if not new_marks and not new_claims:
        return lock
    changed = msgspec.structs.replace(
        lock,
        marks=_sorted_marks([*lock.marks, *new_marks]),
        claims=tuple(sorted([*lock.claims, *new_claims], key=lambda claim: claim.id)),
    )
    ids = tuple(sorted(_ids(new_marks, new_claims)))
    return extend(changed, event="freeze", ids=ids, at=now, why="added", was="")


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
) -> Lock:
    """Change one frozen thing to what marker, plan or code now say, and keep date, reason and what was there.

    Args:
        lock: the present lock.
        id_: of a mark or claim, or `plan`, `code`, `evaluator`, `data`, `recipes`. `plan` takes the recipes along: a
            plan names its workloads, and another workload has another recipe.
        why: the reason, in words.
        now: UTC, ISO 8601.
        marks: as collected now; a frozen mark that is gone from them is dropped.
        claims: as collected now.
        plan: as it is now.
        bindings: digests as they are now.

    Raises:
        LockError: no reason, nothing of that name, or nothing to change.
    """
    refuse_broken(lock)
    _refuse_twins(marks, claims)
    if not why.strip():
        raise LockError(f"an amendment of {id_} needs its reason: add --passmark-why='…'")
    changed, was = _amended(lock, id_, marks, claims, plan, bindings)
    if msgspec.structs.replace(changed, chain=lock.chain) == lock:
        raise LockError(f"{id_} is already as the lock holds it: change the marker or the plan first")
    return extend(changed, event="amend", ids=(id_,), at=now, why=why.strip(), was=was)


def compare(  # noqa: PLR0913 - one keyword for each thing that can be compared
    lock: Lock,
    *,
    mark: PassMark | None = None,
    claim: Claim | None = None,
    plan_digest: str | None = None,
    code_digest: str | None = None,
    evaluator_digest: str | None = None,
    recipe_digests: Mapping[str, str] = {},
) -> list[Difference]:
    """List what differs from the lock; what is not given is not compared.

    A mark or claim that is not frozen differs as a whole. A recipe that the lock does not bind is not compared.
    """
    found: list[Difference] = []
    if mark is not None:
        found += _struct_differences(mark.id, mark, lock.mark(mark.id))
    if claim is not None:
        found += _struct_differences(claim.id, claim, lock.claim(claim.id))
    for name, digest, expected in (
        ("plan", plan_digest, lock.bindings.plan),
        ("code", code_digest, lock.bindings.code),
        ("evaluator", evaluator_digest, lock.bindings.evaluator),
    ):
        if digest is not None and digest != expected:
            found.append(
                Difference(
                    field=name,
                    found=_short(digest),
                    expected=_short(expected),
                    where=f"restore it, or amend: --passmark-amend={name} --passmark-why='…'",
                )
            )
    for workload, digest in sorted(recipe_digests.items()):
        bound = lock.bindings.recipes.get(workload, digest)
        if digest != bound:
            found.append(
                Difference(
                    field=f"recipes.{workload}",
                    found=_short(digest),
                    expected=_short(bound),
                    where=f"restore the recipe {workload}.toml, or amend: --passmark-amend=recipes --passmark-why='…'",
                )
            )
    return found


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


def _amended(  # noqa: PLR0913, PLR0917 - one value a source of the new content
    lock: Lock,
    id_: str,
    marks: Sequence[PassMark],
    claims: Sequence[Claim],
    plan: Plan | None,
    bindings: Bindings,
) -> tuple[Lock, str]:
    if id_ == "plan":
        was = {"plan": lock.bindings.plan, "planned": lock.planned, "recipes": lock.bindings.recipes}
        renewed = msgspec.structs.replace(lock.bindings, plan=bindings.plan, recipes=bindings.recipes)
        return msgspec.structs.replace(lock, bindings=renewed, planned=planned_of(plan)), _json(was)
    if id_ in BINDINGS:
        before = getattr(lock.bindings, id_)
        renewed = msgspec.structs.replace(lock.bindings, **{id_: getattr(bindings, id_)})
        return msgspec.structs.replace(lock, bindings=renewed), _json({id_: before})
    frozen_mark, frozen_claim = lock.mark(id_), lock.claim(id_)
    if frozen_mark is not None:
        kept = [mark for mark in lock.marks if mark.id != id_]
        new_marks = _sorted_marks([*kept, *(mark for mark in marks if mark.id == id_)])
        return msgspec.structs.replace(lock, marks=new_marks), _json(frozen_mark)
    if frozen_claim is not None:
        others = [claim for claim in lock.claims if claim.id != id_]
        new_claims = sorted([*others, *(claim for claim in claims if claim.id == id_)], key=lambda claim: claim.id)
        return msgspec.structs.replace(lock, claims=tuple(new_claims)), _json(frozen_claim)
    known = ", ".join([*lock.ids, *BINDINGS])
    raise LockError(
        f"the lock holds nothing called {id_!r}; it holds {known}. A new mark is added by --passmark-freeze"
    )


def _struct_differences(id_: str, found: PassMark | Claim, frozen: PassMark | Claim | None) -> list[Difference]:
    if frozen is None:
        where = "add it by --passmark-freeze before the first run"
        return [Difference(field=id_, found="a mark in a test", expected="nothing of that name", where=where)]
    where = f"restore the marker of {id_}, or amend: --passmark-amend={id_} --passmark-why='…'"
    return [
        Difference(field=f"{id_}.{name}", found=repr(now), expected=repr(then), where=where)
        for name in found.__struct_fields__
        if (now := getattr(found, name)) != (then := getattr(frozen, name))
    ]


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


def _short(digest: str) -> str:
    return f"{digest[:12]}…" if digest else "none"
