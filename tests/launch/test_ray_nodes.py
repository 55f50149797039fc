"""The nodes of a cluster without a cluster: names, wishes, one inventory, what must not differ."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import ClusterError, PoolShortfallError
from pytest_mixgpu.launch.ray_cluster import join_inventories
from pytest_mixgpu.launch.ray_connect import connect, explain
from pytest_mixgpu.launch.ray_node import rename_host
from pytest_mixgpu.launch.ray_nodes import Probe, RayNode, code_here, find_node, name_nodes, refuse_differences


def ray_node(number: int, *, host: str = "", name: str = "", address: str = "", **resources: float) -> dict[str, Any]:
    """What Ray says of a node."""
    return {
        "NodeID": f"{number:056x}",
        "NodeManagerHostname": host or f"host-{number}",
        "NodeManagerAddress": address or f"10.0.0.{number}",
        "NodeName": name or address or f"10.0.0.{number}",
        "Labels": {"site": "far" if number % 2 else "near", "number": str(number), "ray.io/node-id": "x"},
        "Resources": resources,
    }


def core(host: str, ordinal: int) -> Device:
    """A core of a host."""
    return Device(id=f"cpu:{host}:{ordinal}", kind="cpu", name="Some CPU", vendor="cpu", host=host, ordinal=ordinal)


def gpu(host: str, ordinal: int, *, kind: str = "a40") -> Device:
    """A GPU of a host."""
    return Device(id=f"GPU-{host}-{ordinal}", kind=kind, name="NVIDIA A40", vendor="nvidia", host=host, ordinal=ordinal)


def test_a_node_is_called_as_its_host() -> None:
    """So that devices have the same ids whether a session runs through Ray or not."""
    nodes = name_nodes([ray_node(10), ray_node(2)])

    assert [node.host for node in nodes] == ["host-2", "host-10"]


def test_nodes_of_one_host_name_are_told_apart() -> None:
    """By the name that Ray was given, else by address, else by id: two devices never share an id."""
    nodes = name_nodes(
        [
            ray_node(1, host="box", name="left"),
            ray_node(2, host="box"),
            ray_node(3, host="box", address="10.0.0.9"),
            ray_node(4, host="box", address="10.0.0.9"),
        ]
    )

    assert {node.host for node in nodes} == {"left", "box/10.0.0.2", "box/00000000"} | {nodes[-1].host}


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), st.sampled_from(["", "x", "y"])), min_size=1, max_size=5))
def test_names_are_unique_where_addresses_are(given_names: list[tuple[str, str]]) -> None:
    """Whatever hosts and nodes are called."""
    nodes = name_nodes(
        [ray_node(number, host=host, name=name) for number, (host, name) in enumerate(given_names, start=1)]
    )

    assert len({node.host for node in nodes}) == len(given_names)


@pytest.mark.parametrize("wish", ["host-3", "10.0.0.3", "number=3", "site=far"])
def test_a_node_is_found_by_host_address_or_label(wish: str) -> None:
    """A label serves where it names one node."""
    nodes = name_nodes([ray_node(2), ray_node(3), ray_node(4)])

    assert find_node(nodes, wish).host == "host-3"


@pytest.mark.parametrize(
    ("wish", "reason"),
    [
        pytest.param("host-9", "no node of the cluster is called host-9", id="unknown-host"),
        pytest.param("site=moon", "no node of the cluster has the label site=moon", id="unknown-label"),
        pytest.param("site=near", r"2 nodes \(host-2, host-4\) of the cluster has the label", id="several"),
    ],
)
def test_a_wish_that_names_no_single_node_is_refused(wish: str, reason: str) -> None:
    """The error lists the nodes, with labels that people gave them."""
    nodes = name_nodes([ray_node(2), ray_node(3), ray_node(4)])

    with pytest.raises(ClusterError, match=f"{reason}.*host-2 \\(10.0.0.2, number=2, site=near\\)") as caught:
        find_node(nodes, wish)

    assert "ray.io" not in str(caught.value)


def test_participants_are_spread_over_nodes_by_cores() -> None:
    """A first core of each node comes before a second of any; no more than Ray was told that a node has."""
    nodes = [RayNode(host=host, id=host, address=host, num_cpus=2) for host in ("a", "b")]
    joined = join_inventories(
        [(node, Inventory(devices=tuple(core(node.host, ordinal) for ordinal in range(4)))) for node in nodes]
    )

    assert [device.id for device in joined.devices] == ["cpu:a:0", "cpu:b:0", "cpu:a:1", "cpu:b:1"]


def test_gpus_that_ray_does_not_offer_are_left_alone() -> None:
    """Others share them; a note says so."""
    node = RayNode(host="a", id="a", address="a", num_gpus=1)
    joined = join_inventories([(node, Inventory(devices=(gpu("a", 0), gpu("a", 1))))])

    assert [device.ordinal for device in joined.devices] == [0]
    assert "a: Ray offers 1 of 2 GPUs there" in joined.notes


def test_a_shortfall_says_what_each_node_has() -> None:
    """Kinds stay exact over nodes: an A40 here and an L40 there are no pair of A40s."""
    nodes = [RayNode(host=host, id=host, address=host, num_gpus=1, num_cpus=1) for host in ("a", "b")]
    joined = join_inventories(
        [
            (nodes[0], Inventory(devices=(gpu("a", 0), core("a", 0)))),
            (nodes[1], Inventory(devices=(gpu("b", 0, kind="l40"), core("b", 0)))),
        ]
    )

    with pytest.raises(PoolShortfallError, match=r"A has a40:1 and cpu:1\. B has l40:1 and cpu:1"):
        allocate(PoolSpec.parse("a40:2"), joined)


def test_cores_carry_the_name_of_their_node() -> None:
    """Two nodes on one machine have cores of one number."""
    renamed = rename_host(Inventory(devices=(core("box", 3), gpu("box", 0))), "left")

    assert [(device.id, device.host) for device in renamed.devices] == [("cpu:left:3", "left"), ("GPU-box-0", "left")]


def test_equal_code_is_taken() -> None:
    """What this process sees of its own files is what a node with the same files says."""
    refuse_differences(code_here(), {"a": code_here()})


def test_differing_and_missing_code_is_refused() -> None:
    """Every node is named, with the files that differ."""
    mine = code_here()
    other = msgspec.structs.replace(mine, files=mine.files | {"jobs/star.py": "0" * 64}, package="/elsewhere")
    none = Probe(python="3.11.0", package="", files={}, problem="No module named 'pytest_mixgpu'")

    with pytest.raises(ClusterError) as caught:
        refuse_differences(mine, {"a": mine, "b": other, "c": none})

    text = str(caught.value)
    assert "b: jobs/star.py differ at /elsewhere" in text
    assert "c: pytest-mixgpu cannot be imported there (No module named 'pytest_mixgpu')" in text
    assert "a:" not in text


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        pytest.param("Version mismatch: The cluster was started with:\n Ray: 2.9", "runs other versions", id="version"),
        pytest.param("UNAUTHENTICATED: invalid token", "refused this session's token", id="token"),
        pytest.param("Could not find any running Ray instance.", "no Ray cluster runs on this machine", id="none"),
        pytest.param("Failed to connect to Ray cluster at", "either it refused this session's token", id="silent"),
        pytest.param("something else", "cannot be joined: something else", id="other"),
    ],
)
def test_what_ray_says_is_explained(said: str, expected: str) -> None:
    """One sentence on what is in the way."""
    assert expected in explain("10.0.0.1:6379", said)


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        pytest.param("127.0.0.1:9", "nothing answers at RAY_ADDRESS=127.0.0.1:9", id="nobody"),
        pytest.param("ray://127.0.0.1:10001", "a Ray client's address", id="client"),
        pytest.param("local", "would start a cluster of its own", id="local"),
        pytest.param("nonsense", "is no address", id="nonsense"),
    ],
)
def test_an_address_that_cannot_serve_is_refused_at_once(
    address: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Before Ray is loaded."""
    monkeypatch.setenv("RAY_ADDRESS", address)

    with pytest.raises(ClusterError, match=reason):
        connect()
