"""Who else computes here: from the kernel's counters to the share of a core's time that foreign processes took.

Three readings are joined. The kernel's time of each core is coarse (10 ms a step), but counts everybody. The CPU time
of our own processes is exact: what they had, nobody else had. The time that our pinned process was ready and did not
run is exact as well: somebody else had the core. Where our process computes without a pause the two exact ones close in
on the answer, and the coarse one decides only about the time in which it slept. Linux only; elsewhere all is unknown.
"""

import contextlib
import os
import time
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import Final

import msgspec

MAX_ERROR: Final = 0.10
"""A share that may be wrong by more than this is unknown."""

_STEPS: Final = 2
"""Steps of the coarse counter by which a difference of two readings can be wrong."""

_NUM_FIELDS: Final = 8


class CoreTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of one core since boot."""

    idle_s: float
    interrupts_s: float
    stolen_s: float
    """Taken by the hypervisor for other guests."""


class ProcessTimes(msgspec.Struct, frozen=True, kw_only=True):
    """Counters of one of our processes since its start."""

    cpu_s: float
    waited_s: float | None
    """Ready, but not running (main thread); None where the kernel does not say."""
    cores: frozenset[int]
    """Where it may run."""


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """All counters at one moment."""

    at_s: float
    cores: dict[int, CoreTimes]
    processes: dict[int, ProcessTimes]


class Interference:
    """Samples the counters of leased cores and of our own processes.

    Args:
        cores: the cores that are asked about.
        own_pids: processes that are ours, with all their descendants; None is this process.
        proc: where the kernel's files are.
    """

    def __init__(
        self, cores: Iterable[int], own_pids: Iterable[int] | None = None, *, proc: Path = Path("/proc")
    ) -> None:
        self.cores = tuple(cores)
        self._roots = (os.getpid(),) if own_pids is None else tuple(own_pids)
        self._proc = proc
        self._lists_children = (proc / "self" / "task" / str(os.getpid()) / "children").exists()
        self._step_s = 1 / os.sysconf("SC_CLK_TCK")

    def sample(self) -> Mark:
        """Read all counters now."""
        at_s = time.monotonic()
        cores = _read_cores(self._proc, self._step_s)
        pids = _family(self._proc, self._roots, lists_children=self._lists_children)
        found = ((pid, _read_process(self._proc, pid)) for pid in pids)
        return Mark(at_s=at_s, cores=cores, processes={pid: times for pid, times in found if times is not None})

    def foreign_share(self, since: Mark) -> dict[int, float | None]:
        """Say what foreign processes took of each core from then to now.

        Args:
            since: an earlier sample.

        Returns:
            By core: 0 to 1, or None where it is unknown.
        """
        return shares_between(since, self.sample(), cores=self.cores, step_s=self._step_s)


def own_family(*, proc: Path = Path("/proc")) -> frozenset[int]:
    """This process and all its descendants, as they are now."""
    pid = os.getpid()
    lists_children = (proc / "self" / "task" / str(pid) / "children").exists()
    return frozenset(_family(proc, (pid,), lists_children=lists_children))


def shares_between(before: Mark, after: Mark, *, cores: Iterable[int], step_s: float) -> dict[int, float | None]:
    """Say what foreign processes took of each core between two samples.

    Args:
        before: the earlier sample.
        after: the later one.
        cores: the cores that are asked about.
        step_s: the step of the coarse counters.
    """
    wall_s = after.at_s - before.at_s
    if wall_s <= 0:
        return dict.fromkeys(cores)
    own = _own_between(before, after)
    both = [core for core in after.cores if core in before.cores]
    unexplained = {core: _unexplained_s(core, before, after, own, wall_s) for core in both}
    _explain_roaming(unexplained, own)
    shares: dict[int, float | None] = dict.fromkeys(cores)
    for core in shares.keys() & unexplained.keys():
        stolen_s = max(0.0, after.cores[core].stolen_s - before.cores[core].stolen_s)
        highest_s = max(0.0, wall_s - _pinned_s(core, own))
        lowest_s = min(highest_s, _waited_s(core, own))
        if min(highest_s - lowest_s, _STEPS * step_s) <= MAX_ERROR * wall_s:
            foreign_s = min(max(unexplained[core], lowest_s), highest_s)
            shares[core] = min(1.0, (foreign_s + stolen_s) / wall_s)
    return shares


def _own_between(before: Mark, after: Mark) -> tuple[ProcessTimes, ...]:
    """What each of our processes used; one that is new used all that it has."""
    found: list[ProcessTimes] = []
    for pid, times in after.processes.items():
        earlier = before.processes.get(pid)
        if earlier is None:
            found.append(times)
            continue
        both_known = times.waited_s is not None and earlier.waited_s is not None
        waited_s = max(0.0, (times.waited_s or 0.0) - (earlier.waited_s or 0.0)) if both_known else None
        cpu_s = max(0.0, times.cpu_s - earlier.cpu_s)
        found.append(ProcessTimes(cpu_s=cpu_s, waited_s=waited_s, cores=times.cores))
    return tuple(found)


def _unexplained_s(core: int, before: Mark, after: Mark, own: Collection[ProcessTimes], wall_s: float) -> float:
    """Time that a core was busy and that neither interrupts nor our pinned processes account for."""
    first, last = before.cores[core], after.cores[core]
    idle_s = last.idle_s - first.idle_s
    elsewhere_s = (last.interrupts_s - first.interrupts_s) + (last.stolen_s - first.stolen_s)
    return max(0.0, wall_s - idle_s - elsewhere_s - _pinned_s(core, own))


def _explain_roaming(unexplained: dict[int, float], own: Collection[ProcessTimes]) -> None:
    """Spread the time of our unpinned processes over the busy time of the cores where they may run."""
    for process in sorted(own, key=lambda process: len(process.cores)):
        cores = [core for core in process.cores if core in unexplained]
        total_s = sum(unexplained[core] for core in cores)
        if len(process.cores) == 1 or total_s <= 0:
            continue
        left = max(0.0, 1 - process.cpu_s / total_s)
        for core in cores:
            unexplained[core] *= left


def _pinned_s(core: int, own: Collection[ProcessTimes]) -> float:
    return sum(process.cpu_s for process in own if process.cores == {core})


def _waited_s(core: int, own: Collection[ProcessTimes]) -> float:
    """The least that others took: the longest wait of a pinned process, less what our other processes can have used."""
    longest_s = 0.0
    for process in own:
        if process.cores != {core} or process.waited_s is None:
            continue
        siblings_s = sum(other.cpu_s for other in own if other is not process and core in other.cores)
        longest_s = max(longest_s, process.waited_s - siblings_s)
    return longest_s


def _read_cores(proc: Path, step_s: float) -> dict[int, CoreTimes]:
    """Read `/proc/stat`: user nice system idle iowait irq softirq steal, in steps, a line a core."""
    try:
        lines = (proc / "stat").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    cores: dict[int, CoreTimes] = {}
    for line in lines:
        name, *fields = line.split()
        number = name.removeprefix("cpu")
        if name == number or not number.isdigit() or len(fields) < _NUM_FIELDS:
            continue
        _, _, _, idle, iowait, irq, softirq, steal = (int(field) * step_s for field in fields[:_NUM_FIELDS])
        cores[int(number)] = CoreTimes(idle_s=idle + iowait, interrupts_s=irq + softirq, stolen_s=steal)
    return cores


def _family(proc: Path, roots: Iterable[int], *, lists_children: bool) -> tuple[int, ...]:
    """Our processes: the roots and all their descendants."""
    if not lists_children:
        return tuple(dict.fromkeys(pid for root in roots for pid in (root, *_searched_descendants(root))))
    found: dict[int, None] = {}
    pending = list(roots)
    while pending:
        pid = pending.pop()
        if pid not in found:
            found[pid] = None
            pending.extend(_listed_children(proc, pid))
    return tuple(found)


def _listed_children(proc: Path, pid: int) -> list[int]:
    children: list[int] = []
    # A process may end between two reads; what it used is then no longer told apart.
    with contextlib.suppress(OSError):
        for task in (proc / str(pid) / "task").iterdir():
            children.extend(map(int, (task / "children").read_text(encoding="ascii").split()))
    return children


def _searched_descendants(pid: int) -> list[int]:
    """Find descendants on a kernel that does not list children: one look at all processes."""
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


def _read_process(proc: Path, pid: int) -> ProcessTimes | None:
    try:
        # The clock of another process, to the nanosecond, ended threads included: see clock_getcpuclockid(3).
        cpu_s = time.clock_gettime((~pid << 3) | 2)
        cores = frozenset(os.sched_getaffinity(pid))
    except OSError:
        return None
    try:
        waited_s: float | None = int((proc / str(pid) / "schedstat").read_text(encoding="ascii").split()[1]) / 1e9
    except (OSError, ValueError, IndexError):
        waited_s = None
    return ProcessTimes(cpu_s=cpu_s, waited_s=waited_s, cores=cores)
