"""A plan is read strictly, and its digest depends on what it says and on nothing else."""

import random
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import load_plan, plan_digest, settings_for
from tests.samples import E1_PLAN, e1_plan

Tree = dict[str, Any]


def tree_of_e1() -> Tree:
    return tomllib.loads(E1_PLAN.read_text("utf-8"))


def plan_of(text: str, folder: Path) -> Plan:
    path = folder / "benchmark.toml"
    path.write_text(text, "utf-8")
    return load_plan(path)


def leaves(tree: object, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return where the values of a TOML tree stand."""
    items: list[tuple[str | int, object]]
    if isinstance(tree, dict):
        items = list(tree.items())
    elif isinstance(tree, list):
        items = list(enumerate(tree))
    else:
        return [path]
    return [leaf for key, item in items for leaf in leaves(item, (*path, key))]


def changed(tree: Any, path: tuple[str | int, ...], change: Callable[[Any], Any]) -> Any:
    """Return a copy with one value changed."""
    if not path:
        return change(tree)
    copy: Any = dict(tree) if isinstance(tree, dict) else list(tree)
    copy[path[0]] = changed(copy[path[0]], path[1:], change)
    return copy


def shuffled(tree: Any, noise: random.Random) -> Any:
    """Return a copy whose keys come in another order; lists keep theirs."""
    if isinstance(tree, list):
        return [shuffled(one, noise) for one in tree]
    if not isinstance(tree, dict):
        return tree
    return {key: shuffled(tree[key], noise) for key in noise.sample(sorted(tree), len(tree))}


def test_e1_has_a_plan() -> None:
    """E1's own plan can be read, with all roles of the experiment and of its rehearsal."""
    plan = e1_plan()
    names = ["baseline", "fleet", "reference", "control-a", "control-b", "mixed"]
    assert plan.rehearsal is not None
    assert [names, names] == [[role.name for role in plan.roles], [role.name for role in plan.rehearsal.roles]]


@given(st.randoms(use_true_random=False))
@settings(max_examples=50, deadline=None)
def test_the_order_of_keys_does_not_count(tmp_path_factory: pytest.TempPathFactory, noise: random.Random) -> None:
    """The same plan written in another order has the same digest."""
    text = tomli_w.dumps(shuffled(tree_of_e1(), noise))
    assert plan_digest(e1_plan()) == plan_digest(plan_of(text, tmp_path_factory.mktemp("order")))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("schema = 1", "# a comment\n\n\nschema   =   1 # another", id="comments-and-blanks"),
        pytest.param("foreign_share = 0.10", "foreign_share = 0.1", id="trailing-zero"),
        pytest.param("foreign_share = 0.10", "foreign_share = 1e-1", id="exponent"),
        pytest.param("round_steps = 1280", "round_steps = 0x500", id="hexadecimal"),
        pytest.param("base = 20261002", "base = 20_261_002", id="underscores"),
        pytest.param('id = "e1"', "id = 'e1'", id="quotes"),
        pytest.param("[disturbance]\nforeign_share = 0.10\ndrift = 0.10", "", id="defaults-left-out"),
        pytest.param('exchange = "star"', 'exchange = "\\u0073tar"', id="escapes"),
    ],
)
def test_the_spelling_does_not_count(tmp_path: Path, old: str, new: str) -> None:
    """The same values in another spelling have the same digest."""
    text = E1_PLAN.read_text("utf-8")
    assert old in text
    assert plan_digest(e1_plan()) == plan_digest(plan_of(text.replace(old, new), tmp_path))


