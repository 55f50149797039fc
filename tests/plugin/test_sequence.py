"""What a session has to run."""

from pathlib import Path

import pytest

from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.plugin.sequence import planned_runs, stage
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import load_plan

E1 = Path(__file__).parents[2] / "suites" / "e1" / "benchmark.toml"


@pytest.fixture(scope="module")
def plan() -> Plan:
    """The plan of E1."""
    return load_plan(E1)


def pool_of(*kinds: str) -> Pool:
    """A made-up pool."""
    return Pool(
        devices=tuple(
            Device(
                id=f"{kind}-{index}",
                kind=kind,
                name=kind,
                vendor="cpu" if kind.startswith("cpu") else "nvidia",
                host="host-a",
                ordinal=index,
            )
            for index, kind in enumerate(kinds)
        )
    )


def test_cores_rehearse_every_role(plan: Plan) -> None:
    """A session on CPU cores alone carries out the rehearsal, whole."""
    staging = stage(plan, pool_of("cpu", "cpu"))

    assert [True] == [part.rehearsal for part in staging]
    assert {role.name for role in plan.roles} == {role.name for role in staging[0].roles}


def test_baseline_brackets_the_fleet(plan: Plan) -> None:
    """Baseline rounds are taken before and after the fleet's, on its own devices."""
    pool = pool_of("cpu", "cpu")
    runs = planned_runs(stage(plan, pool)[0], pool, group="speed", num_runs=1)

    assert [
        ("baseline", "before"),
        ("fleet", ""),
        ("baseline", "after"),
        ("baseline", "with-exchange"),
        ("reference", ""),
    ] == [(run.role.name, run.leg) for run in runs]
    assert runs[1].pool.devices == runs[0].pool.devices


def test_repeats_are_whole(plan: Plan) -> None:
    """Each repeat makes all runs of its group before the next one starts."""
    pool = pool_of("cpu", "cpu")
    runs = planned_runs(stage(plan, pool)[0], pool, group="parity", num_runs=2)

    assert [0, 0, 0, 1, 1, 1] == [run.seed_index for run in runs]


def test_controls_and_mixed_take_cores_of_their_kinds(plan: Plan) -> None:
    """A leased core serves as whichever CPU kind a role asks for."""
    pool = pool_of("cpu", "cpu")
    runs = planned_runs(stage(plan, pool)[0], pool, group="parity", num_runs=1)

    assert ["cpu:2", "cpu-portable:2", "cpu:1,cpu-portable:1"] == [run.pool.spec for run in runs]


def test_fleet_of_gpus_is_the_experiment(plan: Plan) -> None:
    """Sixteen A40s carry out what the plan asks of A40s, and never rehearse the rest."""
    pool = pool_of(*["a40"] * 16)
    staging = stage(plan, pool)

    assert [False] == [part.rehearsal for part in staging]
    assert {"baseline", "fleet", "reference", "control-a"} == {role.name for role in staging[0].roles}
    speed = planned_runs(staging[0], pool, group="speed", num_runs=1)
    assert 3 == len(speed[0].pool)
    assert 16 == len(speed[1].pool)


def test_other_workload_on_the_plans_pool_is_a_rehearsal(plan: Plan) -> None:
    """A stand-in workload is no evidence, whatever pool it ran on."""
    staging = stage(plan, pool_of(*["a40"] * 16), workload="digits-vit")

    assert [True] == [part.rehearsal for part in staging]


def test_pool_that_holds_no_role_runs_nothing(plan: Plan) -> None:
    """Two cards of another kind can carry out no role of E1, and they do not rehearse it either."""
    assert () == stage(plan, pool_of("l40s", "l40s"))


def test_named_cores_make_the_fleet_larger(plan: Plan) -> None:
    """Who names four cores rehearses with a fleet of four."""
    pool = pool_of("cpu", "cpu", "cpu", "cpu")
    runs = planned_runs(stage(plan, pool, pool_was_asked=True)[0], pool, group="speed", num_runs=1)

    assert 4 == len(runs[1].pool)
