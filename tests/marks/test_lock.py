"""The lock: what freezing keeps, what an amendment adds, and that no edit by hand goes unseen."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.lock import Bindings, Lock, amend, broken_seals, compare, freeze, lock_digest, missing_from
from pytest_mixgpu.marks.lock_file import lock_text, parse_lock, read_lock, write_lock
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.records.plan_file import plan_digest
from tests.judging import e1_marks, freeze_e1
from tests.samples import e1_plan

LATER = "2026-11-30T09:00:00+00:00"
BINDINGS = Bindings(plan="aa", code="bb", evaluator="cc")
MARK = PassMark(id="m", metric="speedup", comparator="at_least", bound=0.7, unit="x", of="ideal")
CLAIM = Claim(id="c", checks=("wait-stated",))


def small_lock(mark: PassMark = MARK) -> Lock:
    return freeze(None, [mark], [CLAIM], suite="s", plan=None, bindings=BINDINGS, now="2026-11-29T10:00:00+00:00")


def amended(lock: Lock, id_: str = "m", why: str = "the devices changed", **changes: object) -> Lock:
    marks = [replace(mark, **changes) for mark in lock.marks]
    return amend(lock, id_, why, LATER, marks=marks, claims=lock.claims, plan=None, bindings=BINDINGS)


def test_our_own_lock_holds_everything_that_it_judges_by() -> None:
    """Marks, claims, digests, number of runs, seeds and thresholds of `disturbed` are frozen."""
    plan = e1_plan()
    lock = freeze_e1(plan)

    assert [mark.id for mark in e1_marks().marks] == sorted(mark.id for mark in lock.marks)[::-1]
    assert 10 == len(lock.claims)
    assert plan_digest(plan) == lock.bindings.plan
    assert lock.planned is not None
    assert (plan.seeds, plan.disturbance) == (lock.planned.seeds, lock.planned.disturbance)
    assert () == broken_seals(lock)


def test_lock_reads_back_as_it_was_written(tmp_path: Path) -> None:
    """TOML and back, with everything that is optional left out or not."""
    lock = amended(freeze_e1(e1_plan()), "e1-speedup", bound=0.75)
    write_lock(tmp_path / "passmarks.lock", lock)

    assert lock == read_lock(tmp_path / "passmarks.lock")
    assert lock_digest(lock) == lock_digest(read_lock(tmp_path / "passmarks.lock"))
    assert ["passmarks.lock"] == [path.name for path in tmp_path.iterdir()]


def test_no_lock_is_none(tmp_path: Path) -> None:
    """A suite whose marks were never frozen has no lock, and its digest is empty."""
    assert read_lock(tmp_path / "passmarks.lock") is None
    assert "" == lock_digest(None)


def test_one_table_a_mark() -> None:
    """People read and review the lock: each mark stands in a table of its own, its bound as it was written."""
    text = lock_text(small_lock())

    assert text.count("[[marks]]") == 1
    assert "bound = 0.7\n" in text
    assert text.startswith("#")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        pytest.param("schema = ", "is no TOML", id="no-toml"),
        pytest.param("schema = 4\n", "found schema 4, expected 1, 2 or 3", id="other-schema"),
        pytest.param("", "found schema None", id="empty"),
        pytest.param("schema = 1\nsuite = 's'\n", "missing required field", id="field-missing"),
    ],
)
def test_unreadable_lock_is_refused(text: str, says: str) -> None:
    """A lock that cannot be read judges nothing, and is named."""
    with pytest.raises(LockError, match=says):
        parse_lock(text, where="passmarks.lock")


def test_unknown_key_in_a_lock_is_refused() -> None:
    """What this version does not know it does not skip."""
    text = lock_text(small_lock()).replace("[bindings]\n", '[bindings]\nextra = "x"\n')

    with pytest.raises(LockError, match="extra"):
        parse_lock(text, where="passmarks.lock")


@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        pytest.param("bound = 0.7", "bound = 0.1", "edited by hand", id="bound"),
        pytest.param('unit = "x"', 'unit = "y"', "edited by hand", id="unit"),
        pytest.param('code = "bb"', 'code = "bc"', "edited by hand", id="code-digest"),
        pytest.param('"wait-stated"', '"limits-stated"', "edited by hand", id="checks"),
        pytest.param('frozen_at = "2026-11-29', 'frozen_at = "2026-11-28', "frozen_at 2026-11-28", id="date"),
        pytest.param(
            'at = "2026-11-29T10:00:00+00:00"\nwhy', 'at = "2026-11-01T10:00:00+00:00"\nwhy', "seal", id="date-in-chain"
        ),
        pytest.param("the devices changed", "no reason", "does not match its seal", id="reason"),
    ],
)
def test_any_edit_by_hand_breaks_a_seal(old: str, new: str, says: str) -> None:
    """The text of a frozen and amended lock, changed in one place."""
    text = lock_text(amended(small_lock(), of=None, bound=0.7))
    assert old in text, text

    broken = broken_seals(parse_lock(text.replace(old, new, 1), where="lock"))

    assert any(says in fault for fault in broken), broken


@pytest.mark.parametrize("drop", [0, 1, 2])
def test_an_entry_that_is_cut_from_the_chain_is_missed(drop: int) -> None:
    """Neither the first freeze, nor an amendment, nor the last entry can go."""
    lock = amended(amended(small_lock(), bound=0.8), why="again", bound=0.6)
    chain = tuple(entry for number, entry in enumerate(lock.chain) if number != drop)

    assert broken_seals(replace(lock, chain=chain))


def test_freezing_again_changes_nothing_and_adds_what_is_new() -> None:
    """A second freeze with the same marks is the same lock; a new mark makes a new entry."""
    lock = small_lock()
    again = freeze(lock, [MARK], [CLAIM], suite="s", plan=None, bindings=BINDINGS, now=LATER)
    new = replace(MARK, id="n", bound=0.9)
    more = freeze(lock, [MARK, new], [CLAIM], suite="s", plan=None, bindings=BINDINGS, now=LATER)

    assert lock == again
    assert ("freeze", ("n",), LATER) == (more.chain[-1].event, more.chain[-1].ids, more.chain[-1].at)
    assert (lock.frozen_at, LATER) == (more.frozen_since("m"), more.frozen_since("n"))
    assert () == broken_seals(more)


@pytest.mark.parametrize(
    ("marks", "claims", "plan_now", "says"),
    [
        pytest.param(
            [replace(MARK, bound=0.6)], [], "aa", "m.bound: the marker has 0.6, passmarks.lock has 0.7", id="bound"
        ),
        pytest.param([], [replace(CLAIM, checks=("limits-stated",))], "aa", "c.checks", id="checks"),
        pytest.param(
            [MARK], [CLAIM], "ab" * 32, "plan: benchmark.toml has abababababab…, passmarks.lock has aa", id="plan"
        ),
        pytest.param([MARK, replace(MARK, unit="y")], [], "aa", "two tests carry the id", id="twins"),
    ],
)
def test_freezing_never_changes_what_is_frozen(
    marks: list[PassMark], claims: list[Claim], plan_now: str, says: str
) -> None:
    """The refusal names the field, both values and the flag that does it openly."""
    bindings = replace(BINDINGS, plan=plan_now)

    with pytest.raises(LockError) as caught:
        freeze(small_lock(), marks, claims, suite="s", plan=None, bindings=bindings, now=LATER)

    assert says in str(caught.value)


def test_freezing_nothing_is_refused() -> None:
    """A lock without a mark would freeze nothing."""
    with pytest.raises(LockError, match="no mark and no claim"):
        freeze(None, [], [], suite="s", plan=None, bindings=BINDINGS, now=LATER)


def test_amendment_keeps_when_why_and_from_what() -> None:
    """The mark is as it is now, and the chain holds what it was."""
    lock = amended(small_lock(), bound=0.6)
    entry = lock.chain[-1]

    assert ("amend", ("m",), LATER, "the devices changed") == (entry.event, entry.ids, entry.at, entry.why)
    assert '"bound":0.7' in entry.was
    assert 0.6 == lock.marks[0].bound
    assert (entry,) == lock.amendments("m", "plan")
    assert () == broken_seals(lock)


def test_plan_code_and_data_can_be_amended_by_name() -> None:
    """What the numbers are bound to changes openly too; what is not named stays."""
    bindings = Bindings(plan="a2", code="b2", evaluator="c2", data={"digits-vit": "d2"})
    lock = small_lock()
    for name in ("plan", "code", "data"):
        lock = amend(lock, name, f"new {name}", LATER, marks=[MARK], claims=[CLAIM], plan=None, bindings=bindings)

    assert ("a2", "b2", "cc", {"digits-vit": "d2"}) == (
        lock.bindings.plan, lock.bindings.code, lock.bindings.evaluator, lock.bindings.data,
    )  # fmt: skip
    assert () == broken_seals(lock)


RECIPES = {"digits-vit": "d0" * 32, "pets-vit-b16": "e0" * 32}


def lock_with_recipes() -> Lock:
    bindings = replace(BINDINGS, recipes=RECIPES)
    return freeze(None, [MARK], [CLAIM], suite="s", plan=None, bindings=bindings, now="2026-11-29T10:00:00+00:00")


def test_a_changed_recipe_is_named_with_both_digests_and_where_to_change_it() -> None:
    """Optimizer, augmentation and input stand in the recipe; one that the lock does not bind is not compared."""
    now = RECIPES | {"digits-vit": "ab" * 32, "unknown": "00" * 32}
    (difference,) = compare(lock_with_recipes(), recipe_digests=now)

    assert ("recipes.digits-vit", "abababababab…", "d0d0d0d0d0d0…") == (
        difference.field, difference.found, difference.expected,
    )  # fmt: skip
    assert "digits-vit.toml" in difference.where
    assert "--passmark-amend=recipes" in difference.where
    assert [] == compare(small_lock(), recipe_digests=now)


def test_freezing_again_with_a_changed_recipe_is_refused() -> None:
    """As with a changed plan."""
    bindings = replace(BINDINGS, recipes=RECIPES | {"digits-vit": "ab" * 32})

    with pytest.raises(LockError, match=r"digits-vit\.toml has abababababab…, passmarks\.lock has d0d0d0d0d0d0…"):
        freeze(lock_with_recipes(), [MARK], [CLAIM], suite="s", plan=None, bindings=bindings, now=LATER)


@pytest.mark.parametrize("id_", ["recipes", "plan"])
def test_recipes_are_amended_by_name_and_with_the_plan(id_: str) -> None:
    """The chain holds what they were; the lock survives its file."""
    new = {"digits-vit": "ab" * 32}
    bindings = replace(BINDINGS, recipes=new)
    lock = amend(
        lock_with_recipes(), id_, "another rate", LATER, marks=[MARK], claims=[CLAIM], plan=None, bindings=bindings
    )

    assert new == lock.bindings.recipes
    assert RECIPES["pets-vit-b16"] in lock.chain[-1].was
    assert lock == parse_lock(lock_text(lock), where="lock")
    assert () == broken_seals(lock)


def test_a_deleted_mark_is_dropped_by_an_amendment_only() -> None:
    """The lock misses what is gone from the tests; dropping it leaves its last state in the chain."""
    lock = small_lock()
    assert ("m",) == missing_from(lock, ["c"])

    dropped = amend(lock, "m", "withdrawn", LATER, marks=[], claims=[CLAIM], plan=None, bindings=BINDINGS)

    assert () == dropped.marks
    assert '"id":"m"' in dropped.chain[-1].was


@pytest.mark.parametrize(
    ("id_", "why", "says"),
    [
        pytest.param("m", " ", "needs its reason", id="no-reason"),
        pytest.param("nope", "because", "holds nothing called 'nope'", id="unknown"),
        pytest.param("m", "because", "already as the lock holds it", id="nothing-to-change"),
        pytest.param("code", "because", "already as the lock holds it", id="same-code"),
    ],
)
def test_amendments_without_substance_are_refused(id_: str, why: str, says: str) -> None:
    """An amendment has a reason and a change."""
    with pytest.raises(LockError, match=says):
        amend(small_lock(), id_, why, LATER, marks=[MARK], claims=[CLAIM], plan=None, bindings=BINDINGS)


def test_a_lock_that_was_edited_is_not_built_upon() -> None:
    """Freezing or amending would seal the edit."""
    edited = replace(small_lock(), marks=(replace(MARK, bound=0.1),))

    with pytest.raises(LockError, match="edited by hand"):
        freeze(edited, [replace(MARK, bound=0.1)], [CLAIM], suite="s", plan=None, bindings=BINDINGS, now=LATER)
    with pytest.raises(LockError, match="edited by hand"):
        amended(edited, bound=0.2)


def test_differences_name_field_values_and_where_to_change() -> None:
    """What a person needs to mend it."""
    (difference,) = compare(small_lock(), mark=replace(MARK, bound=0.6))

    assert ("m.bound", "0.6", "0.7") == (difference.field, difference.found, difference.expected)
    assert "--passmark-amend=m" in difference.where


@given(
    bound=st.floats(allow_nan=False, allow_infinity=False),
    unit=st.text(min_size=1, max_size=5).filter(str.strip),
    why=st.text(min_size=1, max_size=40).filter(str.strip),
)
def test_any_mark_and_any_reason_survive_the_file(bound: float, unit: str, why: str) -> None:
    """Numbers keep their last digit, texts every character that TOML can hold."""
    mark = replace(MARK, bound=bound, unit=unit)
    lock = small_lock(mark)
    if bound != 1.0:
        lock = amend(
            lock, "m", why, LATER, marks=[replace(mark, bound=1.0)], claims=[CLAIM], plan=None, bindings=BINDINGS
        )

    assert lock == parse_lock(lock_text(lock), where="lock")
    assert () == broken_seals(parse_lock(lock_text(lock), where="lock"))
