"""Every change of a lock seals every part of it: no honest change is called an edit, and no edit is lost."""

from collections.abc import Callable
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.lock import Bindings, Lock, amend, broken_seals, digests_since, freeze
from pytest_mixgpu.marks.lock_file import lock_text, parse_lock, seal_of, state_digest
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.marks.sealed_parts import parts_of
from pytest_mixgpu.records.plan_file import plan_digest
from tests.marks.lock_parts import MARK, amended, as_schema_1, as_schema_2, frozen, present_of
from tests.samples import e1_plan

WHAT = ("plan", "code", "evaluator", "data", "recipes", "judge", "tests")
MARKS, CLAIMS = ("m1", "m2", "m3"), ("c1", "c2")


def moment(number: int) -> str:
    return f"2026-11-29T10:{number:02d}:00+00:00"


class Team:
    """What a suite says at each moment, and the lock that follows it by freezes and amendments alone."""

    def __init__(self) -> None:
        self.lock: Lock | None = None
        self.marks: dict[str, PassMark] = {}
        self.claims: dict[str, Claim] = {}
        self.plan = e1_plan()
        self.bindings = Bindings(plan=plan_digest(self.plan), code="c", evaluator="e", judge="j")
        self.recipes = {"w": "r"}
        self.data = {"w": "d"}
        self.tests: dict[str, str] = {}
        self._now = 0

    def tick(self) -> int:
        self._now += 1
        return self._now

    def write(self, id_: str) -> None:
        """Write a marker and its test into the suite, or change one that is there."""
        if id_ in MARKS:
            number = self.tick()
            changes = {"bound": float(number)} if number % 2 else {"least_runs": number}
            self.marks[id_] = replace(self.marks.get(id_, MARK), id=id_, **changes)
        else:
            self.claims[id_] = Claim(id=id_, checks=("wait-stated",) * self.tick())
        self.tests.setdefault(id_, f"t{self.tick()}")

    def drop(self, id_: str) -> None:
        """Take a marker out of the suite."""
        self.marks.pop(id_, None)
        self.claims.pop(id_, None)
        self.tests.pop(id_, None)

    def change(self, what: str) -> None:
        """Change what can be amended besides; a plan may name another workload."""
        new = str(self.tick())
        if what == "plan":
            self.plan = replace(self.plan, question=new, seeds=replace(self.plan.seeds, runs=int(new)))
            self.recipes = {"w": "r", **({"x": new} if self.tick() % 3 else {})}
        elif what == "recipes":
            self.recipes = {**self.recipes, "w": new}
        elif what == "data":
            self.data = {**self.data, new: new}
        elif what == "tests":
            self.tests = {id_: f"{digest}." for id_, digest in self.tests.items()}
        else:
            self.bindings = replace(self.bindings, **{what: new})

    @property
    def now(self) -> Bindings:
        return replace(
            self.bindings, plan=plan_digest(self.plan), recipes=self.recipes, data=self.data, tests=dict(self.tests)
        )

    def freeze(self) -> None:
        self.lock = freeze(
            self.lock, list(self.marks.values()), list(self.claims.values()), suite="s", plan=self.plan,
            bindings=self.now, now=moment(self.tick()),
        )  # fmt: skip

    def amend(self, id_: str) -> None:
        assert self.lock is not None
        self.lock = amend(
            self.lock, id_, "so it is", moment(self.tick()), marks=list(self.marks.values()),
            claims=list(self.claims.values()), plan=self.plan, bindings=self.now,
        )  # fmt: skip

    def do(self, step: tuple[str, str]) -> None:
        """Do one thing; what the lock refuses is not done."""
        act, what = step
        if act == "change" and what in WHAT:
            self.change(what)
        elif act == "change":
            self.write(what)
        elif act == "drop":
            self.drop(what)
        with suppress(LockError):
            self.freeze() if act == "freeze" else self.amend(what)


IDS = st.sampled_from([*MARKS, *CLAIMS])
STEPS = st.lists(
    st.tuples(st.just("change"), IDS)
    | st.tuples(st.just("change"), st.sampled_from(WHAT))
    | st.tuples(st.just("drop"), IDS)
    | st.tuples(st.just("freeze"), st.just("")),
    max_size=10,
)


