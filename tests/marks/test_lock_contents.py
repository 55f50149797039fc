"""What the lock holds besides marks: plan, recipes and source files, at a freeze, an amendment, an upgrade."""

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.differences import earlier_values, plain
from pytest_mixgpu.marks.lock import Lock, broken_seals, freeze
from pytest_mixgpu.marks.lock_file import lock_digest, lock_text, parse_lock
from pytest_mixgpu.marks.present import UNKNOWN, Present, changed_sources, code_changes, contradictions
from pytest_mixgpu.records.plan_file import plan_digest
from tests.marks.lock_parts import (
    AFTER_RUNS,
    COVERS,
    LATER,
    MARK,
    RECIPE,
    SOURCES,
    amended,
    another,
    as_schema_1,
    departures,
    field_of,
    frozen,
    leaves,
    present_of,
    resealed,
    with_leaf,
)
from tests.samples import e1_plan


def test_plan_and_recipes_are_frozen_by_value_and_read_back() -> None:
    """Whoever reads the lock alone sees what was to be run."""
    lock = frozen()

    assert plain(e1_plan()) == lock.contents.plan
    assert 248 == lock.contents.recipes["digits-vit"]["input"]["resize"]  # type: ignore[index]
    assert SOURCES == lock.contents.sources
    assert lock == parse_lock(lock_text(lock), where="lock")
    assert [] == departures(lock, e1_plan())


def test_any_edit_of_the_lock_by_hand_breaks_a_seal() -> None:
    """Every leaf of the file that is a value, contents and bindings too."""
    lock = frozen()
    table = msgspec.to_builtins(lock)
    for steps, value in leaves(table):
        if steps[0] == "schema" or value is None:
            continue
        try:
            edited = msgspec.convert(with_leaf(table, steps, another(value)), Lock)
        except msgspec.ValidationError:
            continue
        assert broken_seals(edited), field_of(steps)


def test_contents_that_were_edited_and_sealed_again_differ_from_what_is_there() -> None:
    """Plan and recipes by their fields; a list of files that its digests do not stand for by the file."""
    lock, now = frozen(), present_of()
    plan = with_leaf(lock.contents.plan, ("settings", "rounds"), 7)
    listed = lock.contents.sources | {"pytest_mixgpu/marks/judge.py": "00" * 32}
    more = lock.contents.sources | {"pytest_mixgpu/marks/none.py": "00" * 32}
    other_plan = resealed(replace(lock, contents=replace(lock.contents, plan=plan)))
    other_list = resealed(replace(lock, contents=replace(lock.contents, sources=listed)))
    longer_list = resealed(replace(lock, contents=replace(lock.contents, sources=more)))

    assert () == broken_seals(other_plan)
    assert "passmarks.lock has 7" in departures(other_plan, e1_plan())[0]
    assert "marks/judge.py with 000000000000…" in contradictions(other_list, now)[0]
    assert "marks/none.py" in contradictions(longer_list, now)[0]
    assert () == contradictions(lock, now)
    assert 4 == len({lock_digest(one) for one in (lock, other_plan, other_list, longer_list)})


def test_changed_code_is_named_by_its_files() -> None:
    """One sentence a part: its files, and how to accept them."""
    lock = frozen()
    judge, test = present_of(judge_py="99" * 32), present_of(helper_py="99" * 32)

    assert () == code_changes(lock, present_of(), "m")
    assert "judges them is not as it was frozen (pytest_mixgpu/marks/judge.py)" in code_changes(lock, judge, "m")[0]
    assert "the test of m is not as it was frozen (helper.py)" in code_changes(lock, test, "m")[0]
    assert "--passmark-amend=tests" in code_changes(lock, test, "m")[0]
    assert () == code_changes(lock, test, "other")


def test_files_that_came_or_went_are_said() -> None:
    """A helper that was renamed is one of each."""
    lock, now = frozen(), present_of()
    files = {path: digest for path, digest in SOURCES.items() if path != "helper.py"} | {"aid.py": "e0" * 32}
    moved = Present(
        bindings=replace(now.bindings, tests={"m": "77" * 32}),
        contents=replace(now.contents, sources=files),
        covers={**COVERS, "m": ("aid.py", "test_m.py::test_m")},
    )

    assert ("aid.py (new)", "helper.py (gone)") == changed_sources(lock, moved, "m")


def test_an_amended_plan_keeps_what_it_was_field_by_field() -> None:
    """With the runs that existed by then, and with the recipes that it takes along."""
    plan = replace(e1_plan(), seeds=replace(e1_plan().seeds, runs=5), prices=None)
    now = present_of(plan, RECIPE | {"model": "cnn"})
    lock = amended(frozen(), "plan", now, plan=plan)
    was = msgspec.json.decode(lock.chain[-1].was, type=dict[str, Any])

    assert (1, "vit") == (was["seeds.runs"], was["recipes.digits-vit.model"])
    assert plain(e1_plan())["prices"] == was["prices"]
    assert plan_digest(e1_plan()) == was["plan"]
    assert [] == departures(lock, plan, RECIPE | {"model": "cnn"})
    assert "plan amended after 12 runs, ledger head abababababab… at line 25: the devices" in lock.chain[-1].sentence
    assert () == broken_seals(lock)


def test_what_was_not_there_before_is_kept_as_nothing() -> None:
    """An added field has no earlier value."""
    assert {"a.b": None, "c": 2} == earlier_values({"a": {"b": 1}, "c": 3}, {"a": {}, "c": 2})


