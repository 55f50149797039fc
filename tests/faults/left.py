"""What a run may leave: no process, a whole ledger, a record that can be read."""

import os
from pathlib import Path

import psutil

from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Launcher
from pytest_mixgpu.records.store import RunStore
from tests.stored_faults import faults_of

FAMILY = "MIXGPU_FAULTS_FAMILY"
"""A variable that every process of these tests inherits, by which those that are left over are found."""


def check_left(launcher: Launcher, family: str, folder: Path) -> None:
    """Nothing runs but the launcher's parents, nobody writes, chain and digests are whole, every record is read."""
    kept = {os.getpid(), *(launcher.zygote_pids() if isinstance(launcher, LocalLauncher) else ())}
    left = [one for one in psutil.process_iter() if one.pid not in kept and _is_of(one, family)]
    assert [] == left
    store = RunStore(folder)
    assert () == faults_of(store, "made")
    assert [(False, True)] == [(run.is_running, run.record is not None) for run in store.survey()]


def _is_of(process: psutil.Process, family: str) -> bool:
    try:
        return process.environ().get(FAMILY) == family and process.status() != psutil.STATUS_ZOMBIE
    except psutil.Error:
        return False
