"""`--mixgpu-devices`: what is here, then out."""

from pathlib import Path

import pytest

from tests.fake_nvml import uuid_of
from tests.plugin.bench import Bench

ROOT = Path(__file__).parents[2]

SOURCES = """
from pytest_mixgpu.devices.nvidia import NvidiaSource
from tests.fake_nvml import {host}

def pytest_mixgpu_sources(config):
    return [NvidiaSource({host}())]
"""


def _on(bench: Bench, host: str) -> None:
    """Let the sessions of this bench see a made-up host."""
    bench.write("pytest.ini", f"[pytest]\npythonpath = {ROOT}\n")
    bench.write("conftest.py", SOURCES.format(host=host))


def test_lists_and_exits(bench: Bench) -> None:
    """Kinds and exact names are printed, and no test is collected."""
    bench.write("test_broken.py", "raise RuntimeError('collected')\n")

    result = bench.pytest("--mixgpu-devices")

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["*cpu*"])
    result.stdout.no_fnmatch_line("*collected*")


def test_says_how_each_device_is_set_up_and_joined(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line names a device, one says how it is set up; what the caller excludes is not there."""
    _on(bench, "a40_host")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", f"1,0,{uuid_of(2)}")

    result = bench.pytest("--mixgpu-devices")

    result.stdout.fnmatch_lines(
        [
            "Devices here: a40:2",
            f"  a40 *NVIDIA A40, sm_86, 84 units, 45.0 GiB  {uuid_of(1)}",
            "*nvidia 0, PCI 0000:11:00.0,*driver 550.90.07, power cap 250 W of 300 W by default,*ECC on*",
            f"  a40 *{uuid_of(0)}",
            "*nvidia 0 - nvidia 1: nvlink:4",
            f"*Note: CUDA_VISIBLE_DEVICES=1,0,{uuid_of(2)} ends before*",
        ]
    )
    result.stdout.no_fnmatch_line(f"  a40 *{uuid_of(2)}*")


def test_an_index_that_may_mean_any_card_is_said(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
    """On a host of several kinds nothing is guessed, and a session that wants devices ends as a usage error."""
    _on(bench, "mixed_host")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "0")
    monkeypatch.delenv("CUDA_DEVICE_ORDER", raising=False)
    bench.write("test_one.py", "def test_one(gpus): pass\n")

    bench.pytest("--mixgpu-devices").stdout.fnmatch_lines(["Devices here: none", "*CUDA_DEVICE_ORDER=PCI_BUS_ID*"])
    result = bench.pytest("--gpus=auto")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*CUDA_DEVICE_ORDER=PCI_BUS_ID*"])
