"""Workers on the nodes of a Ray cluster: one actor a participant and one for the coordinator. Imports no ray itself."""

import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from pytest_mixgpu.launch.protocol import Limits, Task
from pytest_mixgpu.launch.ray_cluster import RayCluster
from pytest_mixgpu.launch.ray_crew import Hosted, RayCrew
from pytest_mixgpu.launch.ray_node import WorkerHost

_CLOSE_S = 10.0


class RayLauncher:
    """Starts workers on the nodes where their devices are.

    The actors stay between runs, each with its preloaded process; a node or an actor that was lost is asked anew.

    Args:
        cluster: where the nodes are.
    """

    name = "ray"

    def __init__(self, cluster: RayCluster) -> None:
        self._cluster = cluster
        self._modules: tuple[str, ...] | None = None
        self._hosts: dict[tuple[str, str], Any] = {}
        self._num_runs = 0

    def warm(self, environments: Iterable[Iterable[tuple[str, str]]], *, modules: Sequence[str] | None = None) -> None:
        """Keep what will be imported: each node preloads it before `start` returns, so none does beside a round."""
        del environments
        if modules is not None:
            self._modules = tuple(modules)

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> RayCrew:
        """Start all tasks and return once each has said its first word.

        Args:
            tasks: the workers; their names differ.
            log_dir: where each worker's output goes when it has ended, as `<name>.log`.
            limits: how long silence is borne.

        Raises:
            RunFailedError: one of them did not start.
            ClusterError: the host of a task is no node of the cluster.
            ValueError: two tasks have one name.
        """
        if len({task.name for task in tasks}) != len(tasks):
            raise ValueError(f"workers need different names, found {[task.name for task in tasks]}")
        log_dir.mkdir(parents=True, exist_ok=True)
        self._num_runs += 1
        crew = RayCrew(limits=limits, asked_s=time.monotonic())
        try:
            for task in tasks:
                crew.add(self._hosted(task, log_dir), modules=self._modules)
            crew.await_first_words()
        except BaseException:
            crew.stop()
            raise
        finally:
            self._forget_lost(crew)
        return crew

    def _hosted(self, task: Task, log_dir: Path) -> Hosted:
        node = self._cluster.node(task.device.host if task.device is not None else task.host)
        key = (node.id, task.device.id if task.device is not None else task.name)
        if key in self._hosts and not _answers(self._hosts[key]):
            del self._hosts[key]
        if key not in self._hosts:
            is_gpu = task.device is not None and task.device.vendor != "cpu"
            # What Ray counts: another user of the cluster is not given what a participant uses.
            self._hosts[key] = self._cluster.actor(
                node, WorkerHost, num_cpus=float(task.device is not None and not is_gpu), num_gpus=float(is_gpu)
            )
        hosted = Hosted(task, node, self._hosts[key], (log_dir / f"{task.name}.log").absolute())
        hosted.run = self._num_runs
        return hosted

    def _forget_lost(self, crew: RayCrew) -> None:
        lost = {id(hosted.host) for hosted in crew.hosted if hosted.lost}
        self._hosts = {key: host for key, host in self._hosts.items() if id(host) not in lost}

    def close(self) -> None:
        """End the actors and what they keep."""
        hosts, self._hosts = self._hosts, {}
        if hosts:
            import ray

            with suppress(Exception):
                ray.wait([host.close.remote() for host in hosts.values()], num_returns=len(hosts), timeout=_CLOSE_S)
            for host in hosts.values():
                with suppress(Exception):
                    ray.kill(host)
        self._cluster.close()


def _answers(host: Any) -> bool:
    """Whether an actor from an earlier run is still there."""
    import ray

    try:
        ray.get(host.look.remote(0, 0.0), timeout=5.0)
    except (ray.exceptions.RayError, TimeoutError):
        return False
    return True
