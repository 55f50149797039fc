"""From `benchmark.toml` to a checked `Plan`, its digest, and the settings of one run. Imports no torch."""

import re
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec import UnsetType

from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import PlanError, SpecError
from pytest_mixgpu.records.codec import first_not_finite
from pytest_mixgpu.records.digests import canonical_digest
from pytest_mixgpu.records.model import Settings
from pytest_mixgpu.records.plan import Disturbance, Plan, Prices, RolePlan, RunSettings, Seeds, Workload
from pytest_mixgpu.records.tables import field_text, steps_of, value_of

PLAN_SCHEMA_VERSION = 1
JOB = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")
"""How a user's own job is named: `module:factory`."""
WAIT_WORDS = ("measured", "out-of-scope")
SPLITS = ("equal", "speed")


def load_plan(path: Path) -> Plan:
    """Read a plan and refuse one that contradicts itself.

    Args:
        path: a `benchmark.toml`.

    Raises:
        PlanError: the file cannot be read, has an unknown key, a wrong type or a contradiction; says where.
    """
    try:
        table = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise PlanError(f"{path}: cannot be read as TOML: {error}") from error
    if table.get("schema") != PLAN_SCHEMA_VERSION:
        raise PlanError(f"{path}: found schema {table.get('schema')!r}, expected {PLAN_SCHEMA_VERSION}")
    place = first_not_finite(table)
    if place is not None:
        field = field_text(steps_of(place), table)
        raise PlanError(f"{path}: {field}: found a number that is not finite, expected a number")
    plan = value_of(table, Plan, where=str(path))
    fault = next(_contradictions(plan), None)
    if fault is not None:
        raise PlanError(f"{path}: {fault}")
    return plan


def plan_digest(plan: Plan) -> str:
    """Return the SHA-256 of what the plan says, however it is written: order of keys, comments, `1` or `1.0`.

    The order of the roles and of any list counts, and so does every value, defaults included.
    """
    return canonical_digest(plan)


def settings_for(  # noqa: PLR0913 - one argument for each thing that a run is made of
    shared: RunSettings,
    role: RolePlan,
    *,
    recipe: object,
    shares: Sequence[int],
    split: str = "",
    leg: str = "",
) -> Settings:
    """Return everything numeric that a run of this role is told to do.

    Args:
        shared: the settings that the roles of the plan, or of its rehearsal, share.
        role: one of those roles.
        recipe: the workload's recipe in full, as a value or plain data with a `name`.
        shares: local steps in a round of each participant that works in it. A baseline's devices work one after the
            other and each does the whole round, so it has one share.
        split: how the shares were made, if otherwise than the plan says.
        leg: which part of a bracket; the baseline's `with-exchange` has the plan's exchange, its others have none.

    Raises:
        PlanError: the shares do not add up to the round's steps.
    """
    round_steps = shared.round_steps if role.round_steps is None else role.round_steps
    if sum(shares) != round_steps or min(shares) < 1:
        raise PlanError(
            f"role {role.name!r}: found the shares {list(shares)}, expected positive numbers that add up to the "
            f"{round_steps} steps of a round"
        )
    exchange = {"baseline": shared.exchange if leg == "with-exchange" else "none", "reference": "ddp"}
    plain = msgspec.convert(msgspec.to_builtins(recipe), dict[str, object])
    return Settings(
        workload=str(plain["name"]),
        number_format=shared.number_format,
        batch_size=shared.batch_size,
        round_steps=round_steps,
        shares=tuple(shares),
        rounds=shared.rounds if role.rounds is None else role.rounds,
        warmup_rounds=shared.warmup_rounds if role.warmup_rounds is None else role.warmup_rounds,
        to_finish=role.to_finish,
        exchange=exchange.get(role.role, shared.exchange),
        payload=shared.payload,
        split=split or shared.split,
        num_threads=shared.num_threads,
        # A run that does not train to the finish has no quality to look at.
        evaluate_every=shared.evaluate_every if role.to_finish else 0,
        recipe=plain,
    )


