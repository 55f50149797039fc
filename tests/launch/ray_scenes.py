"""What tests of the Ray launcher run in the cluster's namespace: commands that print what came of it."""

import json
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.errors import ClusterError, DeviceBusyError, RunFailedError
from pytest_mixgpu.launch.protocol import Limits, Message, Task
from pytest_mixgpu.launch.ray_cluster import RayCluster
from pytest_mixgpu.launch.ray_crew import RayCrew
from pytest_mixgpu.launch.ray_launcher import RayLauncher


def say(**what: object) -> None:
    """Print one line for the test."""
    sys.stdout.write(json.dumps(what) + "\n")
    sys.stdout.flush()


@contextmanager
def crew_of(
    *entries: str, limits: Limits | None = None, payload: Message | None = None
) -> Iterator[tuple[RayCrew, Path]]:
    """Workers on one core of a node each, and a coordinator on the last node."""
    launcher = RayLauncher(cluster := RayCluster(host=host_name()))
    launcher.warm([], modules=())
    devices = cluster.inventory.devices
    tasks = [
        Task(
            name=f"participant-{index}",
            entry=f"tests.launch.entries:{entry}",
            payload=payload or {},
            device=devices[index],
        )
        for index, entry in enumerate(entries)
    ]
    coordinator = Task(name="coordinator", entry="tests.launch.entries:echo", payload={}, host=cluster.nodes[-1].host)
    with tempfile.TemporaryDirectory() as logs:
        try:
            with launcher.start([*tasks, coordinator], log_dir=Path(logs), limits=limits or Limits()) as crew:
                yield crew, Path(logs)
        finally:
            launcher.close()


def answers() -> None:
    """Each worker says where it is, and answers in the order in which it was spoken to."""
    with crew_of("echo", "echo") as (crew, logs):
        ready = dict(crew.receive() for _ in range(3))
        for number in range(20):
            crew.send("participant-1", {"kind": "count", "number": number})
        counted = [crew.receive()[1] for _ in range(20)]
        crew.stop()
        say(
            ready=sorted(ready),
            numbers=[each["number"] for each in counted],
            hosts=[hosted.node.host for hosted in crew.hosted],
            logs=sorted(path.name for path in logs.iterdir()),
        )


def fails(entry: str, payload: str) -> None:
    """A worker fails; who is named."""
    limits = Limits(heartbeat_s=3.0, progress_s=4.0, grace_s=1.0)
    try:
        with crew_of("echo", entry, limits=limits, payload=json.loads(payload)) as (crew, _logs):
            while True:
                crew.receive()
    except RunFailedError as error:
        say(
            message=str(error),
            worker=error.worker,
            phase=error.phase,
            round=error.round_index,
            tail=error.log_tail,
        )


def stands() -> None:
    """Say that a crew stands, and name what becomes of it; the test kills a node meanwhile."""
    with crew_of("echo", "echo") as (crew, _logs):
        say(hosts=[hosted.node.host for hosted in crew.hosted])
        try:
            while True:
                crew.receive()
        except RunFailedError as error:
            say(message=str(error), worker=error.worker, at=time.time())


def leases() -> None:
    """Lease two devices on two nodes twice."""
    first, second = RayCluster(host=host_name()), RayCluster(host="elsewhere")
    folder = Path(tempfile.mkdtemp())
    pool = Pool(devices=first.inventory.devices[:2])
    with first.lease(pool, holder="a test", folder=folder):
        busy = sorted(first.busy_ids(pool, folder=folder))
        try:
            second.lease(pool, holder="another", folder=folder).release()
        except DeviceBusyError as error:
            say(busy=busy, message=str(error))
    say(busy=sorted(first.busy_ids(pool, folder=folder)))
    first.close()


def joins() -> None:
    """Try to join."""
    try:
        cluster = RayCluster(host=host_name())
        say(nodes=[node.host for node in cluster.nodes])
        cluster.close()
    except ClusterError as error:
        say(error=str(error))


SCENES: dict[str, Callable[..., None]] = {scene.__name__: scene for scene in (answers, fails, stands, leases, joins)}

if __name__ == "__main__":
    SCENES[sys.argv[1]](*sys.argv[2:])
