"""Binding a process to cores and to memory. It is done in processes of their own: it cannot be undone for certain."""

import os
import platform
import subprocess
import sys

import pytest

from pytest_mixgpu.devices.numa import Numa, read_list
from pytest_mixgpu.launch.binding import memory_nodes

PROGRAM = """
import os
from pytest_mixgpu.launch.binding import bind_process, memory_nodes
bind_process({})
print(sorted(os.sched_getaffinity(0)), memory_nodes(), sep=";")
"""


def _bound(arguments: str) -> tuple[str, str]:
    command = [sys.executable, "-c", PROGRAM.format(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    cores, _, nodes = done.stdout.strip().partition(";")
    return cores, nodes


def test_cores_and_memory_are_in_force_where_the_kernel_allows_it() -> None:
    """What is reported is read back from the kernel, never what was wished for."""
    core = max(os.sched_getaffinity(0))
    node = Numa().node_of_core(core)

    cores, nodes = _bound(f"cores=({core},), memory_node={node}")

    assert f"[{core}]" == cores
    assert nodes in {str(node), memory_nodes()}


@pytest.mark.parametrize("node", [-1, 9, 63, 64, 1023, 5000])
def test_memory_that_is_not_there_leaves_the_process_free(node: int) -> None:
    """It is refused by the kernel, and no error: the record then shows what is in force."""
    if node in Numa().nodes():
        pytest.skip("this machine has that node")

    assert (str(sorted(os.sched_getaffinity(0))), memory_nodes()) == _bound(f"memory_node={node}")


def test_without_a_wish_nothing_changes() -> None:
    assert (str(sorted(os.sched_getaffinity(0))), memory_nodes()) == _bound("")


def test_nodes_are_those_of_this_machine() -> None:
    """Unknown only where neither the call nor the kernel's file can be read."""
    if platform.system() != "Linux" or not Numa().nodes():
        pytest.skip("this machine shows no nodes")

    assert set(read_list(memory_nodes())) <= set(Numa().nodes())
    assert memory_nodes()
