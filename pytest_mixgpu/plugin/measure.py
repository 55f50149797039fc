"""Makes runs: from planned runs to records, one after the other under a lease. Imports no pytest."""

from __future__ import annotations

import secrets
import sys
import time
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.devices.alike import stand_ins
from pytest_mixgpu.devices.interference import Interference
from pytest_mixgpu.devices.inventory import facts_about
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.watch import Watch
from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.checked import checked
from pytest_mixgpu.jobs.code import code_paths, code_seen, evaluator_paths
from pytest_mixgpu.jobs.conduct import conduct
from pytest_mixgpu.jobs.factory import job_for
from pytest_mixgpu.jobs.shares import equal_shares, speed_shares
from pytest_mixgpu.jobs.workloads.preload import preload_for
from pytest_mixgpu.jobs.workloads.recipe import any_recipe
from pytest_mixgpu.marks.lock_file import lock_digest
from pytest_mixgpu.records.digests import code_digest
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.model import Digests, Header, Outcome
from pytest_mixgpu.records.plan_file import settings_for
from pytest_mixgpu.records.secrets import scrub_command

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_mixgpu.devices.inventory import Inventory
    from pytest_mixgpu.jobs.named import NamedJob
    from pytest_mixgpu.jobs.workloads.recipe import AnyRecipe
    from pytest_mixgpu.launch.protocol import Launcher
    from pytest_mixgpu.plugin.anchoring import Anchoring
    from pytest_mixgpu.plugin.sequence import PlannedRun, Staging
    from pytest_mixgpu.plugin.suites import Suite
    from pytest_mixgpu.records.model import HostFacts, RunRecord
    from pytest_mixgpu.records.plan import Plan
    from pytest_mixgpu.records.store import RunStore, RunWriter


COORDINATED = frozenset({"star"})
"""Exchanges in which a coordinator combines the updates."""


def package_root() -> Path:
    """The folder that holds the package; digests of code name files relative to it."""
    from pathlib import Path

    import pytest_mixgpu

    return Path(pytest_mixgpu.__file__).parent.parent


class CodeDigests(msgspec.Struct, frozen=True, kw_only=True):
    """SHA-256 of the code that is in force."""

    code: str
    evaluator: str


@cache
def code_digests() -> CodeDigests:
    """What produces numbers and scores, as it is when this process first asks."""
    root = package_root()
    return CodeDigests(
        # Read here once, so that no run has to; an error names the file that cannot be read.
        code=code_seen().digest or code_digest(code_paths(), root),
        evaluator=code_digest(evaluator_paths(), root),
    )


def digests_in_force(suite: Suite) -> Digests:
    """SHA-256 of a suite's plan and lock, and of code and evaluator, as they are now."""
    found = code_digests()
    return Digests(plan=suite.plan_digest, lock=lock_digest(suite.lock), code=found.code, evaluator=found.evaluator)


class Measurement(msgspec.Struct, frozen=True, kw_only=True):
    """What all runs of one session and suite share."""

    plan: Plan
    staging: Staging
    session: str
    store: RunStore
    launcher: Launcher
    recipe: AnyRecipe
    digests: Digests
    split: str
    hold: Callable[[Pool], AbstractContextManager[Pool]]
    coordinator: str
    """Host where updates are combined, where an exchange does that."""
    data_root: Path | None
    say: Callable[[str], None]
    anchoring: Anchoring
    look: Callable[[], Inventory]
    """Gives what is here now, asked at the start of each run on GPUs."""
    job: NamedJob | None = None
    """A user's own, in place of ours."""
    folder: Path | None = None
    """The suite's."""


def recipe_for(name: str, suite_folder: Path) -> AnyRecipe:
    """The recipe of that name: the suite's own `recipes/` folder first, then those that ship with the package."""
    return any_recipe(name, folders=(suite_folder / "recipes",))