def grown(steps: list[tuple[str, str]], *, schema: int = 3) -> Lock:
    """Freeze a mark and a claim, and go on from there; the first state may be of an older schema."""
    team = Team()
    team.write("m1")
    team.write("c1")
    team.freeze()
    assert team.lock is not None
    if schema < 3:
        team.lock = {1: as_schema_1, 2: as_schema_2}[schema](team.lock)
    for step in steps:
        team.do(step)
    return team.lock


@settings(max_examples=150, deadline=None)
@given(steps=STEPS, schema=st.sampled_from([1, 2, 3]))
def test_no_honest_history_is_called_an_edit(steps: list[tuple[str, str]], schema: int) -> None:
    """Whatever is frozen, amended, withdrawn and frozen again, in an older lock too; and the file keeps it."""
    lock = grown(steps, schema=schema)

    assert () == broken_seals(lock)
    assert () == broken_seals(parse_lock(lock_text(lock), where="lock"))
    if lock.schema == 3:
        assert parts_of(lock) == lock.chain[-1].parts
        assert (schema < 3) == (1 == sum(entry.event == "bind" for entry in lock.chain))


Edit = Callable[[Lock], Lock]


def edits_of(lock: Lock) -> dict[str, tuple[str, Edit]]:
    """Return edits of every mark, claim and binding of a lock, by what is edited: what is to name it, and how."""

    def marks(id_: str, **changes: object) -> Edit:
        return lambda one: replace(
            one, marks=tuple(replace(mark, **changes) if mark.id == id_ else mark for mark in one.marks)
        )

    def without(id_: str) -> Edit:
        return lambda one: replace(
            one,
            marks=tuple(mark for mark in one.marks if mark.id != id_),
            claims=tuple(claim for claim in one.claims if claim.id != id_),
        )

    def claims(id_: str) -> Edit:
        return lambda one: replace(one, claims=tuple(replace(c, checks=()) if c.id == id_ else c for c in one.claims))

    def bound(**changes: object) -> Edit:
        return lambda one: replace(one, bindings=replace(one.bindings, **changes))

    def planned(one: Lock) -> Lock:
        assert one.planned is not None
        return replace(one, planned=replace(one.planned, rehearsal_seeds=None))

    found: dict[str, tuple[str, Edit]] = {"planned": ("plan", planned)}
    for mark in lock.marks:
        found[f"bound of {mark.id}"] = (mark.id, marks(mark.id, bound=0.001))
        found[f"runs of {mark.id}"] = (mark.id, marks(mark.id, least_runs=9))
    found |= {f"checks of {claim.id}": (claim.id, claims(claim.id)) for claim in lock.claims}
    found |= {f"{id_} gone": (id_, without(id_)) for id_ in lock.ids}
    for what in WHAT:
        value = getattr(lock.bindings, what)
        if isinstance(value, str):
            found[what] = (what, bound(**{what: "edited"}))
            continue
        for name in value:
            found[f"{what} {name}"] = (what, bound(**{what: {**value, name: "edited"}}))
            rest = {other: digest for other, digest in value.items() if other != name}
            found[f"{what} {name} gone"] = (what, bound(**{what: rest}))
    return found


def also(id_: str) -> tuple[str, ...]:
    """Return what an amendment may be called that changes it: a plan takes its recipes along."""
    return (id_, "plan") if id_ == "recipes" else (id_,)


