"""A Ray cluster as one session sees it: its nodes, their devices and leases, and actors pinned to nodes.

An agent on each node takes the inventory there and holds the leases, so that exact kinds and exclusive use are decided
where the devices are.
"""

import os
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec

from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.errors import ClusterError, DeviceBusyError
from pytest_mixgpu.launch.isolation import import_path
from pytest_mixgpu.launch.ray_connect import alive_nodes, connect, disconnect
from pytest_mixgpu.launch.ray_node import NodeAgent, NodeContext
from pytest_mixgpu.launch.ray_nodes import (
    Probe,
    RayNode,
    code_here,
    describe_nodes,
    find_node,
    name_nodes,
    refuse_differences,
)

ANSWER_S = 60.0
"""How long a node may take to start an actor and to list its devices."""
_NUM_THREADS = 8


class RayCluster:
    """The cluster that `RAY_ADDRESS` names; joined when first asked for anything.

    Args:
        host: what this session's own host calls itself.
    """

    def __init__(self, *, host: str) -> None:
        self._host = host
        self._agents: dict[str, Any] = {}
        self._joined = False

    @cached_property
    def nodes(self) -> tuple[RayNode, ...]:
        """Its living nodes; all run the code that this session runs.

        Raises:
            ClusterError: it cannot be joined, or a node has other code or none.
        """
        connect()
        self._joined = True
        nodes = name_nodes(alive_nodes())
        refuse_differences(code_here(), {node.host: probe for node, probe in self._probe(nodes)})
        return nodes

    def node(self, host: str) -> RayNode:
        """The node of a host; empty is the one where the coordinator stands if nobody says where."""
        return find_node(self.nodes, host or self.own_host)

    @cached_property
    def own_host(self) -> str:
        """The host that this session runs on, as the cluster's nodes are called."""
        import ray

        here = ray.get_runtime_context().get_node_id()
        return next((node.host for node in self.nodes if node.id == here), self.nodes[0].host)

    def coordinator(self, wish: str | None) -> str:
        """The host of the coordinator: the one that was asked for, else this session's own.

        Raises:
            ClusterError: the cluster has no such node; it lists those that it has.
        """
        return self.own_host if wish is None else find_node(self.nodes, wish).host

    @cached_property
    def inventory(self) -> Inventory:
        """The devices of all nodes: GPUs node by node, then cores, the first of each node before the second of any."""
        taken = self._of_agents({node.host: () for node in self.nodes}, "inventory")
        return join_inventories([(node, msgspec.json.decode(taken[node.host], type=Inventory)) for node in self.nodes])

    def busy_ids(self, pool: Pool, *, folder: Path | None = None) -> frozenset[str]:
        """Ids of the devices that somebody holds now; by the time they are asked for it may have changed."""
        parts = _by_host(pool.devices)
        found = self._of_agents(
            {host: (_pool_json(devices), _text(folder)) for host, devices in parts.items()}, "busy_ids"
        )
        return frozenset(id_ for ids in found.values() for id_ in ids)

    def lease(  # noqa: PLR0913 - as `devices.lease.lease`
        self,
        pool: Pool,
        *,
        holder: str,
        folder: Path | None = None,
        wait_s: float = 0,
        on_wait: Callable[[str], None] | None = None,
        others: Sequence[Device] = (),
        session: str = "",
        siblings_wait_s: float = 0,
    ) -> "ClusterLease":
        """Take devices on their nodes, node by node in the order of their names; the arguments are those of `lease`.

        Raises:
            DeviceBusyError: somebody else holds devices; it names the holders.
        """
        deadline_s = time.monotonic() + max(wait_s, siblings_wait_s)
        if on_wait is not None and max(wait_s, siblings_wait_s):
            on_wait(f"asking {len(_by_host(pool.devices))} node(s) for their devices")
        taken = ClusterLease(self._agents)
        elsewhere = _by_host(others)
        try:
            for host, devices in sorted(_by_host(pool.devices).items()):
                left_s = max(0.0, deadline_s - time.monotonic())
                answer = self._of_agents(
                    {
                        host: (
                            _pool_json(devices),
                            f"{holder} on {self._host}",
                            _text(folder),
                            min(wait_s, left_s),
                            _pool_json(elsewhere.get(host, ())),
                            session,
                            min(siblings_wait_s, left_s),
                        )
                    },
                    "lease",
                    within_s=ANSWER_S + left_s,
                )[host]
                number, said = answer
                taken.add(host, number, said, devices)
        except BaseException:
            taken.release()
            raise
        taken.pool = Pool(devices=tuple(taken.served[device.id] for device in pool.devices))
        return taken

    def actor(self, node: RayNode, kind: type, *, num_cpus: float = 0, num_gpus: float = 0) -> Any:
        """Start an actor on a node; it is known before it runs."""
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        context = NodeContext(
            host=node.host,
            address=node.address,
            path=import_path(),
            folder=os.getcwd(),  # noqa: PTH109 - as text
        )
        return (
            ray.remote(kind)
            .options(
                num_cpus=num_cpus,
                num_gpus=num_gpus,
                max_concurrency=_NUM_THREADS,
                max_restarts=0,
                max_task_retries=0,
                scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False),
            )
            .remote(msgspec.json.encode(context))
        )

    def close(self) -> None:
        """End the agents and leave the cluster."""
        if not self._joined:
            return
        import ray

        for agent in self._agents.values():
            with suppress(Exception):
                ray.kill(agent)
        self._agents.clear()
        self._joined = False
        disconnect()

    def _of_agents(
        self, arguments: dict[str, tuple[object, ...]], method: str, *, within_s: float = ANSWER_S
    ) -> dict[str, Any]:
        """Ask the agents of these hosts the same, all at once."""
        for host in arguments:
            if host not in self._agents:
                self._agents[host] = self.actor(self.node(host), NodeAgent)
        asked = {host: getattr(self._agents[host], method).remote(*each) for host, each in arguments.items()}
        return _answers(asked, what=method.replace("_", " "), within_s=within_s)

    def _probe(self, nodes: Sequence[RayNode]) -> list[tuple[RayNode, Probe]]:
        import ray
        from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

        probe = ray.remote(_probe_function())
        asked = {
            node.host: probe.options(
                num_cpus=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node.id, soft=False)
            ).remote()
            for node in nodes
        }
        found = _answers(asked, what="first word", within_s=ANSWER_S)
        return [(node, msgspec.convert(found[node.host], Probe)) for node in nodes]


