"""What watching for interference costs a round: rounds with and without it, taken in turn in one run. Run by hand.

    python benchmarks/interference.py [--steps 400] [--rounds 24]

One device trains digits; every second round is watched, so that drift of the machine meets both alike. Two numbers are
held to the limit. One is the CPU time that all watching took, by its own clocks, as a share of the time it watched.
The other is the median watched round over the median of the rest; where the machine was not quiet, or rounds lie too
far apart to show so little, that is printed and is no verdict. One look at a core and one at a GPU are timed apart. The
GPU's goes to a stand-in for the driver: it shows our own cost, not that of a driver.
"""

import argparse
import os
import secrets
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec

from pytest_mixgpu.devices.core_eye import CoreEye
from pytest_mixgpu.devices.interference import Interference
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.nvidia_eye import NvidiaEye
from pytest_mixgpu.devices.nvml import Nvml
from pytest_mixgpu.devices.pressure import cpu_pressure_s
from pytest_mixgpu.devices.watch import RATE_HZ, Watch
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.factory import job_for
from pytest_mixgpu.jobs.messages import Scale
from pytest_mixgpu.jobs.watching import Watcher
from pytest_mixgpu.jobs.workloads.recipe import load_recipe
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.model import Digests, Header, Settings

MAX_SHARE = 0.005
"""Of a round."""
MAX_FOREIGN = 0.10
"""Share of the core, median over the watched rounds, from which on wall time says nothing."""
RECIPE = load_recipe("digits-vit", folders=())


class StandIn:
    """Answers every question at once, as a healthy card would."""

    def call(self, function: str, *arguments: Any) -> Any:
        """Give a structure where one is asked for, else a number."""
        answers: dict[str, Any] = {
            "nvmlDeviceGetHandleByUUID": object(),
            "nvmlDeviceGetUtilizationRates": {"gpu": 97, "memory": 40},
            "nvmlDeviceGetComputeRunningProcesses": [{"pid": os.getpid()}],
        }
        if function == "nvmlDeviceGetFieldValues":
            return [{"nvmlReturn": 0, "value": 0} for _ in arguments[1]]
        return answers.get(function, [] if function.endswith("RunningProcesses") else 0)


class Round(msgspec.Struct, frozen=True, kw_only=True):
    """One measured round."""

    round_s: float
    is_watched: bool
    foreign: float | None


def header_of(core: int, *, steps: int, rounds: int) -> Header:
    """Plan one device that trains alone."""
    name = socket.gethostname()
    device = Device(id=f"cpu:{name}:{core}", kind="cpu", name="a core", vendor="cpu", host=name, ordinal=core)
    return Header(
        run_id=f"interference-{secrets.token_hex(4)}",
        suite="interference",
        session="by-hand",
        role="baseline",
        name="baseline",
        repeat=0,
        seed=1,
        rehearsal=True,
        registered_at="",
        nonce=secrets.token_hex(8),
        digests=Digests(plan="", lock="", code="", evaluator=""),
        settings=Settings(
            workload=RECIPE.name,
            number_format="float32",
            batch_size=32,
            round_steps=steps,
            shares=(steps,),
            rounds=rounds,
            warmup_rounds=1,
            to_finish=False,
            exchange="none",
            payload="float32",
            split="equal",
            num_threads=1,
            evaluate_every=0,
        ),
        pool=Pool(devices=(device,)),
        coordinator=name,
        launcher="local",
        host=host_facts(),
    )