@pytest.mark.parametrize("id_", ["plan", "code", "evaluator", "recipes", "judge", "tests"])
def test_an_amendment_takes_nothing_else_along(id_: str) -> None:
    """What else differs from the lock still does, and by its files and fields."""
    plan = replace(e1_plan(), question="Is it fast?")
    everything = present_of(plan, RECIPE | {"model": "cnn"}, bits_py="11" * 32, helper_py="22" * 32)
    lock = amended(frozen(), id_, everything, plan=plan)
    bound, now = lock.bindings, everything.bindings
    same = {
        name
        for name in ("plan", "code", "evaluator", "recipes", "judge", "tests")
        if getattr(bound, name) == getattr(now, name)
    }

    assert {id_, *({"recipes"} if id_ == "plan" else set())} == same
    assert (id_ == "plan") == (lock.contents.plan == everything.contents.plan)
    assert ("22" * 32 == lock.contents.sources["helper.py"]) == (id_ == "tests")
    assert () == contradictions(lock, everything)
    assert ("tests" != id_) == any("the test of m" in text for text in code_changes(lock, everything, "m"))


def test_freezing_another_mark_binds_its_test_and_nothing_that_changed() -> None:
    """Code, judge and the tests of the others stay bound to what they were."""
    new = replace(MARK, id="n")
    now = present_of(judge_py="11" * 32, helper_py="22" * 32)
    tests = now.bindings.tests | {"n": "66" * 32}
    lock = freeze(
        frozen(), [MARK, new], [], suite="s", plan=e1_plan(), bindings=replace(now.bindings, tests=tests), now=LATER,
        contents=now.contents, covers={**COVERS, "n": ("test_m.py::test_m",)}, then=AFTER_RUNS,
    )  # fmt: skip

    before = frozen().bindings
    assert (before.judge, before.tests["m"], "66" * 32) == (
        lock.bindings.judge, lock.bindings.tests["m"], lock.bindings.tests["n"],
    )  # fmt: skip
    assert SOURCES["pytest_mixgpu/marks/judge.py"] == lock.contents.sources["pytest_mixgpu/marks/judge.py"]
    assert 12 == lock.chain[-1].num_runs
    assert () == broken_seals(lock)


def test_a_lock_of_schema_1_is_compared_by_what_it_holds() -> None:
    """Its seals hold, and a plan differs by its digest."""
    lock = as_schema_1(frozen())
    changed = replace(e1_plan(), question="Is it fast?")

    assert () == broken_seals(lock)
    assert lock == parse_lock(lock_text(lock), where="lock")
    assert [] == departures(lock, e1_plan())
    assert departures(lock, changed)[0].startswith(f"plan: benchmark.toml has {plan_digest(changed)[:12]}…")
    assert () == code_changes(lock, present_of(judge_py="99" * 32), "m")


def test_the_first_change_of_a_lock_of_schema_1_fills_in_what_still_agrees() -> None:
    """The plan was changed and only the code is amended: the plan stays what it was, and departs as before."""
    plan = replace(e1_plan(), question="Is it fast?")
    now = present_of(plan, conduct_py="11" * 32)
    old = as_schema_1(frozen())
    lock = amended(old, "code", now, plan=plan)

    assert (old.bindings.plan, now.bindings.code) == (lock.bindings.plan, lock.bindings.code)
    assert {} == lock.contents.plan
    assert {"digits-vit": RECIPE} == lock.contents.recipes
    assert (now.bindings.judge, now.bindings.tests) == (lock.bindings.judge, lock.bindings.tests)
    assert departures(lock, plan)[0].startswith("plan: benchmark.toml has ")
    assert [] == departures(lock, e1_plan())
    assert () == broken_seals(lock)


def test_code_that_had_changed_before_the_lock_listed_files_is_not_said_to_be_new() -> None:
    """Which of its files differ nobody can say; that some do is said."""
    now = present_of(conduct_py="11" * 32)
    lock = amended(as_schema_1(frozen()), "data", replace_data(now))

    assert UNKNOWN == lock.contents.sources["pytest_mixgpu/jobs/conduct.py"]
    assert () == changed_sources(lock, now, "code")
    assert 1 == len(code_changes(lock, now, "m", parts=("code", "judge")))


def replace_data(now: Present) -> Present:
    bindings = replace(now.bindings, data={"digits-vit": "88" * 32})
    return Present(bindings=bindings, contents=now.contents, covers=now.covers, places=now.places)


def test_another_judge_or_test_drops_no_run() -> None:
    """Runs were made under plan, code, data and recipes; an amendment of those is judged on later runs only."""
    now = present_of(judge_py="11" * 32, helper_py="22" * 32, conduct_py="33" * 32)
    lock = frozen()
    for place, id_ in enumerate(("judge", "tests", "code"), start=1):
        lock = amended(lock, id_, now)
        assert (place if id_ == "code" else 0) == lock.last_change("m")


def test_files_of_tests_that_were_not_collected_stay_listed() -> None:
    """Amending in one file of a suite forgets nothing of the others, and no later session takes that for an edit."""
    now = present_of(conduct_py="11" * 32)
    alone = Present(
        bindings=replace(now.bindings, tests={"n": "77" * 32}),
        contents=replace(now.contents, sources={path: now.contents.sources[path] for path in COVERS["code"]}),
        covers={part: paths for part, paths in COVERS.items() if part != "m"},
    )
    lock = amended(frozen(), "code", alone)

    assert SOURCES["helper.py"] == lock.contents.sources["helper.py"]
    assert frozen().bindings.tests == lock.bindings.tests
    assert () == contradictions(lock, now)
    assert () == code_changes(lock, now, "m")
