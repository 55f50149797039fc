"""Doctored locks: something edited in marker and lock together, and one change of the chain sealed again to fit.

The lock that they start from has three changes: frozen without `e1-parity`, `e1-parity` frozen, the judge amended.
"""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from msgspec.structs import replace

from pytest_mixgpu.marks.lock import Bindings, Lock, amend, freeze
from pytest_mixgpu.marks.lock_chain import extend
from pytest_mixgpu.marks.lock_file import ChainEntry, seal_of, state_digest
from pytest_mixgpu.marks.sealed_parts import parts_of
from tests.judging import e1_marks, freeze_e1
from tests.marks.lock_parts import as_schema_2, resealed
from tests.samples import e1_plan

LATER = "2026-11-29T11:00:00+00:00"
"""Before the first run."""
SPEEDUP, PARITY = "e1-speedup", "e1-parity"
Entries = list[ChainEntry]


class LockCase(NamedTuple):
    """One doctored lock."""

    what: str
    make: Callable[[Lock], Lock]
    says: str
    """Words of the fault."""


def grown() -> Lock:
    """Freeze in two steps, and amend the judge."""
    suite, plan = e1_marks(), e1_plan()
    first = freeze_e1(plan)
    bindings = replace(
        first.bindings, judge="aa" * 32, data={"digits-vit": "da" * 32}, tests=dict.fromkeys(first.ids, "7e" * 32)
    )
    others = [mark for mark in suite.marks if mark.id != PARITY]
    lock = freeze(None, others, suite.claims, suite=plan.id, plan=plan, bindings=bindings, now=first.frozen_at)
    lock = freeze(lock, suite.marks, suite.claims, suite=plan.id, plan=plan, bindings=bindings, now=LATER)
    return amended(lock, "judge", bindings=replace(bindings, judge="bb" * 32))


def amended(lock: Lock, id_: str, *, bindings: Bindings | None = None, bound: float | None = None) -> Lock:
    """Amend one thing as people do."""
    suite = e1_marks()
    marks = [mark if bound is None or mark.id != id_ else replace(mark, bound=bound) for mark in suite.marks]
    return amend(
        lock, id_, "devices changed", LATER, marks=marks, claims=suite.claims, plan=e1_plan(),
        bindings=bindings or lock.bindings,
    )  # fmt: skip


def easier(lock: Lock) -> Lock:
    """Lower the bound of a mark."""
    return replace(lock, marks=tuple(replace(mark, bound=0.1) if mark.id == SPEEDUP else mark for mark in lock.marks))


def bound_to(**changes: object) -> Callable[[Lock], Lock]:
    """Bind an edited lock to other things."""
    return lambda lock: replace(lock, bindings=replace(lock.bindings, **changes))


def fewer_checks(lock: Lock) -> Lock:
    """Take a check from a claim."""
    return replace(
        lock,
        claims=tuple(replace(one, checks=one.checks[1:]) if one.id == "e1-cost" else one for one in lock.claims),
    )


def other_seeds(lock: Lock) -> Lock:
    """Plan other seeds, in what the lock holds of the plan by value."""
    assert lock.planned is not None
    return replace(lock, planned=replace(lock.planned, seeds=replace(lock.planned.seeds, base=7)))


def with_chain(lock: Lock, chain: Sequence[ChainEntry]) -> Lock:
    """Put another chain into a lock, and seal every change of it anew."""
    sealed: Entries = []
    for entry in chain:
        new = replace(entry, previous=sealed[-1].seal if sealed else "")
        sealed.append(replace(new, seal=seal_of(new)))
    longer = replace(lock, chain=tuple(sealed))
    last = replace(sealed[-1], state=state_digest(longer))
    return replace(lock, chain=(*sealed[:-1], replace(last, seal=seal_of(last))))


def with_entry(place: int, **changes: Any) -> Callable[[Lock], Lock]:
    """Change fields of one change, and seal it and all after it anew."""
    return lambda lock: with_chain(
        lock, [replace(entry, **changes) if at == place else entry for at, entry in enumerate(lock.chain)]
    )


