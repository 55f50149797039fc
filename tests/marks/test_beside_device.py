"""Participants that ran elsewhere than beside their devices are found; what is unknown blames nobody."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.devices.model import DeviceFacts
from pytest_mixgpu.marks.checks.beside_device import misplaced
from pytest_mixgpu.records.model import RunRecord
from tests.sample_doctors import with_header, with_start, with_workers
from tests.samples import as_record, make_run


def _run(*, near_cores: str, cores: tuple[int, ...], numa_node: int | None, memory_nodes: str) -> RunRecord:
    """A fleet's run of which all participants had the same cores and memory."""
    made = make_run(rehearsal=False)
    pool = made.header.pool
    devices = tuple(replace(device, numa_node=numa_node) for device in pool.devices)
    host = replace(made.header.host, devices=tuple(DeviceFacts(device_id=d.id, near_cores=near_cores) for d in devices))
    made = with_header(made, pool=replace(pool, devices=devices), host=host)
    return as_record(with_workers(made, cores=cores, memory_nodes=memory_nodes))


@pytest.mark.parametrize(
    ("near_cores", "cores", "numa_node", "memory_nodes"),
    [
        ("0-7", (0, 7), 0, "0"),
        ("0-7", (3,), 0, "0-1"),
        ("", (0, 99), None, "0"),
        ("0-7", (), None, ""),
        ("", (99,), 1, ""),
    ],
    ids=["beside", "memory-unbound", "node-unknown", "worker-unknown", "cores-unknown"],
)
def test_what_fits_or_is_unknown_is_not_blamed(
    near_cores: str, cores: tuple[int, ...], numa_node: int | None, memory_nodes: str
) -> None:
    assert [] == misplaced(_run(near_cores=near_cores, cores=cores, numa_node=numa_node, memory_nodes=memory_nodes))


@pytest.mark.parametrize(
    ("cores", "memory_nodes", "words"),
    [
        ((8,), "0", "ran on cores 8, and its device is next to cores 0-7"),
        ((7, 8), "0", "ran on cores 7-8"),
        ((7,), "1-2", "had memory of node 1-2, and its device is on node 0"),
    ],
)
def test_cores_or_memory_of_another_node_are_found(cores: tuple[int, ...], memory_nodes: str, words: str) -> None:
    found = misplaced(_run(near_cores="0-7", cores=cores, numa_node=0, memory_nodes=memory_nodes))

    assert 16 == len(found)
    assert words in found[0]


def test_a_core_is_its_own_place() -> None:
    made = make_run()

    assert [] == misplaced(as_record(made))
    assert "its device is core 0" in misplaced(as_record(with_workers(made, cores=(0, 1))))[0]


def test_facts_of_other_hosts_count() -> None:
    """They stand in the start of the run, where each worker said them."""
    made = make_run(rehearsal=False)
    assert made.start is not None
    device = made.header.pool.devices[0]
    host = replace(made.header.host, host="far", devices=(DeviceFacts(device_id=device.id, near_cores="4"),))
    moved = with_start(with_workers(made, cores=(5,)), hosts=(host,))

    assert 1 == len(misplaced(as_record(moved)))
