"""What a session has to run: from a plan and a pool to runs in their order. Runs nothing, imports no pytest."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from pytest_mixgpu.devices.allocate import subpool
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import PoolShortfallError
from pytest_mixgpu.records.plan import EvaluationPlan, Plan, RolePlan, RunSettings, Seeds, Workload

Group = Literal["speed", "parity"]


class PlannedRun(msgspec.Struct, frozen=True, kw_only=True):
    """One run that is to be made."""

    group: Group
    role: RolePlan
    leg: str = ""
    pool: Pool
    seed_index: int
    """Counts the repeats of this session from 0."""


class Staging(msgspec.Struct, frozen=True, kw_only=True):
    """Which part of a plan a session carries out: the experiment itself, or its rehearsal."""

    rehearsal: bool
    workload: Workload
    settings: RunSettings
    roles: tuple[RolePlan, ...]
    seeds: Seeds
    evaluation: EvaluationPlan


def stage(
    plan: Plan, pool: Pool, *, workload: str | None = None, job: str = "", pool_was_asked: bool = False
) -> tuple[Staging, ...]:
    """The parts of the plan that this pool can carry out.

    The experiment comes first, as far as the pools of its roles are here; a session on CPU cores alone carries out
    the rehearsal for whatever is left.

    Args:
        plan: with or without a rehearsal.
        pool: of the session.
        workload: a recipe in place of the plan's; with another than the plan's own everything is a rehearsal.
        job: of a user's own, empty for ours; with another than the plan's everything is a rehearsal, too.
        pool_was_asked: whether the user named the pool; then the rehearsal's fleet takes all of it.
    """
    real = tuple(role for role in plan.roles if holds(pool, role.pool))
    found = []
    if real:
        chosen = _workload(plan, workload, plan.workload)
        found.append(
            Staging(
                rehearsal=chosen.recipe != plan.workload.recipe or job != plan.own_job,
                workload=chosen,
                settings=plan.settings,
                roles=real,
                seeds=plan.seeds,
                evaluation=plan.evaluation,
            )
        )
    if plan.rehearsal is not None and pool.is_cpu and len(real) < len(plan.roles):
        missing = {role.name for role in plan.roles} - {role.name for role in real}
        roles = (_on_whole_pool(role, pool) if pool_was_asked else role for role in plan.rehearsal.roles)
        found.append(
            Staging(
                rehearsal=True,
                workload=_workload(plan, workload, plan.rehearsal.workload),
                settings=plan.rehearsal.settings,
                roles=tuple(role for role in roles if role.name in missing and holds(pool, role.pool)),
                seeds=plan.rehearsal.seeds,
                evaluation=plan.rehearsal.evaluation or plan.evaluation,
            )
        )
    return tuple(found)


def planned_runs(staging: Staging, pool: Pool, *, group: str, num_runs: int) -> tuple[PlannedRun, ...]:
    """All runs of one group in their order, repeat by repeat."""
    make = _speed_group if group == "speed" else _parity_group
    return tuple(run for index in range(num_runs) for run in make(staging.roles, pool, index))


def _workload(plan: Plan, name: str | None, default: Workload) -> Workload:
    if name is None or name == default.recipe:
        return default
    return plan.workload if name == plan.workload.recipe else msgspec.structs.replace(default, recipe=name)


def _on_whole_pool(role: RolePlan, pool: Pool) -> RolePlan:
    return msgspec.structs.replace(role, pool=pool.spec) if role.role in {"fleet", "reference"} else role


def _speed_group(roles: tuple[RolePlan, ...], pool: Pool, index: int) -> Iterator[PlannedRun]:
    """Baseline rounds bracket the fleet's, on several of the fleet's own devices; the reference comes last."""
    fleet = next((role for role in roles if role.role == "fleet"), None)
    baseline = next((role for role in roles if role.role == "baseline"), None)
    if fleet is None or baseline is None:
        return
    fleet_pool = subpool(pool, PoolSpec.parse(fleet.pool))
    solo = Pool(devices=fleet_pool.devices[: baseline.num_devices])
    single = Pool(devices=fleet_pool.devices[:1])
    yield PlannedRun(group="speed", role=baseline, leg="before", pool=solo, seed_index=index)
    yield PlannedRun(group="speed", role=fleet, pool=fleet_pool, seed_index=index)
    yield PlannedRun(group="speed", role=baseline, leg="after", pool=solo, seed_index=index)
    yield PlannedRun(group="speed", role=baseline, leg="with-exchange", pool=single, seed_index=index)
    for role in roles:
        if role.role == "reference":
            yield PlannedRun(group="speed", role=role, pool=subpool(pool, PoolSpec.parse(role.pool)), seed_index=index)


def _parity_group(roles: tuple[RolePlan, ...], pool: Pool, index: int) -> Iterator[PlannedRun]:
    for role in roles:
        if role.role in {"control", "mixed"}:
            yield PlannedRun(group="parity", role=role, pool=subpool(pool, PoolSpec.parse(role.pool)), seed_index=index)


def holds(pool: Pool, request: str) -> bool:
    """Whether a pool has the devices that a request names."""
    try:
        subpool(pool, PoolSpec.parse(request))
    except PoolShortfallError:
        return False
    return True
