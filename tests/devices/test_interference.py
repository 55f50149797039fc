"""Who else computes here. Arithmetic on made-up counters, and one real process beside another."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.interference import CoreTimes, Interference, Mark, ProcessTimes, shares_between

STEP_S = 0.01


def _mark(
    at_s: float,
    *,
    idle_s: float = 0.0,
    stolen_s: float = 0.0,
    interrupts_s: float = 0.0,
    own: dict[int, ProcessTimes] | None = None,
    num_cores: int = 1,
) -> Mark:
    times = CoreTimes(idle_s=idle_s, interrupts_s=interrupts_s, stolen_s=stolen_s)
    return Mark(at_s=at_s, cores=dict.fromkeys(range(num_cores), times), processes=own or {})


def _own(cpu_s: float, waited_s: float | None = None, *cores: int) -> ProcessTimes:
    return ProcessTimes(cpu_s=cpu_s, waited_s=waited_s, cores=frozenset(cores or (0,)))


def _share(before: Mark, after: Mark) -> float | None:
    share = shares_between(before, after, cores=(0,), step_s=STEP_S)[0]
    return None if share is None else round(share, 6)


START = {1: _own(0.0, 0.0)}


@pytest.mark.parametrize(
    ("after", "share"),
    [
        (_mark(1.0, idle_s=1.0), 0.0),
        (_mark(1.0, idle_s=0.0), 1.0),
        (_mark(1.0, idle_s=0.7), 0.3),
        (_mark(1.0, idle_s=0.5, own={1: _own(0.5, 0.0)}), 0.0),
        (_mark(1.0, idle_s=0.2, own={1: _own(0.5, 0.0)}), 0.3),
        (_mark(1.0, idle_s=0.9, stolen_s=0.1), 0.1),
        (_mark(1.0, idle_s=0.9, interrupts_s=0.1), 0.0),
    ],
    ids=["idle", "all-foreign", "part-foreign", "own", "own-and-foreign", "stolen", "interrupts"],
)
def test_what_nobody_of_ours_used_was_used_by_others(after: Mark, share: float) -> None:
    """Busy time less our own, less interrupts, and the hypervisor's share on top."""
    assert share == _share(_mark(0.0, own=START), after)


def test_exact_counters_narrow_the_coarse_one_from_above() -> None:
    """While our process computed, nobody else did, whatever the coarse counter says."""
    after = _mark(0.4, idle_s=-0.05, own={1: _own(0.396, 0.0)})

    assert 0.01 == _share(_mark(0.0, own=START), after)


def test_exact_counters_narrow_the_coarse_one_from_below() -> None:
    """While our process was ready and did not run, somebody else did."""
    after = _mark(1.0, idle_s=0.55, own={1: _own(0.4, 0.3)})

    assert 0.3 == _share(_mark(0.0, own=START), after)


def test_waiting_for_our_own_other_process_is_no_interference() -> None:
    """Two of ours that share a core wait for each other."""
    before = _mark(0.0, own={1: _own(0.0, 0.0), 2: _own(0.0, 0.0)})
    after = _mark(1.0, own={1: _own(0.5, 0.5), 2: _own(0.5, 0.5)})

    assert 0.0 == _share(before, after)


def test_our_unpinned_processes_explain_busy_time_wherever_they_may_run() -> None:
    """A coordinator that is free to move is ours as well."""
    before = _mark(0.0, num_cores=2)
    after = _mark(1.0, idle_s=0.9, own={9: _own(0.2, None, 0, 1)}, num_cores=2)

    shares = shares_between(before, after, cores=(0, 1), step_s=STEP_S)

    assert {0: 0.0, 1: 0.0} == {core: round(share or 0.0, 6) for core, share in shares.items()}


def test_a_process_that_is_new_counts_with_all_that_it_used() -> None:
    """A worker that started in between is ours from its first moment."""
    assert 0.0 == _share(_mark(0.0), _mark(1.0, idle_s=0.4, own={7: _own(0.6, 0.0)}))


@pytest.mark.parametrize(("wall_s", "is_known"), [(0.19, False), (0.2, True), (0.21, True)])
def test_a_span_too_short_for_the_coarse_counter_is_unknown(wall_s: float, *, is_known: bool) -> None:
    """Unknown is shown as unknown, never as zero."""
    share = _share(_mark(0.0), _mark(wall_s, idle_s=wall_s))

    assert is_known == (share is not None)


def test_a_short_span_is_known_where_our_process_filled_it() -> None:
    """The exact counters need no length."""
    assert 0.05 == _share(_mark(0.0, own=START), _mark(0.1, own={1: _own(0.095, 0.004)}))


def test_a_core_that_the_kernel_does_not_list_is_unknown() -> None:
    """An offline core, or no such file."""
    assert {3: None} == shares_between(_mark(0.0), _mark(1.0), cores=(3,), step_s=STEP_S)


def test_without_time_between_nothing_is_known() -> None:
    """Two samples at one moment say nothing."""
    assert {0: None} == shares_between(_mark(1.0), _mark(1.0), cores=(0,), step_s=STEP_S)


def test_without_the_kernels_files_all_is_unknown(tmp_path: Path) -> None:
    """Another system than Linux."""
    interference = Interference((0, 1), proc=tmp_path)

    assert {0: None, 1: None} == interference.foreign_share(interference.sample())


SECONDS = st.floats(min_value=0.0, max_value=2.0)


@given(idle_s=SECONDS, stolen_s=SECONDS, cpu_s=SECONDS, waited_s=st.none() | SECONDS, roaming_s=SECONDS)
def test_a_share_is_a_share_whatever_the_counters_say(
    idle_s: float, stolen_s: float, cpu_s: float, waited_s: float | None, roaming_s: float
) -> None:
    """Counters of different make contradict each other at times."""
    own = {1: _own(cpu_s, waited_s), 2: _own(roaming_s, None, 0, 1)}
    share = _share(_mark(0.0, own=START), _mark(1.0, idle_s=idle_s, stolen_s=stolen_s, own=own))

    assert share is not None
    assert 0.0 <= share <= 1.0


@contextmanager
def _burner(core: int) -> Iterator[subprocess.Popen[str]]:
    """A process that computes on one core without a pause."""
    program = f"import os\nos.sched_setaffinity(0, {{{core}}})\nprint('on', flush=True)\nwhile True: pass"
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    with process:
        try:
            assert process.stdout is not None
            assert "on" == process.stdout.readline().strip()
            yield process
        finally:
            process.kill()


def test_a_real_foreign_process_is_seen_and_our_own_is_not() -> None:
    """A process beside ours on one core takes about half of it; with ours alone the share is smaller."""
    core = min(os.sched_getaffinity(0))
    with _burner(core) as ours:
        interference = Interference((core,), [ours.pid])
        with _burner(core):
            mark = interference.sample()
            time.sleep(1.0)
            disturbed = interference.foreign_share(mark)[core]
            ours_alone = Interference((core,)).foreign_share(mark)[core]

    assert disturbed is not None
    assert disturbed > 0.25
    assert ours_alone is None or ours_alone <= disturbed


@pytest.mark.parametrize("lists_children", [True, False])
def test_descendants_of_ours_are_ours(tmp_path: Path, *, lists_children: bool) -> None:
    """Workers are found below the process that started them, also where the kernel lists no children."""
    proc = Path("/proc") if lists_children else tmp_path
    with _burner(min(os.sched_getaffinity(0))) as child:
        processes = Interference((0,), proc=proc).sample().processes

    assert {os.getpid(), child.pid} <= processes.keys()