class ClusterLease:
    """Devices held on several nodes until this is released or the session ends, however it ends."""

    def __init__(self, agents: dict[str, Any]) -> None:
        self._agents = agents
        self._numbers: list[tuple[str, int]] = []
        self.served: dict[str, Device] = {}
        """What was taken, by the id of what was asked for."""
        self.pool = Pool(devices=())
        self.leased_at = time.monotonic()

    def add(self, host: str, number: int, said: str, asked: Sequence[Device]) -> None:
        """Take note of what one node gave, or raise what it said instead."""
        if not number:
            raise DeviceBusyError(said)
        taken = msgspec.json.decode(said, type=Pool).devices
        self._numbers.append((host, number))
        self.served |= {device.id: given for device, given in zip(asked, taken, strict=True)}

    def release(self) -> None:
        """Give the devices back; a second call does nothing. A node that is gone holds none."""
        import ray

        numbers, self._numbers = self._numbers, []
        asked = [self._agents[host].release.remote(number) for host, number in numbers if host in self._agents]
        for each in asked:
            with suppress(ray.exceptions.RayError, TimeoutError):
                ray.get(each, timeout=5.0)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def join_inventories(parts: Sequence[tuple[RayNode, Inventory]]) -> Inventory:
    """One inventory of several nodes. A participant a node comes before a second one on any, where cores serve.

    No more devices of a node are listed than Ray was told that it has, since others share the rest.
    """
    gpus: list[Device] = []
    cores: list[tuple[int, int, Device]] = []
    notes: list[str] = []
    for place, (node, inventory) in enumerate(parts):
        gpus += inventory.gpus[: node.num_gpus]
        cores += [(rank, place, core) for rank, core in enumerate(inventory.cores[: node.num_cpus])]
        notes += [f"{node.host}: {note}" for note in inventory.notes]
        hidden = len(inventory.gpus) - node.num_gpus
        if hidden > 0:
            notes.append(f"{node.host}: Ray offers {node.num_gpus} of {len(inventory.gpus)} GPUs there")
        notes.append(f"{node.host} has {_spec(inventory.gpus[: node.num_gpus], inventory.cores[: node.num_cpus])}")
    return Inventory(
        devices=(*gpus, *(core for _, _, core in sorted(cores, key=lambda each: each[:2]))),
        notes=tuple(notes),
        refusals=tuple(f"{node.host}: {text}" for node, inventory in parts for text in inventory.refusals),
        facts=tuple(facts for _, inventory in parts for facts in inventory.facts),
        links=tuple(link for _, inventory in parts for link in inventory.links),
    )


def _spec(gpus: Sequence[Device], cores: Sequence[Device]) -> str:
    parts = [Pool(devices=tuple(devices)).spec for devices in (gpus, cores) if devices]
    return " and ".join(parts) or "nothing that Ray offers"


def _answers(asked: dict[str, Any], *, what: str, within_s: float) -> dict[str, Any]:
    import ray

    ready, late = ray.wait(list(asked.values()), num_returns=len(asked), timeout=within_s)
    if late:
        slow = [host for host, each in asked.items() if each in late]
        raise ClusterError(f"no answer within {within_s:g} s (its {what}) from {', '.join(slow)}")
    del ready
    answers: dict[str, Any] = {}
    for host, each in asked.items():
        try:
            answers[host] = ray.get(each)
        except ray.exceptions.RayError as error:
            raise ClusterError(f"{host} could not answer (its {what}): {short(error)}") from error
    return answers


def short(error: BaseException) -> str:
    """The last line of what Ray says, which names the cause."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return (lines[-1] if lines else type(error).__name__)[:300]


def _probe_function() -> Callable[[], dict[str, object]]:
    """Made inside a function, so that it travels as code: a node without our package can still say so."""

    def probe() -> dict[str, object]:
        import platform as platform_there

        python = platform_there.python_version()
        try:
            import msgspec as msgspec_there

            from pytest_mixgpu.launch.ray_nodes import code_here as code_there

            found: dict[str, object] = msgspec_there.to_builtins(code_there())
        except ImportError as error:
            return {"python": python, "package": "", "files": {}, "problem": str(error)}
        return found

    return probe


def _by_host(devices: Sequence[Device]) -> dict[str, tuple[Device, ...]]:
    hosts = dict.fromkeys(device.host for device in devices)
    return {host: tuple(device for device in devices if device.host == host) for host in hosts}


def _pool_json(devices: Sequence[Device]) -> bytes:
    return msgspec.json.encode(Pool(devices=tuple(devices)))


def _text(folder: Path | None) -> str:
    return "" if folder is None else str(folder)


__all__ = ["ClusterLease", "RayCluster", "describe_nodes", "join_inventories", "short"]