def test_a_whole_number_is_a_number(tmp_path: Path) -> None:
    """`1` and `1.0` are one value where a number of any kind is meant."""
    digests = [
        plan_digest(plan_of(E1_PLAN.read_text("utf-8").replace("target = 0.90", f"target = {target}"), tmp_path))
        for target in ("1", "1.0", "1.00")
    ]
    assert digests[:1] * 3 == digests


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_every_value_counts(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """A change of any value of the plan, however small, changes the digest or is refused."""
    tree = tree_of_e1()
    path = data.draw(st.sampled_from(leaves(tree)))
    text = tomli_w.dumps(changed(tree, path, _nudge))
    try:
        plan = plan_of(text, tmp_path_factory.mktemp("change"))
    except PlanError:
        return
    assert plan_digest(e1_plan()) != plan_digest(plan)


def _nudge(value: object) -> object:
    match value:
        case bool():
            return not value
        case int():
            return value + 1
        case float():
            return value * (1 + 1e-12) if value else 1e-12
        case str():
            return value + " "
    raise TypeError(value)


@pytest.mark.parametrize("key", ["roles", "sources", "rehearsal"])
def test_what_is_left_out_counts(tmp_path: Path, key: str) -> None:
    """A plan without one of its parts is another plan, or none."""
    tree = tree_of_e1()
    tree[key] = tree[key][1:] if isinstance(tree[key], list) else tree.pop(key) and None
    text = tomli_w.dumps({name: value for name, value in tree.items() if value is not None})
    assert plan_digest(e1_plan()) != plan_digest(plan_of(text, tmp_path))


@pytest.mark.parametrize(
    ("path", "value", "fault"),
    [
        pytest.param(("schema",), 2, "found schema 2, expected 1", id="schema"),
        pytest.param(("wish",), 1, "wish: found a key that there is not, expected one of", id="unknown-key"),
        pytest.param(("settings", "pace"), 1, r"settings\.pace: found a key that there is not", id="unknown-setting"),
        pytest.param(
            ("settings", "rounds"), "three", r"settings\.rounds: found 'three', expected a whole number", id="type"
        ),
        pytest.param(
            ("settings", "rounds"), 3.0, r"settings\.rounds: found 3\.0, expected a whole number", id="float-for-count"
        ),
        pytest.param(("settings", "rounds"), 0, "settings.rounds: found 0, expected at least 1", id="no-rounds"),
        pytest.param(("settings", "warmup_rounds"), -1, "warmup_rounds: found -1", id="warmup"),
        pytest.param(("settings", "split"), "fair", "found 'fair', expected one of equal, speed", id="split"),
        pytest.param(
            ("workload", "target"), 90.0, "found 90.0, expected a share of the test set", id="target-in-percent"
        ),
        pytest.param(
            ("workload", "target"), float("nan"), r"workload\.target: found a number that is not finite", id="nan"
        ),
        pytest.param(("workload", "done"), "", "workload.done: found nothing", id="no-done"),
        pytest.param(("wait", "status"), "later", "expected one of measured, out-of-scope", id="wait"),
        pytest.param(("wait", "reason"), "", "wait.reason: found none", id="wait-reason"),
        pytest.param(("disturbance", "drift"), 10.0, "disturbance.drift: found 10.0", id="drift-in-percent"),
        pytest.param(
            ("disturbance", "clock_share"), 50.0, "disturbance.clock_share: found 50.0", id="clock-in-percent"
        ),
        pytest.param(("disturbance", "link_errors"), -1, "disturbance.link_errors: found -1", id="errors-below-none"),
        pytest.param(("seeds", "runs"), 0, "seeds: found base 20261002 and 0 runs", id="no-runs"),
        pytest.param(
            ("roles", 1, "pool"), "a40:many", "roles, 'fleet', pool: no count after a40: found 'many'", id="pool"
        ),
        pytest.param(("roles", 1, "name"), "mixed", "found two roles named 'mixed'", id="name-twice"),
        pytest.param(("roles", 2, "role"), "fleet", "found fleet, reference as fleet, expected one", id="two-fleets"),
        pytest.param(("roles", 1, "num_devices"), 2, "'fleet': found num_devices", id="num-devices"),
        pytest.param(("roles", 0, "rounds"), 0, "'baseline': found a count below 1", id="role-rounds"),
        pytest.param(
            ("roles", 0, "role"),
            "hero",
            "roles, 'baseline', role: found 'hero', expected one of baseline, control, fleet",
            id="role",
        ),
        pytest.param(
            ("rehearsal", "pool"), "", "rehearsal.pool: The request for devices is empty", id="rehearsal-pool"
        ),
        pytest.param(("rehearsal", "settings", "batch_size"), 0, "rehearsal.settings.batch_size", id="rehearsal-batch"),
        pytest.param(("rehearsal", "prices", "device_hour", "cpu"), -1.0, "device_hour.cpu: found -1.0", id="price"),
    ],
)
def test_what_cannot_be_meant_is_refused(
    tmp_path: Path, path: tuple[str | int, ...], value: object, fault: str
) -> None:
    """An unknown key, a wrong type or a contradiction is refused, with the file and the place."""
    tree = tree_of_e1()
    parent = tree
    for step in path[:-1]:
        parent = parent[step]  # type: ignore[index]
    parent[path[-1]] = value  # type: ignore[index]
    with pytest.raises(PlanError, match=rf"benchmark\.toml: .*{fault}"):
        plan_of(tomli_w.dumps(tree), tmp_path)


@pytest.mark.parametrize("raw", [b"schema = ", b"\xff\xfe", None], ids=["no-toml", "no-utf-8", "no-file"])
def test_what_cannot_be_read_is_refused(tmp_path: Path, raw: bytes | None) -> None:
    """A file that is no TOML, or not there, is refused with its path."""
    path = tmp_path / "benchmark.toml"
    if raw is not None:
        path.write_bytes(raw)
    with pytest.raises(PlanError, match=r"benchmark\.toml: cannot be read as TOML"):
        load_plan(path)


@pytest.mark.parametrize(
    ("name", "leg", "exchange"),
    [
        ("baseline", "before", "none"), ("baseline", "with-exchange", "star"), ("fleet", "", "star"),
        ("reference", "", "ddp"), ("control-a", "", "star"), ("mixed", "", "star"),
    ],
)  # fmt: skip
def test_a_role_decides_about_the_exchange(name: str, leg: str, exchange: str) -> None:
    """The deciding baseline has no exchange, the reference its own, everybody else the plan's."""
    plan = e1_plan()
    role = next(one for one in plan.roles if one.name == name)
    found = settings_for(plan.settings, role, recipe={"name": "pets-vit-b16"}, shares=(1280,), leg=leg)
    assert exchange == found.exchange


def test_a_role_replaces_what_it_states() -> None:
    """A role's own rounds stand in place of the shared ones; what is not trained to the finish is not scored."""
    plan = e1_plan()
    assert plan.rehearsal is not None
    baseline = plan.rehearsal.roles[0]
    found = settings_for(plan.rehearsal.settings, baseline, recipe={"name": "digits-vit"}, shares=(240,), leg="before")
    assert (2, 1, 240, (240,), "digits-vit", 0, False) == (
        found.rounds, found.warmup_rounds, found.round_steps, found.shares, found.workload, found.evaluate_every,
        found.to_finish,
    )  # fmt: skip


@pytest.mark.parametrize("shares", [(200,), (640, 641), (0, 1280), (-1, 1281)], ids=["few", "many", "none", "negative"])
def test_shares_add_up_to_the_round(shares: tuple[int, ...]) -> None:
    """Shares that do not make up the round's steps are refused."""
    plan = e1_plan()
    with pytest.raises(PlanError, match="positive numbers that add up to the 1280 steps"):
        settings_for(plan.settings, plan.roles[1], recipe={"name": "x"}, shares=shares)
