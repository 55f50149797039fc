"""The nodes of a cluster: from what Ray and a probe say of them to names, and to what must not differ. Imports no ray.

Pure functions but for `code_here`, which reads our own files.
"""

import hashlib
import platform
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

import pytest_mixgpu
from pytest_mixgpu.errors import ClusterError

_ROOMS = ("devices", "jobs", "launch", "records", "timing", "errors.py")
"""What runs on a node: where it differs, the numbers of two nodes are not of one program."""


class RayNode(msgspec.Struct, frozen=True, kw_only=True):
    """One node of the cluster."""

    host: str
    """What this session calls it: its host name, or more where several nodes share one."""
    id: str
    address: str
    labels: tuple[tuple[str, str], ...] = ()
    num_cpus: int = 0
    """As Ray was told; no more cores than that are used."""
    num_gpus: int = 0

    @property
    def names(self) -> frozenset[str]:
        """What a person may call it."""
        return frozenset({self.host, self.address, self.id})


class Probe(msgspec.Struct, frozen=True, kw_only=True):
    """What a node said of the software that it would run."""

    python: str
    package: str
    """Folder of our package; empty where there is none."""
    files: dict[str, str]
    """SHA-256 of each of our modules that a worker can load, by path within the package."""
    problem: str = ""
    """Why there is no package."""


def name_nodes(nodes: Sequence[Mapping[str, Any]]) -> tuple[RayNode, ...]:
    """Give each node a name of its own, in the order of their names.

    The host's own where no other node has it; else the node's name if Ray was given one; else its address or id.
    """
    hosts = Counter(str(node["NodeManagerHostname"]) for node in nodes)
    given = Counter(str(node.get("NodeName") or "") for node in nodes)
    addresses = Counter(str(node["NodeManagerAddress"]) for node in nodes)
    named = [_named(node, hosts=hosts, given=given, addresses=addresses) for node in nodes]
    return tuple(sorted(named, key=lambda node: _natural(node.host)))


def _named(node: Mapping[str, Any], *, hosts: Counter[str], given: Counter[str], addresses: Counter[str]) -> RayNode:
    host, address = str(node["NodeManagerHostname"]), str(node["NodeManagerAddress"])
    name, id_ = str(node.get("NodeName") or ""), str(node["NodeID"])
    if hosts[host] > 1:
        if name and name != address and given[name] == 1:
            host = name
        else:
            host = f"{host}/{address}" if addresses[address] == 1 else f"{host}/{id_[:8]}"
    resources = node.get("Resources") or {}
    return RayNode(
        host=host,
        id=id_,
        address=address,
        labels=tuple(sorted((str(key), str(value)) for key, value in (node.get("Labels") or {}).items())),
        num_cpus=int(resources.get("CPU", 0)),
        num_gpus=int(resources.get("GPU", 0)),
    )


def _natural(name: str) -> tuple[tuple[bool, int, str], ...]:
    """`node-2` comes before `node-10`."""
    parts: list[str] = []
    for character in name:
        if parts and parts[-1].isdecimal() == character.isdecimal():
            parts[-1] += character
        else:
            parts.append(character)
    return tuple((part.isdecimal(), int(part) if part.isdecimal() else 0, part) for part in parts)


def find_node(nodes: Sequence[RayNode], wish: str) -> RayNode:
    """The node that a person means: by host, address, or a Ray node label `key=value`.

    Raises:
        ClusterError: none is, or several are; it lists what is there.
    """
    key, is_label, value = wish.partition("=")
    found = [node for node in nodes if ((key, value) in node.labels if is_label else wish in node.names)]
    if len(found) == 1:
        return found[0]
    what = "no node" if not found else f"{len(found)} nodes ({', '.join(node.host for node in found)})"
    kind = "has the label" if is_label else "is called"
    raise ClusterError(f"{what} of the cluster {kind} {wish}. {describe_nodes(nodes)}")


def describe_nodes(nodes: Sequence[RayNode]) -> str:
    """List the nodes, with their addresses and the labels that somebody gave them."""
    texts = []
    for node in nodes:
        labels = [f"{key}={value}" for key, value in node.labels if not key.startswith("ray.io/")]
        texts.append(f"{node.host} ({', '.join([node.address, *labels])})")
    return f"Its nodes are: {'; '.join(texts) or 'none'}"


def code_here() -> Probe:
    """What this process would run."""
    package = Path(pytest_mixgpu.__file__).parent
    files = {
        path.relative_to(package).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in sorted(package.rglob("*.py"))
        if path.relative_to(package).parts[0] in _ROOMS
    }
    return Probe(python=platform.python_version(), package=str(package), files=files)


def refuse_differences(mine: Probe, found: Mapping[str, Probe]) -> None:
    """Make sure that each node has our package, and the same.

    Args:
        mine: of this process.
        found: of each node, by host.

    Raises:
        ClusterError: names every node and what is different there.
    """
    lines = [f"{host}: {text}" for host, probe in found.items() if (text := _difference(mine, probe))]
    if lines:
        raise ClusterError(
            f"the nodes do not run the code that this session runs (pytest-mixgpu at {mine.package}, "
            f"Python {mine.python}). {'; '.join(lines)}. Install the same version, with the same extras, on every node"
        )


def _difference(mine: Probe, probe: Probe) -> str:
    if not probe.package:
        return f"pytest-mixgpu cannot be imported there ({probe.problem})"
    other = [name for name in sorted({*mine.files, *probe.files}) if mine.files.get(name) != probe.files.get(name)]
    if not other:
        return ""
    more = f" and {len(other) - 3} more" if len(other) > 3 else ""
    return f"{', '.join(other[:3])}{more} differ at {probe.package}"