def sealed_from(lock: Lock, place: int) -> Lock:
    """Seal all changes from one on as if the lock had been then, in one mark, as it is now."""
    now = {f"mark {SPEEDUP}": parts_of(lock)[f"mark {SPEEDUP}"]}
    chain = [
        entry if at < place or entry.parts is None else replace(entry, parts=entry.parts | now)
        for at, entry in enumerate(lock.chain)
    ]
    return with_chain(lock, chain)


def merged(event: str, *ids: str) -> Callable[[Lock], Lock]:
    """Make one change of the last two."""
    return lambda lock: with_chain(lock, [*lock.chain[:-2], replace(lock.chain[-1], event=event, ids=ids, was="{}")])


def _edited(name: str, edit: Callable[[Lock], Lock], part: str) -> LockCase:
    says = f"{part} differs between change 2 and change 3 of the lock, which names only judge"
    return LockCase(f"{name}-under-a-change-of-the-judge", lambda lock: resealed(edit(lock)), says)


LOCK_CASES = (
    _edited("a-mark", easier, "mark e1-speedup"),
    _edited("a-mark-gone", lambda lock: replace(lock, marks=lock.marks[:1]), "mark e1-speedup"),
    _edited("a-claim", fewer_checks, "claim e1-cost"),
    _edited("the-plan", bound_to(plan="00" * 32), "plan"),
    _edited("the-code", bound_to(code="00" * 32), "code"),
    _edited("the-evaluator", bound_to(evaluator="00" * 32), "evaluator"),
    _edited("the-data", bound_to(data={"digits-vit": "00" * 32}), "data of digits-vit"),
    _edited("data-unbound", bound_to(data={}), "data of digits-vit"),
    _edited("more-data", bound_to(data={"digits-vit": "da" * 32, "x": "00" * 32}), "data of x"),
    _edited("a-recipe", bound_to(recipes={"digits-vit": "00" * 32}), "recipe of digits-vit"),
    _edited("the-tests-unbound", bound_to(tests={}), "test of e1-speedup"),
    _edited("planned-runs", other_seeds, "planned"),
    _edited("the-suite", lambda lock: replace(lock, suite="e2"), "suite"),
    LockCase(
        "the-two-last-changes-sealed-again",
        lambda lock: sealed_from(easier(lock), 1),
        "mark e1-speedup differs between change 1 and change 2 of the lock, which names only e1-parity",
    ),
    LockCase(
        "digests-left-as-they-were",
        lambda lock: with_chain(easier(lock), lock.chain),
        "mark e1-speedup is not as change 3 of the lock, its last, sealed it",
    ),
    LockCase(
        "digests-of-the-last-change-dropped",
        lambda lock: with_entry(2, parts=None)(easier(lock)),
        "change 3 of the lock, its last, does not seal each part by itself",
    ),
    LockCase(
        "digests-of-a-change-dropped",
        with_entry(1, parts=None),
        "change 2 of the lock does not seal each part by itself: the digests were dropped",
    ),
    LockCase(
        "digests-of-the-first-changes-dropped",
        lambda lock: with_chain(lock, [*(replace(entry, parts=None) for entry in lock.chain[:2]), lock.chain[2]]),
        "change 3 of the lock is the first that seals each part, and none before it binds what stood",
    ),
    LockCase(
        "schema-lowered",
        lambda lock: with_entry(2, parts=None)(replace(easier(lock), schema=2)),
        "the lock says schema 2, and change 1 of it seals each part by itself",
    ),
    LockCase(
        "another-id-added-that-was-edited",
        lambda lock: with_entry(2, ids=("judge", SPEEDUP))(resealed(easier(lock))),
        "change 3 of the lock amends 2 things (judge, e1-speedup)",
    ),
    LockCase(
        "another-id-added-that-was-not-edited",
        with_entry(2, ids=("judge", SPEEDUP)),
        "change 3 of the lock amends e1-speedup, which is the same in change 2",
    ),
    LockCase(
        "another-id-in-the-place-of-the-true-one",
        lambda lock: with_entry(2, ids=(SPEEDUP,))(resealed(easier(lock))),
        "judge differs between change 2 and change 3 of the lock, which names only e1-speedup",
    ),
    LockCase(
        "an-old-mark-among-those-that-were-added",
        lambda lock: with_entry(1, ids=(PARITY, SPEEDUP))(sealed_from(easier(lock), 1)),
        "change 2 of the lock freezes e1-speedup, which it does not add",
    ),
    LockCase(
        "a-mark-less-among-those-that-were-frozen",
        with_entry(0, ids=tuple(claim.id for claim in e1_marks().claims)),
        "change 1 of the lock holds mark e1-speedup, and names only",
    ),
    LockCase(
        "a-mark-more-among-those-that-were-frozen",
        lambda lock: with_entry(0, ids=(*lock.chain[0].ids, "e1-x"))(lock),
        "change 1 of the lock names e1-x, which it does not hold",
    ),
    LockCase(
        "an-amendment-called-a-freeze",
        with_entry(2, event="freeze"),
        "change 3 of the lock freezes judge, which it does not add",
    ),
    LockCase(
        "a-freeze-called-an-amendment",
        with_entry(1, event="amend", was="{}"),
        "change 2 of the lock amends e1-parity, which is the same in change 1",
    ),
    LockCase(
        "two-changes-made-one-amendment",
        merged("amend", "judge"),
        "mark e1-parity differs between change 1 and change 2 of the lock, which names only judge",
    ),
    LockCase(
        "two-changes-made-one-freeze",
        merged("freeze", PARITY),
        "judge differs between change 1 and change 2 of the lock, which names only e1-parity",
    ),
    LockCase(
        "an-easier-mark-before-the-true-one",
        lambda lock: resealed(replace(lock, marks=(*easier(lock).marks[-1:], *lock.marks))),
        "the lock holds e1-speedup more than once",
    ),
    LockCase(
        "a-milder-account-of-an-amendment",
        lambda lock: with_entry(3, was='{"id":"e1-speedup","bound":0.61}')(amended(lock, SPEEDUP, bound=0.6)),
        "change 4 of the lock tells another mark e1-speedup than change 3 sealed",
    ),
    LockCase(
        "no-account-of-an-amendment",
        with_entry(2, was=" "),
        "change 3 of the lock does not say what was there before it",
    ),
    LockCase(
        "another-account-of-the-judge",
        with_entry(2, was='{"judge":"00"}'),
        "change 3 of the lock tells another judge than change 2 sealed",
    ),
    LockCase(
        "a-recipe-left-out-of-an-account",
        lambda lock: with_entry(3, was='{"recipes":{}}')(
            amended(lock, "recipes", bindings=bound_to(recipes={"digits-vit": "00" * 32})(lock).bindings)
        ),
        "change 4 of the lock tells another recipe of digits-vit than change 3 sealed",
    ),
    LockCase(
        "an-older-lock-changed-without-binding-it",
        lambda _: extend(
            bound_to(code="00" * 32)(easier(as_schema_2(freeze_e1(e1_plan())))),
            event="amend",
            ids=("code",),
            at=LATER,
            why="devices changed",
            was="{}",
        ),
        "change 2 of the lock is the first that seals each part, and none before it binds what stood",
    ),
    LockCase(
        "an-older-lock-edited-and-bound",
        lambda _: extend(
            easier(as_schema_2(freeze_e1(e1_plan()))), event="bind", ids=(), at=LATER, why="so it stands", was=""
        ),
        "change 2 of the lock, its last, binds what stood before a change, and the change is not there",
    ),
    LockCase(
        "an-older-lock-bound-in-the-name-of-a-mark",
        lambda _: with_entry(1, ids=(SPEEDUP,))(amended(as_schema_2(freeze_e1(e1_plan())), SPEEDUP, bound=0.6)),
        "change 2 of the lock is the first that seals each part, and none before it binds what stood",
    ),
    LockCase(
        "bound-once-more",
        lambda lock: extend(easier(lock), event="bind", ids=(), at=LATER, why="so it stands", was=""),
        "change 4 of the lock binds what the change before it had bound already",
    ),
)
"""Each leaves a lock in which every seal fits, and none of them leaves `amended` on the mark."""