def make_runs(
    measurement: Measurement, planned: tuple[PlannedRun, ...], *, first_repeats: Mapping[str, int]
) -> tuple[RunRecord, ...]:
    """Make these runs in their order, holding all their devices from the first to the last.

    A failed run is a record too, and ends its group: the rest would stand alone.

    Args:
        measurement: what they share.
        planned: of one group.
        first_repeats: the number of the first repeat, by the role's name.

    Raises:
        DeviceBusyError: somebody else holds a device; nothing was registered.
        PlanError: shares by speed are asked for, and nothing says what they are.
    """
    records: list[RunRecord] = []
    devices = {device.id: device for run in planned for device in run.pool.devices}
    with measurement.hold(Pool(devices=tuple(devices.values()))) as held:
        planned = _on_devices(planned, dict(zip(devices, held.devices, strict=True)))
        meter = _Meter()
        # All at once and before the first round, so that no preload goes on beside a measurement; the first run pays.
        environments = {device.environment for run in planned for device in run.pool.devices}
        measurement.launcher.warm([(), *sorted(environments)], modules=preload_for(measurement.recipe))
        shares = _Shares(measurement, planned, meter)
        for number, run in enumerate(planned, start=1):
            repeat = first_repeats[run.role.name] + run.seed_index
            steps = shares.of(run, repeat)
            if steps is None:
                break
            place = f"[{run.group} {number}/{len(planned)}] "
            records.append(make_run(measurement, run, repeat=repeat, shares=steps, meter=meter, place=place))
            if records[-1].status != "completed":
                break
    return tuple(records)


def _on_devices(planned: tuple[PlannedRun, ...], held: Mapping[str, Device]) -> tuple[PlannedRun, ...]:
    """The same runs on the devices that were leased, which are of the same exact parts as those that were planned."""

    def serve(device: Device) -> Device:
        found = held[device.id]
        if found.id == device.id:
            return device
        return stand_ins(device, (found,))[-1]

    return tuple(
        msgspec.structs.replace(run, pool=Pool(devices=tuple(serve(device) for device in run.pool.devices)))
        for run in planned
    )


def make_run(  # noqa: PLR0913 - one argument a property of the run
    measurement: Measurement,
    run: PlannedRun,
    *,
    repeat: int,
    shares: tuple[int, ...],
    meter: _Meter,
    place: str = "",
) -> RunRecord:
    """Register and conduct one run on devices that are held already.

    Args:
        measurement: what all runs share.
        run: as planned.
        repeat: its number.
        shares: local steps of each participant in a round.
        meter: says since when the devices are billed to this run.
        place: which run of how many, as progress shows it.
    """
    header = _header(measurement, run, repeat=repeat, shares=shares)
    writer = measurement.store.register(header)
    _announce(measurement, header, writer, meter)
    # What is watched from here is this host; of devices elsewhere it stays unknown.
    own = tuple(device for device in run.pool.devices if device.host == header.host.host)
    cores = tuple(device.ordinal for device in own if device.vendor == "cpu")
    label = place + (run.role.name if not run.leg else f"{run.role.name} ({run.leg})")

    def say(text: str) -> None:
        measurement.say(f"{label} on {run.pool.spec}: {text}")

    record = conduct(
        header,
        measurement.recipe,
        launcher=measurement.launcher,
        writer=writer,
        progress=say,
        interference=Interference(cores) if cores else None,
        watch=Watch(own),
        evaluation=measurement.staging.evaluation,
        leased_at=meter.since_s,
        data_root=measurement.data_root,
        folder=measurement.folder,
        make_job=job_for if measurement.job is None else checked(measurement.job),
    )
    meter.since_s = time.monotonic()
    measurement.anchoring.closed(record, measurement.store)
    if record.status != "completed":
        say(f"{record.status}: {'it never closed' if record.outcome is None else record.outcome.reason}")
    return record


def _announce(measurement: Measurement, header: Header, writer: RunWriter, meter: _Meter) -> None:
    """Keep outside that a run was registered; one that cannot be announced is not launched."""
    try:
        measurement.anchoring.keep("register", measurement.store, run_id=header.run_id)
    except BaseException as error:
        writer.close(
            Outcome(
                status="stopped" if isinstance(error, KeyboardInterrupt) else "failed",
                finished_at=utc_now(),
                reason=f"it was not launched, since its registration could not be kept outside: {error}",
                leased_s=time.monotonic() - meter.since_s,
            )
        )
        raise


