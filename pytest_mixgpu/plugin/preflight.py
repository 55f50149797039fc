"""Asks for devices before the first test: from flags to a pool, or a usage error that says what is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.inventory import describe, take_inventory
from pytest_mixgpu.devices.lease import busy_ids
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import MixgpuError, PoolShortfallError
from pytest_mixgpu.plugin.suites import suite_folder

if TYPE_CHECKING:
    from pytest_mixgpu.records.plan import Plan


def print_devices(config: pytest.Config) -> None:
    """Print what is here, one line a kind or device, for `--mixgpu-devices`."""
    del config
    for line in describe(take_inventory()):
        print(line)  # noqa: T201  (the whole answer of this flag; no terminal reporter exists yet)


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
        pool_for_request(session.options.gpus, plan=None)
    for argument in config.args:
        path = (config.invocation_params.dir / argument.partition("::")[0]).resolve()
        suite = session.suite_at(suite_folder(path, config.rootpath))
        session.named.append(suite)
        try:
            if suite.plan is not None:
                session.preflight_suite(suite)
        except MixgpuError as error:
            raise pytest.UsageError(str(error)) from error


def pool_for_request(request: str | None, *, plan: Plan | None) -> Pool:
    """The pool that the flag asks for; without it the plan's rehearsal pool, else every device here.

    Raises:
        pytest.UsageError: the request cannot be read or met.
    """
    rehearsal = None if plan is None or plan.rehearsal is None else plan.rehearsal.pool
    text = request or rehearsal or "auto"
    try:
        inventory = take_inventory()
        # Where there are devices to choose from, those that another session holds are left to it.
        return allocate(PoolSpec.parse(text), inventory, avoid=busy_ids(Pool(devices=inventory.devices)))
    except MixgpuError as error:
        hint = ""
        if request is not None and isinstance(error, PoolShortfallError):
            stand_in = f"rehearses on {rehearsal}" if rehearsal else "rehearses on what is here"
            hint = f" To rehearse without these devices, leave --gpus out: the suite then {stand_in}."
        raise pytest.UsageError(f"--gpus={text}: {error}{hint}") from error
