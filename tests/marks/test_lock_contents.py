"""What the lock holds by value: every difference is named by its field, and a spelling is none."""

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.marks.differences import earlier_values, plain, plain_differences
from pytest_mixgpu.marks.lock import Bindings, Contents, Lock, RunsThen, amend, broken_seals, compare, freeze
from pytest_mixgpu.marks.lock_file import lock_digest, lock_text, parse_lock, seal_of, state_digest
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.present import UNKNOWN, Present, changed_sources, code_changes, contradictions
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import load_plan, plan_digest
from tests.samples import E1_PLAN, e1_plan, made_recipe

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
    entry = replace(lock.chain[0], num_runs=None, ledger_head=None, ledger_count=None, state=state_digest(old))
    return replace(old, chain=(replace(entry, seal=seal_of(entry)),))


def test_plan_and_recipes_are_frozen_by_value_and_read_back(tmp_path: Path) -> None:
    """Whoever reads the lock alone sees what was to be run."""
    lock = frozen()

    assert plain(e1_plan()) == lock.contents.plan
    assert 248 == lock.contents.recipes["digits-vit"]["input"]["resize"]  # type: ignore[index]
    assert SOURCES == lock.contents.sources
    assert lock == parse_lock(lock_text(lock), where="lock")
    assert [] == departures(lock, e1_plan())


def test_a_difference_names_its_field_both_values_and_both_places() -> None:
    """And the first of several says what to do about it; the others stand beside."""
    plan = e1_plan()
    changed = replace(plan, settings=replace(plan.settings, rounds=plan.settings.rounds + 6, batch_size=7))
    first, second = departures(frozen(), changed)

    assert first.startswith(f"settings.batch_size: benchmark.toml has 7, passmarks.lock has {plan.settings.batch_size}")
    assert "--passmark-amend=plan" in first
    assert (
        f"settings.rounds: benchmark.toml has {plan.settings.rounds + 6}, passmarks.lock has {plan.settings.rounds}"
        == second
    )


def test_lists_are_compared_by_index_and_what_is_not_there_is_said() -> None:
    """A role that was added, a price that was left out, a text that changed far from its beginning."""
    plan = e1_plan()
    more = replace(plan, roles=(*plan.roles, replace(plan.roles[0], name="baseline-b")), prices=None)
    longer = replace(plan, question=f"{plan.question} And more?")

    added, left_out = departures(frozen(), more)[1], departures(frozen(), more)[0]

    assert added.startswith(f'roles[{len(plan.roles)}]: benchmark.toml has {{"name":"baseline-b"')
    assert added.endswith("passmarks.lock has nothing")
    assert left_out.startswith("prices: benchmark.toml has nothing, passmarks.lock has {")
    assert "And more?" in departures(frozen(), longer)[0]


def test_a_recipe_differs_by_its_field() -> None:
    """Optimizer, augmentation and input stand in the recipe."""
    recipe = RECIPE | {"input": {"mean": [0.5, 0.75], "resize": 248}}

    (difference,) = departures(frozen(), e1_plan(), recipe)

    assert difference.startswith("recipes.digits-vit.input.mean[1]: digits-vit.toml has 0.75, passmarks.lock has 0.25;")
    assert "--passmark-amend=recipes" in difference


def test_a_mark_differs_by_its_field_and_says_where_it_stands() -> None:
    """The marker's test and the lock."""
    lock = frozen()
    (difference,) = compare(lock, mark=replace(MARK, least_runs=3), place="the marker in test_m.py::test_m")
    (missing,) = compare(lock, mark=replace(MARK, of=None))

    assert "m.least_runs: the marker in test_m.py::test_m has 3, passmarks.lock has 1" in str(difference)
    assert 'm.of: the marker has nothing, passmarks.lock has "ideal"' in str(missing)


def rewritten(text: str) -> str:
    """Write a plan otherwise: comments, blanks, the order of keys, numbers."""
    table = tomllib.loads(text)
    tables = {key: value for key, value in table.items() if isinstance(value, dict | list)}
    singles = {key: value for key, value in table.items() if key not in tables}
    import tomli_w

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: turned(entry) for key, entry in reversed(value.items())}
        return [turned(entry) for entry in value] if isinstance(value, list) else value

    other = tomli_w.dumps(turned(singles) | turned(tables)).replace(" = ", "   =   ")
    assert "0.95" in other
    return "# as before\n" + other.replace("0.95", "95e-2  # of the test set")


def test_comments_order_blanks_and_spellings_are_no_differences(tmp_path: Path) -> None:
    """A plan that says the same says the same."""
    (tmp_path / "benchmark.toml").write_text(rewritten(E1_PLAN.read_text("utf-8")), "utf-8")
    plan = load_plan(tmp_path / "benchmark.toml")

    assert [] == departures(frozen(), plan)
    assert [] == [*plain_differences({"a": 1, "b": 0.5}, {"b": 5e-1, "a": 1.0}, found_in="x")]
    assert [] == compare(frozen(), mark=replace(MARK, bound=7e-1))


def test_true_is_no_number() -> None:
    """Python takes it for 1; a plan does not."""
    assert 1 == len(plain_differences({"a": True}, {"a": 1}, found_in="x"))


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


PLAN_LEAVES = [(steps, value) for steps, value in leaves(plain(e1_plan()))]


def test_any_changed_value_of_the_plan_is_a_difference_that_names_its_field() -> None:
    """Every leaf of E1's plan, one after the other."""
    lock, values = frozen(), plain(e1_plan())
    for steps, value in PLAN_LEAVES:
        try:
            plan = msgspec.convert(with_leaf(values, steps, another(value)), Plan)
        except msgspec.ValidationError:
            # A word that the plan does not know is refused before anything is compared.
            continue
        (difference,) = departures(lock, plan)
        assert difference.startswith(f"{field_of(steps)}: benchmark.toml has "), difference


@given(values=st.data())
def test_any_changed_value_of_a_recipe_is_a_difference_that_names_its_field(values: st.DataObject) -> None:
    """Whatever the value becomes."""
    steps, value = values.draw(st.sampled_from(list(leaves(RECIPE))))
    other = values.draw(st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text()))
    assume(isinstance(other, bool) != isinstance(value, bool) or other != value)

    (difference,) = departures(frozen(), e1_plan(), with_leaf(RECIPE, steps, other))

    assert difference.startswith(f"recipes.digits-vit.{field_of(steps)}: ")


@pytest.mark.parametrize("field", [name for name in PassMark.__struct_fields__ if name != "id"])
def test_any_changed_value_of_a_marker_is_a_difference_that_names_its_field(field: str) -> None:
    """Of every field that a mark has."""
    changed = replace(
        MARK, **{field: {"conditions": (("a", "b"),), "of": None}.get(field, another(getattr(MARK, field)))}
    )

    (difference,) = compare(frozen(), mark=changed)

    assert difference.field.startswith(f"m.{field}")


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


def resealed(lock: Lock) -> Lock:
    last = replace(lock.chain[-1], state=state_digest(lock))
    return replace(lock, chain=(*lock.chain[:-1], replace(last, seal=seal_of(last))))


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