def sealed_at(lock: Lock, place: int, *, to: int) -> Lock:
    """Seal changes anew, from one to another, as if the lock had been then what it is now where it was edited."""
    sealed, before, now = list(lock.chain[:place]), lock.chain[-1].parts or {}, parts_of(lock)
    differing = {name for name in {*before, *now} if before.get(name) != now.get(name)}
    for at in range(place, len(lock.chain)):
        entry = lock.chain[at]
        if at <= to:
            parts = {name: digest for name, digest in (entry.parts or {}).items() if name not in differing}
            parts |= {name: now[name] for name in differing & now.keys()}
            entry = replace(
                entry,
                previous=sealed[-1].seal if sealed else "",
                parts=None if entry.parts is None else parts,
                state=state_digest(lock) if at == len(lock.chain) - 1 else entry.state,
            )
            entry = replace(entry, seal=seal_of(entry))
        sealed.append(entry)
    return replace(lock, chain=tuple(sealed))


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, schema=st.sampled_from([2, 3]), data=st.data())
def test_an_edit_is_broken_or_an_amendment_whichever_change_is_sealed_again(
    steps: list[tuple[str, str]], schema: int, data: st.DataObject
) -> None:
    """One edit, and one change of several that is made to fit: it is told, or what was edited shows `amended`."""
    lock = grown([*steps, ("change", "judge"), ("change", "code")], schema=schema)
    edits = edits_of(lock)
    what = data.draw(st.sampled_from(sorted(edits)))
    place = data.draw(st.integers(0, len(lock.chain) - 1))
    id_, edit = edits[what]

    edited = sealed_at(edit(lock), place, to=place)

    assert broken_seals(edited) or edited.amendments(*also(id_)), (what, place)


@settings(max_examples=200, deadline=None)
@given(steps=STEPS, schema=st.sampled_from([2, 3]), data=st.data())
def test_an_edit_stays_untold_only_if_the_chain_is_rebuilt_from_where_it_was_frozen(
    steps: list[tuple[str, str]], schema: int, data: st.DataObject
) -> None:
    """From an amendment of it on, it shows `amended` as before; from the freeze on nothing is left that could tell."""
    lock = grown([*steps, ("change", "judge"), ("change", "code")], schema=schema)
    edits = edits_of(lock)
    what = data.draw(st.sampled_from(sorted(edits)))
    place = data.draw(st.integers(0, len(lock.chain) - 1))
    id_, edit = edits[what]
    mine = what.split(" ")[1] if id_ == "tests" else id_
    frozen_at = [at for at, entry in enumerate(lock.chain) if entry.event == "freeze" and mine in entry.ids]
    bound_at = [at for at, entry in enumerate(lock.chain) if entry.event == "bind"]

    edited = sealed_at(edit(lock), place, to=len(lock.chain) - 1)

    if place > max([0, *frozen_at, *bound_at]):
        assert broken_seals(edited) or edited.amendments(*also(id_)), (what, place)


@pytest.mark.parametrize("older", [as_schema_1, as_schema_2], ids=["schema-1", "schema-2"])
def test_an_older_lock_is_bound_before_it_is_changed(older: Callable[[Lock], Lock]) -> None:
    """One change more, which changes nothing: what it was made under stays in force, and both state what stood."""
    before, now = older(frozen()), present_of(conduct_py="11" * 32)
    lock = amended(before, "code", now)
    bind = lock.chain[1]

    assert ["freeze", "bind", "amend"] == [entry.event for entry in lock.chain]
    assert ((), parts_of(before)) == (bind.ids, bind.parts)
    assert (before.chain[0], 3) == (lock.chain[0], lock.schema)
    assert set(digests_since(before, 0)) < set(digests_since(lock, 0))
    assert () == lock.amendments("m")
    assert () == broken_seals(lock)


def test_a_lock_that_was_bound_is_not_bound_again() -> None:
    """Changes that follow are compared with the one before them."""
    now = present_of(bits_py="11" * 32)
    lock = amended(amended(as_schema_2(frozen()), "evaluator", now), "code", now)

    assert ["freeze", "bind", "amend", "amend"] == [entry.event for entry in lock.chain]


def test_what_is_refused_binds_nothing() -> None:
    """A refusal leaves the older lock as it is."""
    old = as_schema_2(frozen())
    again = freeze(old, [MARK], [], suite="s", plan=e1_plan(), bindings=old.bindings, now=moment(59))

    assert old == again
    with pytest.raises(LockError, match="already as the lock holds it"):
        amended(old, "code", present_of())


def test_recipes_alone_may_change_under_a_plan() -> None:
    """Its name says so: a plan takes its recipes along."""
    lock = amended(frozen(), "plan", present_of(None, {"name": "digits-vit", "model": "cnn"}))

    assert ("plan",) == lock.chain[-1].ids
    assert () == broken_seals(lock)
