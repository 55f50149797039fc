"""Small real runs on this machine's cores, for the tests of this room."""

import os
import secrets
import socket
from pathlib import Path
from typing import Any

import msgspec

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.jobs.conduct import conduct
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.messages import Scale
from pytest_mixgpu.jobs.shares import equal_shares
from pytest_mixgpu.jobs.workloads.recipe import Recipe, load_recipe
from pytest_mixgpu.launch.protocol import Launcher, Limits
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.model import Digests, Header, Role, RunRecord, Settings
from pytest_mixgpu.records.store import RunStore

ROLES: dict[str, Role] = {"none": "baseline", "star": "fleet", "ddp": "reference"}


def core_pool(*kinds: str) -> Pool:
    """Cores of this machine under these kinds; one core may stand for several where there are too few."""
    cores = sorted(os.sched_getaffinity(0))
    host = socket.gethostname()
    return Pool(
        devices=tuple(
            Device(
                id=f"cpu:{host}:{cores[index % len(cores)]}",
                kind=kind,
                name="a core",
                vendor="cpu",
                host=host,
                ordinal=cores[index % len(cores)],
                environment=CPU_KINDS[kind].environment,
            )
            for index, kind in enumerate(kinds)
        )
    )


def made_header(
    *, exchange: str = "star", pool: Pool | None = None, shares: tuple[int, ...] | None = None, **changes: Any
) -> Header:
    """A short run of the digits: 8 steps a round, 1 warm-up and 2 measured rounds."""
    pool = pool if pool is not None else core_pool("cpu", "cpu")
    recipe = digits()
    if shares is None:
        shares = (8,) if exchange == "none" else equal_shares(8, len(pool))
    settings = Settings(
        workload=recipe.name,
        number_format="float32",
        batch_size=16,
        round_steps=sum(shares),
        shares=shares,
        rounds=2,
        warmup_rounds=1,
        to_finish=True,
        exchange=exchange,
        payload="float32",
        split="equal",
        num_threads=1,
        evaluate_every=2,
        recipe=recipe.as_dict(),
    )
    host = host_facts()
    return Header(
        run_id=f"run-{secrets.token_hex(4)}",
        suite="made",
        session="session",
        role=ROLES.get(exchange, "fleet"),
        name=ROLES.get(exchange, "fleet"),
        repeat=0,
        seed=7,
        rehearsal=True,
        registered_at="2026-11-29T12:00:00.000+00:00",
        nonce=secrets.token_hex(8),
        digests=Digests(plan="plan", lock="", code="code", evaluator="evaluator"),
        settings=msgspec.structs.replace(settings, **changes),
        pool=pool,
        coordinator="" if exchange == "none" else host.host,
        launcher="local",
        host=host,
    )


def digits() -> Recipe:
    """The smallest workload that ships."""
    return load_recipe("digits-vit", folders=())


def run_it(header: Header, launcher: Launcher, folder: Path, **options: Any) -> RunRecord:
    """Register and conduct a run in a report folder."""
    writer = RunStore(folder).register(header)
    return conduct(header, digits(), launcher=launcher, writer=writer, **options)


def made_setup(header: Header, launcher: Launcher, folder: Path) -> JobSetup:
    """What a job is made from, without a conductor."""
    return JobSetup(
        header=header,
        recipe=digits(),
        launcher=launcher,
        log_dir=folder,
        limits=Limits(),
        scale=Scale(device="cpu", number_format="float32", num_threads=1),
    )
