"""NUMA nodes as the kernel shows them."""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.numa import Numa, Place, place_beside, read_list, write_list
from tests.fake_kernel import write_file, write_nodes
from tests.fakes import fake_core, fake_gpu


@given(numbers=st.sets(st.integers(0, 2000)))
def test_lists_are_read_as_they_are_written(numbers: set[int]) -> None:
    assert tuple(sorted(numbers)) == read_list(write_list(numbers))


@pytest.mark.parametrize(
    ("text", "numbers"),
    [("", ()), ("\n", ()), ("0-3,8\n", (0, 1, 2, 3, 8)), ("x,2", (2,)), ("3-", (3,)), ("1,1", (1,)), ("(null)", ())],
)
def test_what_is_no_number_is_left_out(text: str, numbers: tuple[int, ...]) -> None:
    assert numbers == read_list(text)


@given(text=st.text("0123456789-, \nx", max_size=12))
def test_any_text_is_read(text: str) -> None:
    assert all(number >= 0 for number in read_list(text[:8]))


def test_cores_and_devices_belong_to_nodes(tmp_path: Path) -> None:
    write_nodes(tmp_path, "0-1,4-5", "2-3")
    write_file(tmp_path, "sys/bus/pci/devices/0000:3b:00.0/numa_node", 1)
    numa = Numa(tmp_path)

    assert ((0, 1), (0, 1, 4, 5), (2, 3)) == (numa.nodes(), numa.cores_of(0), numa.cores_of(1))
    assert [0, 1, None] == [numa.node_of_core(core) for core in (5, 2, 9)]
    assert (1, "2-3") == (numa.node_of_pci("0000:3b:00.0"), numa.cores_of_pci("0000:3b:00.0"))


@pytest.mark.parametrize(("cpulists", "node"), [(("0-7",), 0), (("0-3", "4-7"), None)], ids=["one", "two"])
def test_a_device_without_a_node_is_next_to_the_only_one(
    tmp_path: Path, cpulists: tuple[str, ...], node: int | None
) -> None:
    """Firmware often tells none where there is one; where there are several it is unknown."""
    write_nodes(tmp_path, *cpulists)
    write_file(tmp_path, "sys/bus/pci/devices/0000:3b:00.0/numa_node", -1)

    assert node == Numa(tmp_path).node_of_pci("0000:3b:00.0")


def test_a_kernel_that_says_nothing_leaves_all_unknown(tmp_path: Path) -> None:
    numa = Numa(tmp_path)

    assert ((), (), None, None, None, "") == (
        numa.nodes(),
        numa.cores_of(0),
        numa.node_of_core(0),
        numa.node_of_pci("0000:3b:00.0"),
        numa.node_of_pci(None),
        numa.cores_of_pci(None),
    )


@pytest.mark.parametrize(
    ("node", "allowed", "place"),
    [
        (1, range(8), Place(cores=(2, 3), memory_node=1)),
        (1, {0, 3}, Place(cores=(3,), memory_node=1)),
        (1, {0}, Place(cores=(), memory_node=1)),
        (None, range(8), Place()),
    ],
    ids=["whole-node", "within-our-cores", "none-of-ours", "unknown"],
)
def test_the_participant_of_a_gpu_runs_beside_it(
    tmp_path: Path, node: int | None, allowed: Iterable[int], place: Place
) -> None:
    """On the cores of its node, as far as the session may use them; what is unknown binds nobody."""
    write_nodes(tmp_path, "0-1,4-5", "2-3")
    device = msgspec.structs.replace(fake_gpu("NVIDIA A40"), numa_node=node)

    assert place == place_beside(device, numa=Numa(tmp_path), allowed=allowed)


def test_the_participant_of_a_core_runs_on_it_with_memory_of_its_node() -> None:
    core = msgspec.structs.replace(fake_core(5), numa_node=1)

    assert Place(cores=(5,), memory_node=1) == place_beside(core, allowed=())
