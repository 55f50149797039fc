"""Where participants and the coordinator may run: this machine, or the nodes of a cluster that a flag asks for."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.errors import ClusterError

if TYPE_CHECKING:
    from pytest_mixgpu.launch.ray_cluster import RayCluster
    from pytest_mixgpu.plugin.options import Options

_CLUSTER: pytest.StashKey[RayCluster] = pytest.StashKey()
_HERE = frozenset({"localhost", "127.0.0.1", "::1", "local"})


def cluster_of(config: pytest.Config) -> RayCluster | None:
    """The cluster of this process's session; None where all runs on this machine. It is joined when first used."""
    if config.getoption("--mixgpu-launcher") != "ray":
        return None
    if _CLUSTER not in config.stash:
        from pytest_mixgpu.launch.ray_cluster import RayCluster

        config.stash[_CLUSTER] = RayCluster(host=host_name())
    return config.stash[_CLUSTER]


def leave_cluster(config: pytest.Config) -> None:
    """Leave it, if it was joined."""
    if _CLUSTER in config.stash:
        config.stash[_CLUSTER].close()
        del config.stash[_CLUSTER]


def coordinator_host(config: pytest.Config, options: Options) -> str:
    """The host where updates are combined; without the flag this session's own.

    Raises:
        pytest.UsageError: there is no such host to be had; it lists those that there are.
    """
    cluster, wish = cluster_of(config), options.coordinator
    try:
        if cluster is not None:
            return cluster.coordinator(wish)
    except ClusterError as error:
        flag = "--mixgpu-launcher=ray" if wish is None else f"--mixgpu-coordinator={wish}"
        raise pytest.UsageError(f"{flag}: {error}") from error
    if wish is None or wish in _HERE | {host_name(), socket.gethostname(), socket.getfqdn()} or wish in _addresses():
        return host_name()
    raise pytest.UsageError(
        f"--mixgpu-coordinator={wish}: with --mixgpu-launcher=local everything runs on this host, {host_name()}; leave "
        "it out, or name a node of a Ray cluster with --mixgpu-launcher=ray"
    )


def _addresses() -> frozenset[str]:
    """This machine's own."""
    import psutil

    return frozenset(entry.address for entries in psutil.net_if_addrs().values() for entry in entries)
