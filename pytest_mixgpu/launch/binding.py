"""Where this process computes and keeps its memory: from cores and a NUMA node to a binding, and what is in force.

Linux only. The kernel is asked without a library, since none is needed for two calls. A container may forbid them: then
nothing changes, and what is really in force is what `memory_nodes` says.
"""

import ctypes
import os
import platform
import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from pytest_mixgpu.devices.numa import write_list

_CALLS: Final = {"x86_64": (238, 239), "aarch64": (237, 236), "riscv64": (237, 236)}
"""Numbers of `set_mempolicy` and `get_mempolicy` by machine."""

_BIND: Final = 2
_POLICIES_WITH_NODES: Final = frozenset({_BIND, 3})
"""Those that leave no other node than the given ones: bind and interleave."""

_MASK_WORDS: Final = 16
_WORD_BITS: Final = ctypes.sizeof(ctypes.c_ulong) * 8
_MASK_BITS: Final = _MASK_WORDS * _WORD_BITS


def bind_process(*, cores: Collection[int] = (), memory_node: int | None = None) -> None:
    """Bind the calling thread, and all that it starts from now on, to cores and to one node's memory.

    Memory that is already there, such as pages shared with a parent process, stays where it is.

    Args:
        cores: where it may run; empty leaves it free.
        memory_node: where its memory may come from; None leaves it free. What the kernel refuses is left free too.
    """
    if cores:
        os.sched_setaffinity(0, cores)
    calls = _CALLS.get(platform.machine())
    if memory_node is None or calls is None or not 0 <= memory_node < _MASK_BITS:
        return
    mask = (ctypes.c_ulong * _MASK_WORDS)()
    mask[memory_node // _WORD_BITS] = 1 << memory_node % _WORD_BITS
    # The kernel reads one bit less than it is told of.
    _kernel().syscall(calls[0], _BIND, mask, ctypes.c_ulong(_MASK_BITS + 1))


def memory_nodes() -> str:
    """The nodes from which the calling thread's memory may come, as the kernel writes them, `0-1`; empty is unknown."""
    calls = _CALLS.get(platform.machine())
    mode, mask = ctypes.c_int(0), (ctypes.c_ulong * _MASK_WORDS)()
    if calls is not None:
        failed = _kernel().syscall(
            calls[1], ctypes.byref(mode), mask, ctypes.c_ulong(_MASK_BITS), None, ctypes.c_ulong(0)
        )
        nodes = [index for index in range(_MASK_BITS) if mask[index // _WORD_BITS] >> index % _WORD_BITS & 1]
        if not failed and mode.value & 0xFF in _POLICIES_WITH_NODES and nodes:
            return write_list(nodes)
    # Without a policy of its own a process takes memory from wherever its control group lets it.
    try:
        status = Path("/proc/thread-self/status").read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""
    found = re.search(r"^Mems_allowed_list:\s*(\S+)", status, re.MULTILINE)
    return found[1] if found else ""


def _kernel() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)