def take(header: Header, log_dir: Path) -> tuple[list[Round], float, float]:
    """Run all rounds, every second of them watched.

    Returns:
        The measured rounds; CPU time that watching took, and the time that was watched.
    """
    found: list[Round] = []
    cpu_s = watched_s = 0.0
    with LocalLauncher() as launcher:
        job = job_for(
            JobSetup(
                header=header,
                recipe=RECIPE,
                launcher=launcher,
                log_dir=log_dir,
                limits=Limits(progress_s=120.0),
                scale=Scale(device="cpu", number_format="float32", num_threads=1),
            )
        )
        try:
            job.start()
            for index in range(job.num_rounds):
                is_watched = bool(index % 2)
                if is_watched:
                    with Watch(header.pool.devices) as watch:
                        watcher = Watcher(
                            header.pool,
                            host=header.host.host,
                            meter=Interference([header.pool.devices[0].ordinal]),
                            watch=watch,
                        )
                        watcher.begin()
                        line = watcher.seen_in(job.run_round(index))
                        sampling = watch.sampling
                    cpu_s += sampling.cpu_s + watcher.meter_cpu_s
                    watched_s += sampling.watched_s
                else:
                    line = job.run_round(index)
                if not line.warmup:
                    share = line.foreign_share[0] if line.foreign_share else None
                    found.append(Round(round_s=line.round_s, is_watched=is_watched, foreign=share))
        finally:
            job.stop()
    return found, cpu_s, watched_s


def cost_us(work: Callable[[], object], *, times: int = 2000) -> float:
    """Microseconds of CPU time that one call takes."""
    work()
    began_s = time.thread_time()
    for _ in range(times):
        work()
    return 1e6 * (time.thread_time() - began_s) / times


def main() -> int:
    """Measure, print, and hold what was measured to the limit."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=400, help="optimizer steps of a round")
    parser.add_argument("--rounds", type=int, default=24, help="measured rounds, half of them watched")
    given = parser.parse_args()
    core = min(os.sched_getaffinity(0))
    with tempfile.TemporaryDirectory() as folder:
        header = header_of(core, steps=given.steps, rounds=given.rounds)
        rounds, cpu_s, watched_s = take(header, Path(folder))
    with_s = [one.round_s for one in rounds if one.is_watched]
    without_s = [one.round_s for one in rounds if not one.is_watched]
    ratio = statistics.median(with_s) / statistics.median(without_s) - 1
    spread = statistics.median(abs(one - statistics.median(without_s)) for one in without_s)
    noise = spread / statistics.median(without_s)
    known = [one.foreign for one in rounds if one.foreign is not None]
    foreign = statistics.median(known) if known else None
    card = NvidiaEye(Nvml(StandIn()), "GPU-0")
    meter = Interference([core])
    print(f"rounds: {len(with_s)} watched, median {statistics.median(with_s):.4f} s; {len(without_s)} not, median "
          f"{statistics.median(without_s):.4f} s, half of these within {100 * noise:.2f} % of it")  # fmt: skip
    share = cpu_s / watched_s
    print(f"CPU time of all watching: {1e3 * cpu_s:.2f} ms in {watched_s:.2f} s, {100 * share:.3f} % of the rounds")
    print(f"wall time of a watched round: {100 * ratio:+.3f} %")
    print(f"one look at a core {cost_us(CoreEye(core).look):.0f} us, at the pressure {cost_us(cpu_pressure_s):.0f} us, "
          f"at counters of foreign load {cost_us(meter.sample, times=200):.0f} us; at a GPU "
          f"{cost_us(card.look):.0f} us with a stand-in for the driver; {RATE_HZ:g} a second")  # fmt: skip
    said = [f"CPU time {100 * share:.3f} %"] if share > MAX_SHARE else []
    is_quiet = foreign is not None and foreign <= MAX_FOREIGN
    if not is_quiet or noise > MAX_SHARE:
        shown = "unknown" if foreign is None else f"{foreign:.2f} of a core"
        print(f"wall time is no verdict here: foreign load {shown}, rounds are known to {100 * noise:.2f} %")
    elif ratio > MAX_SHARE:
        said.append(f"wall time {100 * ratio:.3f} %")
    print(f"over {100 * MAX_SHARE:g} %: {', '.join(said)}" if said else f"met: under {100 * MAX_SHARE:g} %")
    return bool(said)


if __name__ == "__main__":
    sys.exit(main())