def _contradictions(plan: Plan) -> Iterator[str]:
    """Yield what in a plan cannot be meant, one sentence each."""
    yield from _number_faults(plan.settings, plan.workload, plan.seeds, "")
    yield from _role_faults(plan.roles, plan.settings, "roles")
    if not isinstance(plan.job, UnsetType) and not JOB.fullmatch(plan.job):
        yield f"job: found {plan.job!r}, expected module:factory; leave it out where none of your own runs"
    if plan.rehearsal is not None:
        stand_in = plan.rehearsal
        yield from _pool_faults(stand_in.pool, "rehearsal.pool")
        yield from _number_faults(stand_in.settings, stand_in.workload, stand_in.seeds, "rehearsal.")
        yield from _role_faults(stand_in.roles, stand_in.settings, "rehearsal.roles")
    if plan.wait.status not in WAIT_WORDS:
        yield f"wait.status: found {plan.wait.status!r}, expected one of {', '.join(WAIT_WORDS)}"
    if plan.wait.status == "out-of-scope" and not plan.wait.reason:
        yield "wait.reason: found none, expected why the wait for GPUs is out of scope"
    yield from _limit_faults(plan.disturbance)
    if plan.prices is not None:
        yield from _price_faults(plan.prices, "prices")
    if plan.rehearsal is not None and plan.rehearsal.prices is not None:
        yield from _price_faults(plan.rehearsal.prices, "rehearsal.prices")


def _limit_faults(disturbance: Disturbance) -> Iterator[str]:
    for name in ("foreign_share", "drift", "clock_share", "cpu_pressure"):
        limit = getattr(disturbance, name)
        if not isinstance(limit, UnsetType) and not 0 < limit < 1:
            yield f"disturbance.{name}: found {limit}, expected a share between 0 and 1"
    for name in ("ecc_errors", "link_errors"):
        count = getattr(disturbance, name)
        if not isinstance(count, UnsetType) and count < 0:
            yield f"disturbance.{name}: found {count}, expected 0 or more"


def _role_faults(roles: tuple[RolePlan, ...], shared: RunSettings, where: str) -> Iterator[str]:
    names = [role.name for role in roles]
    if not roles:
        yield f"{where}: found none, expected at least one role"
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"{where}: found two roles named {name!r}, expected each name once"
    for single in ("baseline", "fleet", "mixed"):
        found = [role.name for role in roles if role.role == single]
        if len(found) > 1:
            yield f"{where}: found {', '.join(found)} as {single}, expected one"
    for role in roles:
        place = f"{where}, {role.name!r}"
        yield from _pool_faults(role.pool, f"{place}, pool")
        if role.num_devices != 1 and role.role != "baseline":
            yield f"{place}: found num_devices, which only a baseline has; the pool says how many devices work at once"
        steps = shared.round_steps if role.round_steps is None else role.round_steps
        numbers = (role.num_devices, steps, shared.rounds if role.rounds is None else role.rounds)
        if min(numbers) < 1 or (role.warmup_rounds is not None and role.warmup_rounds < 0):
            yield f"{place}: found a count below 1, expected at least one device, step and measured round"


def _pool_faults(pool: str, where: str) -> Iterator[str]:
    try:
        PoolSpec.parse(pool)
    except SpecError as error:
        yield f"{where}: {error}"


def _number_faults(settings: RunSettings, workload: Workload, seeds: Seeds, prefix: str) -> Iterator[str]:
    counts = {
        "batch_size": settings.batch_size,
        "round_steps": settings.round_steps,
        "rounds": settings.rounds,
        "num_threads": settings.num_threads,
    }
    for name, count in counts.items():
        if count < 1:
            yield f"{prefix}settings.{name}: found {count}, expected at least 1"
    for name, count in {"warmup_rounds": settings.warmup_rounds, "evaluate_every": settings.evaluate_every}.items():
        if count < 0:
            yield f"{prefix}settings.{name}: found {count}, expected 0 or more"
    if settings.split not in SPLITS:
        yield f"{prefix}settings.split: found {settings.split!r}, expected one of {', '.join(SPLITS)}"
    if not 0 < workload.target <= 1:
        yield f"{prefix}workload.target: found {workload.target}, expected a share of the test set, above 0 and up to 1"
    if not workload.done:
        yield f"{prefix}workload.done: found nothing, expected the rule by which a run counts as done"
    if seeds.base < 0 or seeds.runs < 1:
        yield f"{prefix}seeds: found base {seeds.base} and {seeds.runs} runs, expected 0 or more and at least 1"


def _price_faults(prices: Prices, where: str) -> Iterator[str]:
    amounts: dict[str, float | None] = {
        "coordinator_hour": prices.coordinator_hour,
        "host_hour": prices.host_hour,
        "moved_gigabyte": prices.moved_gigabyte,
        "storage_gigabyte_month": prices.storage_gigabyte_month,
        "person_hour": prices.person_hour,
        **{f"device_hour.{kind}": amount for kind, amount in prices.device_hour.items()},
    }
    for name, amount in amounts.items():
        if amount is not None and amount < 0:
            yield f"{where}.{name}: found {amount}, expected 0 or more; leave out what is not known"
