"""Every fault gives the stated error, status and verdict in bounded time; nothing is left running, the record is whole.

The table is the specification: what happens to whom and when, whom the record names, in which phase, and why.
"""

import time
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_mixgpu.launch.protocol import Launcher, Limits
from tests.faults.faulty import Fault, FaultyLauncher
from tests.faults.left import check_left
from tests.jobs.made_jobs import core_pool, made_header, run_it

LIMITS = Limits(heartbeat_s=3.0, progress_s=4.0, grace_s=1.0)
GUARD_S = 60.0
"""Only so that a hang fails: fifteen times the longest limit, for a machine that others use too."""


class Row(NamedTuple):
    """One fault, and what it must give."""

    what: str
    worker: str
    phase: str
    round_index: int | None
    reason: str
    """Words of the error; of several between bars, those of whoever notices first."""
    named_in: str = ""
    """The phases that the error may name; the fault's own if empty."""

    def __str__(self) -> str:
        when = "start" if self.round_index is None else f"round {self.round_index}"
        return f"{self.what}-{self.worker}-{self.phase}-{when}"


P, C = "participant-1", "coordinator"
ROWS = [
    #   what                     who phase         round reason                                 named in
    Row("raise", P, "open", None, "FloatingPointError: the gradient blew up"),
    Row("SIGKILL", P, "first step", None, "SIGKILL"),
    Row("raise", C, "open", None, "FloatingPointError: the gradient blew up"),
    Row("raise", P, "compute", 0, "FloatingPointError: the gradient blew up"),
    Row("raise, log full", P, "compute", 1, "FloatingPointError: the gradient blew up"),
    Row("memory", P, "compute", 1, "MemoryError"),
    Row("SIGKILL", P, "wait", 2, "SIGKILL"),
    Row("SIGKILL", P, "return", 2, "SIGKILL"),
    Row("SIGKILL", C, "combine", 2, "SIGKILL"),
    Row("SIGKILL", P, "send", 2, "SIGKILL"),
    Row("SIGSTOP", P, "compute", 2, "stopped"),
    Row("SIGSTOP", C, "return", 2, "stopped"),
    Row("hang", P, "compute", 2, "no progress"),
    Row("hang", P, "wait", 2, "for 2"),
    Row("hang", P, "return", 2, "for 2"),
    Row("hang", C, "combine", 2, "no progress"),
    Row("NaN update", P, "compute", 2, "an update that is not finite: value", "send wait"),
    Row("wrong-shaped update", P, "compute", 2, "do all participants run the same model", "send"),
    Row("truncated update", P, "compute", 2, "bytes of its update, and nothing more", "send"),
    Row("truncated update, then waits", P, "compute", 2, "bytes of its update, and nothing more", "send"),
    Row("network cut", P, "compute", 2, "nothing moved|timed out", "compute send wait"),
    Row("SIGKILL", C, "evaluate", 2, "SIGKILL"),
    Row("hang", "participant-0", "evaluate", 2, "no progress"),
]


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_fault_is_named(row: Row, launcher: Launcher, family: str, tmp_path: Path) -> None:
    """The record names worker, device, host, phase, round and reason; it is closed as failed, and is evidence."""
    fault = Fault(what=row.what, phase=row.phase, round_index=row.round_index)
    header = made_header(pool=core_pool("cpu", "cpu", "cpu"), shares=(3, 3, 2), evaluate_every=3)
    began_s = time.monotonic()

    record = run_it(header, FaultyLauncher(launcher, row.worker, fault), tmp_path, limits=LIMITS)

    assert time.monotonic() - began_s < GUARD_S
    assert record.outcome is not None
    assert ("failed", 1) == (record.status, len(record.faults))
    (line,) = record.faults
    assert any(words in line.message for words in row.reason.split("|")), line.message
    assert (row.worker, row.round_index) == (line.worker, line.round_index), line.message
    assert line.phase in (row.named_in or row.phase).split() or line.phase == row.phase
    devices = {f"participant-{index}": device.id for index, device in enumerate(record.devices)}
    assert (devices.get(row.worker, ""), header.host.host) == (line.device, line.host)
    assert f"logs/{row.worker}.log" == line.log
    check_left(launcher, family, tmp_path)


def test_a_slow_participant_is_no_fault(launcher: Launcher, family: str, tmp_path: Path) -> None:
    """It is seen in what the others wait for, and the run is whole."""
    header = made_header(evaluate_every=0)
    slow = FaultyLauncher(launcher, P, Fault(what="slow", phase="compute"))

    record = run_it(header, slow, tmp_path, limits=LIMITS)

    assert ("completed", ()) == (record.status, record.faults)
    for one in record.measured_rounds:
        waits = [sum(part.duration_s for part in parts if part.phase == "wait") for parts in one.segments]
        assert waits[0] > waits[1]
    check_left(launcher, family, tmp_path)
