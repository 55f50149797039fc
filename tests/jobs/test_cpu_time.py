"""How long a worker had a CPU while it computed stands beside how long it computed by its clock."""

import time
from pathlib import Path

import pytest

from pytest_mixgpu.jobs.cputime import CpuMeter
from pytest_mixgpu.launch.local import LocalLauncher
from tests.jobs.made_jobs import made_header, run_it


def test_time_without_a_cpu_is_not_counted() -> None:
    """A process that is kept from working gets older, but uses no CPU."""
    meter, began_s = CpuMeter("cpu"), time.perf_counter()
    time.sleep(0.2)
    idle_s, wall_s = meter.used_s(), time.perf_counter() - began_s

    assert idle_s is not None
    assert 0 <= idle_s < wall_s / 2


def test_work_is_counted() -> None:
    """Work of the process adds to what it used."""
    meter, end_s = CpuMeter("cpu"), time.process_time() + 0.05
    while time.process_time() < end_s:
        pass

    assert (meter.used_s() or 0.0) >= 0.04


def test_a_gpu_has_no_cpu_time() -> None:
    """A process that waits for its GPU uses as little CPU as one that was stopped: nothing is claimed."""
    assert CpuMeter("cuda:0").used_s() is None


@pytest.mark.parametrize("exchange", ["star", "none", "ddp"])
def test_every_round_states_its_cpu_time(torch_launcher: LocalLauncher, tmp_path: Path, exchange: str) -> None:
    """Fleet, baseline and reference: one value a participant; a single thread cannot use more than passed."""
    record = run_it(
        made_header(exchange=exchange, to_finish=False, evaluate_every=0, warmup_rounds=0), torch_launcher, tmp_path
    )

    assert record.status == "completed"
    for line in record.rounds:
        assert len(line.participants) == len(line.compute_cpu_s)
        for used_s, stamps in zip(line.compute_cpu_s, line.stamps, strict=True):
            assert used_s is not None
            assert used_s > 0
            if exchange != "ddp":  # gloo has threads of its own
                assert used_s < 1.5 * stamps.compute_end_s
