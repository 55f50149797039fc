"""How something departs from the lock: every difference is named by its field, and a spelling is none."""

import tomllib
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.marks.differences import plain, plain_differences
from pytest_mixgpu.marks.lock import compare
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import load_plan
from tests.marks.lock_parts import MARK, RECIPE, another, departures, field_of, frozen, leaves, with_leaf
from tests.samples import E1_PLAN, e1_plan


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
