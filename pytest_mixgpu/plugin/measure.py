"""Makes runs: from planned runs to records, one after the other under a lease. Imports no pytest."""

from __future__ import annotations

import os
import secrets
import sys
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.devices.interference import Interference
from pytest_mixgpu.devices.lease import lease
from pytest_mixgpu.jobs.code import code_paths, evaluator_paths
from pytest_mixgpu.jobs.conduct import conduct
from pytest_mixgpu.jobs.shares import equal_shares, speed_shares
from pytest_mixgpu.jobs.workloads.recipe import load_recipe
from pytest_mixgpu.records.digests import code_digest
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.model import Digests, Header
from pytest_mixgpu.records.plan_file import plan_digest, settings_for
from pytest_mixgpu.records.secrets import scrub_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from pytest_mixgpu.jobs.workloads.recipe import Recipe
    from pytest_mixgpu.launch.protocol import Launcher
    from pytest_mixgpu.plugin.sequence import PlannedRun, Staging
    from pytest_mixgpu.records.model import RunRecord
    from pytest_mixgpu.records.plan import Plan
    from pytest_mixgpu.records.store import RunStore


def package_root() -> Path:
    """The folder that holds the package; digests of code name files relative to it."""
    from pathlib import Path

    import pytest_mixgpu

    return Path(pytest_mixgpu.__file__).parent.parent


def digests_in_force(plan: Plan, lock_digest: str) -> Digests:
    """SHA-256 of plan, lock, code and evaluator as they are now."""
    root = package_root()
    return Digests(
        plan=plan_digest(plan),
        lock=lock_digest,
        code=code_digest(code_paths(), root),
        evaluator=code_digest(evaluator_paths(), root),
    )


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of one session and suite share."""

    plan: Plan
    staging: Staging
    session: str
    store: RunStore
    launcher: Launcher
    recipe: Recipe
    digests: Digests
    split: str
    wait_s: float
    data_root: Path | None
    say: Callable[[str], None]


def recipe_for(name: str, suite_folder: Path) -> Recipe:
    """The recipe of that name: the suite's own `recipes/` folder first, then those that ship with the package."""
    return load_recipe(name, folders=(suite_folder / "recipes",))


def make_runs(
    measurement: Measurement, planned: tuple[PlannedRun, ...], *, first_repeats: Mapping[str, int]
) -> tuple[RunRecord, ...]:
    """Make these runs in their order. A failed run is a record too, and ends its group: the rest would stand alone.

    Args:
        measurement: what they share.
        planned: of one group.
        first_repeats: the number of the first repeat, by the role's name.
    """
    records: list[RunRecord] = []
    shares = _Shares(measurement)
    for run in planned:
        repeat = first_repeats[run.role.name] + run.seed_index
        record = make_run(measurement, run, repeat=repeat, shares=shares.of(run, repeat))
        records.append(record)
        if record.status != "completed":
            measurement.say(f"{run.role.name} {record.status}: {_reason(record)}")
            break
    return tuple(records)


def make_run(measurement: Measurement, run: PlannedRun, *, repeat: int, shares: tuple[int, ...]) -> RunRecord:
    """Lease, register, conduct, release."""
    holder = f"pytest {os.getpid()} ({measurement.plan.id}, {run.role.name})"
    with lease(run.pool, wait_s=measurement.wait_s, holder=holder):
        leased_at = time.monotonic()
        header = _header(measurement, run, repeat=repeat, shares=shares)
        writer = measurement.store.register(header)
        cores = tuple(device.ordinal for device in run.pool.devices if device.vendor == "cpu")
        label = run.role.name if not run.leg else f"{run.role.name} ({run.leg})"
        return conduct(
            header,
            measurement.recipe,
            launcher=measurement.launcher,
            writer=writer,
            progress=lambda text: measurement.say(f"{label} on {run.pool.spec}: {text}"),
            interference=Interference(cores, {os.getpid()}) if cores else None,
            evaluation=measurement.plan.evaluation,
            leased_at=leased_at,
            data_root=measurement.data_root,
        )


class _Shares:
    """Shares of the participants: equal, or in proportion to solo speed, measured once for each make-up of a pool."""

    def __init__(self, measurement: Measurement) -> None:
        self._measurement = measurement
        self._by_size: dict[int, tuple[int, ...]] = {}

    def of(self, run: PlannedRun, repeat: int) -> tuple[int, ...]:
        steps = run.role.round_steps or self._measurement.staging.settings.round_steps
        if run.role.role == "baseline":
            return (steps,)
        if self._measurement.split == "equal":
            return equal_shares(steps, len(run.pool))
        # Controls take the mixed run's shares, since they may differ from it in the kind only.
        if len(run.pool) not in self._by_size:
            self._by_size[len(run.pool)] = speed_shares(steps, self._solo_rates_per_s(run, repeat))
        return self._by_size[len(run.pool)]

    def _solo_rates_per_s(self, run: PlannedRun, repeat: int) -> tuple[float, ...]:
        solo = msgspec.structs.replace(run, leg="solo-speed", role=msgspec.structs.replace(
            run.role, role="baseline", to_finish=False, rounds=1, warmup_rounds=1, num_devices=len(run.pool)
        ))  # fmt: skip
        steps = run.role.round_steps or self._measurement.staging.settings.round_steps
        record = make_run(self._measurement, solo, repeat=repeat, shares=(steps,))
        return tuple(
            sum(line.samples) / line.round_s
            for index in range(len(run.pool))
            for line in record.measured_rounds
            if line.participants == (index,)
        )


def _header(measurement: Measurement, run: PlannedRun, *, repeat: int, shares: tuple[int, ...]) -> Header:
    plan, staging = measurement.plan, measurement.staging
    settings = settings_for(
        staging.settings,
        run.role,
        recipe=measurement.recipe,
        shares=shares,
        split=measurement.split,
        leg=run.leg,
    )
    host = host_facts()
    now = datetime.now(UTC)
    suffix = f"-{run.leg}" if run.leg else ""
    return Header(
        run_id=f"{now:%Y%m%dT%H%M%S}-{plan.id}-{run.role.name}{suffix}-{repeat}-{secrets.token_hex(3)}",
        suite=plan.id,
        session=measurement.session,
        role=run.role.role,
        name=run.role.name,
        leg=run.leg,
        repeat=repeat,
        seed=staging.seeds.base + repeat,
        rehearsal=staging.rehearsal,
        registered_at=now.isoformat(timespec="milliseconds"),
        nonce=secrets.token_hex(16),
        digests=measurement.digests,
        settings=settings,
        pool=run.pool,
        coordinator="" if settings.exchange == "none" else host.host,
        launcher=measurement.launcher.name,
        host=host,
        command=scrub_command(tuple(sys.argv)),
    )


def _reason(record: RunRecord) -> str:
    return "it never closed" if record.outcome is None else record.outcome.reason
