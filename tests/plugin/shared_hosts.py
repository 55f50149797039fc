"""A suite on a made-up host: real pytest sessions that lease GPUs which a driver's stand-in lists."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from subprocess import Popen

import pytest

from tests.plugin.bench import Bench

ROOT = Path(__file__).parents[2]

CONFTEST = """
from pathlib import Path
from pytest_mixgpu.devices.{module} import {source}
{imports}

def pytest_mixgpu_sources(config):
    return [{source}({arguments})]
"""
NVIDIA = {
    "module": "nvidia",
    "source": "NvidiaSource",
    "imports": "from tests.fake_nvml import a40_host, mig_host",
}
AMD = {
    "module": "amd",
    "source": "AmdSource",
    "imports": "from tests.fake_kernel import write_amd_host",
    "arguments": "root=Path(__file__).parent / 'kernel'",
}

TAKERS = """
import os
import time
from pathlib import Path
import pytest

NOTES = Path(__file__).parent / "notes"
TOGETHER = int(os.environ.get("TOGETHER", "1"))

@pytest.mark.parametrize("number", range(10))
def test_takes_one_alone(gpus, number):
    for device in gpus.devices:
        # Two at once on one device: the second finds the first one's mark.
        (NOTES / f"on-{device.id}").touch(exist_ok=False)
        with (NOTES / "used").open("a") as file:
            file.write(f"{device.id}\\n")
    deadline_s = time.monotonic() + 120
    while not (NOTES / "met").exists():
        if len(list(NOTES.glob("on-*"))) >= TOGETHER:
            (NOTES / "met").touch()
        assert time.monotonic() < deadline_s, "fewer work at once than there are devices"
        time.sleep(0.01)
    for device in gpus.devices:
        (NOTES / f"on-{device.id}").unlink()
"""

HOLDER = """
import signal

def test_holds(gpus):
    print("holding", *(device.id for device in gpus.devices), flush=True)
    signal.pause()
"""


class SharedHost:
    """Sessions on one host with one folder of leases."""

    def __init__(self, bench: Bench, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bench = bench
        self.notes = bench.folder / "notes"
        self.notes.mkdir()
        bench.write("pytest.ini", f"[pytest]\npythonpath = {ROOT}\n")
        bench.write("test_takers.py", TAKERS)
        bench.write("test_holder.py", HOLDER)
        for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setenv("MIXGPU_LEASES", str(bench.folder / "leases"))
        self._environment = monkeypatch
        self.of_nvidia("a40_host(4)")

    def of_nvidia(self, library: str) -> None:
        """Put NVIDIA's cards into it."""
        self.bench.write("conftest.py", CONFTEST.format(**NVIDIA, arguments=library))

    def of_amd(self) -> None:
        """Put AMD's cards into it."""
        self.bench.write("conftest.py", CONFTEST.format(**AMD))

    def under(self, environment: Mapping[str, str]) -> None:
        """Set the callers' variables."""
        for name, value in environment.items():
            self._environment.setenv(name, value)

    @property
    def used(self) -> list[str]:
        """Ids of the devices on which tests ran, once for each test."""
        path = self.notes / "used"
        return path.read_text("utf-8").split() if path.exists() else []

    @contextmanager
    def holder(self, *words: str) -> Iterator[tuple[Popen[str], list[str]]]:
        """A session that holds devices until the block ends, and what it holds."""
        with self.bench.session("test_holder.py", "-s", "-q", *words) as session:
            assert session.stdout is not None
            for line in session.stdout:
                _, found, held = line.partition("holding ")
                if found:
                    break
            else:
                raise AssertionError(f"it ended without holding anything: {session.stderr and session.stderr.read()}")
            try:
                yield session, held.split()
            finally:
                session.kill()
                session.communicate()


def environment_of(text: str) -> dict[str, str]:
    """Read `CUDA_VISIBLE_DEVICES=2,0`; several are parted by blanks."""
    return dict(part.split("=", 1) for part in text.split())
