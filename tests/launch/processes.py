"""Looking at real processes: which are gone, and a supervisor of one's own that can be killed."""

import subprocess
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import psutil

from pytest_mixgpu.launch.protocol import Limits, Message, Task

ENTRIES = "tests.launch.entries"
QUICK = Limits(start_s=60.0, heartbeat_s=1.0, progress_s=1.0, grace_s=2.0)
PATIENT = Limits(start_s=60.0)

_SUPERVISOR = """
import os, sys, time
from pathlib import Path
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits, Task

with LocalLauncher(preload=()) as launcher:
    tasks = [Task(name=f"p-{index}", entry="tests.launch.entries:" + entry, payload={})
             for index, entry in enumerate(sys.argv[2].split(","))]
    try:
        with launcher.start(tasks, log_dir=Path(sys.argv[1]), limits=Limits(grace_s=float(sys.argv[3]))) as crew:
            said = [crew.receive()[1] for _ in tasks]
            pids = [*crew.pids.values(), *launcher.zygote_pids()]
            for message in said:
                pids += message.get("pids", [])
            if sys.argv[4] == "fork" and os.fork() == 0:
                os.close(1)
                time.sleep(60)  # holds every line of its parent open
                os._exit(0)
            print(*pids, flush=True)
            crew.receive()
    except KeyboardInterrupt:
        print("interrupted", flush=True)
"""


def task(name: str, behaviour: str, **payload: object) -> Task:
    """A task that runs one of the entries of `tests/launch/entries.py`."""
    message: Message = dict(payload)
    return Task(name=name, entry=f"{ENTRIES}:{behaviour}", payload=message)


def start_supervisor(
    folder: Path, behaviours: str, *, grace_s: float = 5.0, fork: bool = False
) -> tuple["subprocess.Popen[str]", list[int]]:
    """Start a process that supervises a crew; returns it and the ids of all that it started."""
    supervisor = subprocess.Popen(
        [sys.executable, "-c", _SUPERVISOR, str(folder), behaviours, str(grace_s), "fork" if fork else ""],
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path(__file__).parents[2],
        start_new_session=True,
    )
    assert supervisor.stdout is not None
    return supervisor, [int(pid) for pid in supervisor.stdout.readline().split()]


def await_end(pids: Iterable[int], *, timeout_s: float = 20.0) -> list[int]:
    """Wait until these processes are gone; returns those that are still there in the end."""
    deadline_s = time.monotonic() + timeout_s
    left = list(pids)
    while (left := [pid for pid in left if is_alive(pid)]) and time.monotonic() < deadline_s:
        time.sleep(0.02)
    return left


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that ended and was not asked for by its parent does not."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
