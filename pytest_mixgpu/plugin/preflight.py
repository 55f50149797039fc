"""Asks for devices before the first test: from flags to a pool, or a usage error that says what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.catalog_file import read_own_kinds
from pytest_mixgpu.devices.inventory import describe, take_inventory
from pytest_mixgpu.devices.lease import busy_ids, holders
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import MixgpuError, PoolShortfallError
from pytest_mixgpu.plugin.cluster import cluster_of, leave_cluster
from pytest_mixgpu.plugin.keys import INVENTORY
from pytest_mixgpu.plugin.options import read as read_options
from pytest_mixgpu.plugin.suites import suite_folder

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from pytest_mixgpu.devices.catalog_file import Catalog
    from pytest_mixgpu.devices.inventory import Inventory
    from pytest_mixgpu.records.plan import Plan


def print_devices(config: pytest.Config) -> None:
    """Print what is here, one line a kind or device, and who holds what, for `--mixgpu-devices`."""
    cluster = cluster_of(config)
    try:
        inventory = inventory_of(config)
    except MixgpuError as error:
        raise pytest.UsageError(f"--mixgpu-launcher=ray: {error}") from error
    # Who holds a device of another host is known there: whoever asks for it is told.
    held = {} if cluster is not None else holders(Pool(devices=inventory.devices), folder=read_options(config).leases)
    for line in [*describe(inventory), *(f"  {name} is leased: {who}" for name, who in held.items())]:
        print(line)  # noqa: T201  (the whole answer of this flag; no terminal reporter exists yet)
    leave_cluster(config)


def inventory_of(config: pytest.Config) -> Inventory:
    """What is here, by the sources of a conftest where it has some; looked up once in a process."""
    cluster = cluster_of(config)
    if cluster is not None:
        return cluster.inventory
    if INVENTORY not in config.stash:
        config.stash[INVENTORY] = look_again(config)
    return config.stash[INVENTORY]


def look_again(config: pytest.Config) -> Inventory:
    """What is here now: clocks, caps and temperatures change while a session lasts."""
    return take_inventory(config.hook.pytest_mixgpu_sources(config=config), catalog=_catalog_of(config))


def _catalog_of(config: pytest.Config) -> Catalog | None:
    """The shipped kinds with those of the user's file; None where there is no such file."""
    path = read_options(config).kinds
    if path is None:
        return None
    try:
        return read_own_kinds(path)
    except MixgpuError as error:
        raise pytest.UsageError(f"--mixgpu-kinds: {error}") from error


def preflight_arguments(config: pytest.Config) -> None:
    """Check what xdist's controller can know, since it collects no test: `--gpus`, and the suites that were named.

    Raises:
        pytest.UsageError: something is missing.
    """
    from pytest_mixgpu.plugin import open_session

    session = open_session(config)
    if session.options.records or session.options.runs_no_test or config.option.collectonly:
        return
    if session.options.gpus is not None:
        session.pool_named(session.options.gpus, plan=None)
    for argument in config.args:
        path = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        suite = session.suite_at(suite_folder(path, config.rootpath))
        session.named.append(suite)
        try:
            if suite.plan is not None:
                session.preflight_suite(suite)
        except MixgpuError as error:
            raise pytest.UsageError(str(error)) from error


def pool_for_request(
    request: str | None, *, plan: Plan | None, config: pytest.Config, leases: Path | None, chosen: Mapping[str, Pool]
) -> tuple[str, Pool]:
    """The pool that the flag asks for, and its text; without it the plan's rehearsal pool, else every device here.

    Args:
        request: what the flag says, if it was given.
        plan: of the suite.
        config: of this session.
        leases: folder of the locks.
        chosen: pools that xdist's controller chose, by text: all workers measure on the same kinds.

    Raises:
        pytest.UsageError: the request cannot be read or met.
    """
    rehearsal = None if plan is None or plan.rehearsal is None else plan.rehearsal.pool
    text = request or rehearsal or "auto"
    if text in chosen:
        return text, chosen[text]
    try:
        inventory = inventory_of(config)
        # Where there are devices to choose from, those that another session holds are left to it.
        cluster = cluster_of(config)
        find_busy = busy_ids if cluster is None else cluster.busy_ids
        busy = find_busy(Pool(devices=inventory.devices), folder=leases)
        return text, allocate(PoolSpec.parse(text), inventory, avoid=busy, catalog=_catalog_of(config))
    except MixgpuError as error:
        hint = ""
        if request is not None and isinstance(error, PoolShortfallError):
            stand_in = f"rehearses on {rehearsal}" if rehearsal else "rehearses on what is here"
            hint = f" To rehearse without these devices, leave --gpus out: the suite then {stand_in}."
        raise pytest.UsageError(f"--gpus={text}: {error}{hint}") from error