class _Meter:
    """Since when devices that are held are billed to no run yet, on the monotonic clock; the next run takes it over."""

    def __init__(self) -> None:
        self.since_s = time.monotonic()


class _Shares:
    """Shares of the participants: equal, or in proportion to solo speed, measured once a group.

    Repeats are joined only where their shares agree, so one measurement serves all repeats of a session. Those who are
    compared take the same shares: controls those of the mixed run, the reference those of the fleet.
    """

    def __init__(self, measurement: Measurement, planned: tuple[PlannedRun, ...], meter: _Meter) -> None:
        self._measurement = measurement
        self._meter = meter
        self._leader = next((run for run in planned if run.role.role in {"fleet", "mixed"}), None)
        self._is_measured = False
        self._by_solo_speed: tuple[int, ...] | None = None

    def of(self, run: PlannedRun, repeat: int) -> tuple[int, ...] | None:
        """The steps of each participant in a round; None if the measurement of solo speed failed."""
        steps = run.role.round_steps or self._measurement.staging.settings.round_steps
        if run.role.role == "baseline":
            return (steps,)
        if self._measurement.split == "equal":
            return equal_shares(steps, len(run.pool))
        if not self._is_measured:
            self._by_solo_speed = self._by_speed(run, repeat, steps)
            self._is_measured = True
        return self._by_solo_speed

    def _by_speed(self, run: PlannedRun, repeat: int, steps: int) -> tuple[int, ...] | None:
        leader = self._leader
        if leader is None:
            return self._recorded(run, repeat)
        solo_role = msgspec.structs.replace(
            leader.role, role="baseline", to_finish=False, rounds=1, warmup_rounds=1, num_devices=len(leader.pool)
        )
        solo = msgspec.structs.replace(leader, leg="solo-speed", role=solo_role)
        record = make_run(self._measurement, solo, repeat=repeat, shares=(steps,), meter=self._meter)
        if record.status != "completed":
            return None
        rates_per_s = tuple(
            sum(line.samples) / line.round_s
            for index in range(len(leader.pool))
            for line in record.measured_rounds
            if line.participants == (index,)
        )
        return speed_shares(steps, rates_per_s)

    def _recorded(self, run: PlannedRun, repeat: int) -> tuple[int, ...]:
        """Controls of a session without the mixed pool take the shares of the mixed run that they stand beside."""
        for record in self._measurement.store.records(self._measurement.plan.id):
            header = record.header
            is_leader = (header.role, header.repeat, header.rehearsal) == (
                "mixed",
                repeat,
                self._measurement.staging.rehearsal,
            )
            ours = self._measurement.digests
            if is_leader and (header.digests.plan, header.digests.code) == (ours.plan, ours.code):
                return header.settings.shares
        raise PlanError(
            f"{run.role.name}: split is `speed`, so it takes the shares of the mixed run of repeat {repeat}, "
            "and there is no record of that here: make the mixed run first, in this report folder"
        )


def _host_with(measurement: Measurement, pool: Pool) -> HostFacts:
    """Describe this host, with what it says of the devices of a run that it has."""
    host = host_facts()
    if pool.is_cpu:
        return host
    facts, links = facts_about(pool.devices, measurement.look())
    return msgspec.structs.replace(host, devices=facts, device_links=links)


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
    host = _host_with(measurement, run.pool)
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
        challenge=next(iter(measurement.anchoring.options.nonces), ""),
        digests=measurement.digests,
        settings=settings,
        pool=run.pool,
        coordinator=measurement.coordinator if settings.exchange in COORDINATED else "",
        launcher=measurement.launcher.name,
        job="" if measurement.job is None else measurement.job.name,
        job_modules={} if measurement.job is None else measurement.job.digests(),
        host=host,
        command=scrub_command(tuple(sys.argv)),
    )
