"""`--mixgpu-wait`: a busy pool is refused with its holder's name, or waited for."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.plugin.bench import TIMEOUT_S, USAGE_ERROR, Bench

HOLD = """
from pytest_mixgpu.devices.inventory import take_inventory
from pytest_mixgpu.devices.lease import lease
from pytest_mixgpu.devices.model import Pool

cores = tuple(device for device in take_inventory().devices if device.vendor == "cpu")
with lease(Pool(devices=cores), wait_s=300, holder="somebody's own work"):
    print("held", flush=True)
    input()
"""


@contextmanager
def held_cores() -> Iterator["subprocess.Popen[str]"]:
    """Let a process of its own hold every core of this machine."""
    with subprocess.Popen(
        [sys.executable, "-c", HOLD], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        try:
            assert holder.stdout is not None
            assert "held" == holder.stdout.readline().strip()
            yield holder
        finally:
            holder.kill()


def test_busy_pool_is_refused(small: Bench) -> None:
    """Exit status 4, the holder and the way out are named, also under xdist; nothing is registered."""
    with held_cores() as holder:
        plain = small.pytest("--mixgpu-wait=0")
        workers = small.pytest("-n", "2", "--mixgpu-wait=0.1")

    for result in (plain, workers):
        assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
        result.stderr.fnmatch_lines([f"*held by process {holder.pid} *somebody's own work*--mixgpu-wait=SECONDS*"])
        result.stdout.no_fnmatch_line("*INTERNALERROR*")
    assert not (small.folder / "reports/ledger.jsonl").exists()


def test_busy_pool_is_waited_for(endless: Bench) -> None:
    """With patience the session goes on as soon as the holder is gone."""
    with held_cores() as holder, endless.session("-k", "test_mixture") as session:
        assert session.stdout is not None
        seen = [session.stdout.readline() for _ in range(3)]
        assert holder.stdin is not None
        holder.stdin.write("\n")
        holder.stdin.flush()
        out, err = session.communicate(timeout=TIMEOUT_S)

    assert 0 == session.returncode, f"{''.join(seen)}{out}\n{err}"
    assert "1 rehearsed" in out


def test_nobody_waits_to_be_told_of_a_typo(small: Bench) -> None:
    """A marker that cannot be judged is refused by its name, also while somebody else holds the devices."""
    small.edit("test_small.py", 'metric="parity", within=90', 'metric="parrity", within=90')

    with held_cores():
        result = small.pytest("--mixgpu-wait=0")

    assert USAGE_ERROR == result.ret, f"{result.stdout}\n{result.stderr}"
    result.stderr.fnmatch_lines(["*test_small.py::*parrity*"])
    result.stderr.no_fnmatch_line("*--mixgpu-wait*")


@pytest.mark.parametrize("value", ["-1", "nan", "inf", "soon"])
def test_waiting_takes_a_number_of_seconds(bench: Bench, value: str) -> None:
    """What is no time is refused by the parser."""
    result = bench.pytest(f"--mixgpu-wait={value}")

    assert USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*--mixgpu-wait*"])
