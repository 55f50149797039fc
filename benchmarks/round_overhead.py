"""What a round costs beside its phases, and what two participants gain over one. Run by hand on two idle cores.

    python benchmarks/round_overhead.py [--steps 200] [--rounds 8] [--attempts 3]

A stretch of rounds is timed from the moment that the first is asked for to the moment that the last is recorded.
Whatever of it lies in no phase of the participants (words between supervisor and coordinator, reports, the sampler of
foreign load, the line in the record) is time outside the phases. The speed-up is the ratio of the medians of solo and
shared rounds of one session, solo ones taken before and after. On a machine where others compute too it says little:
the foreign load of all three runs is printed beside it, and a disturbed or impossible ratio does not meet the bound.
"""

import argparse
import os
import secrets
import socket
import statistics
import sys
import tempfile
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

import msgspec

from pytest_mixgpu.devices.interference import Interference
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.jobs.conduct import conduct, job_for
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.protocol import Job
from pytest_mixgpu.jobs.shares import equal_shares
from pytest_mixgpu.jobs.workloads.recipe import load_recipe
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.model import Digests, Evaluation, Header, RoundLine, RunRecord, Settings, Start
from pytest_mixgpu.records.store import RunStore

MAX_OUTSIDE = 0.02
"""Time outside the phases, as a share of the rounds."""
MIN_SPEEDUP = 1.6
"""Of two participants on two idle cores."""
IDEAL = 2.0
MAX_FOREIGN = 0.10
"""Share of a core, median of a run's rounds, from which on the machine is not idle."""
RECIPE = load_recipe("digits-vit", folders=())


class Watched:
    """A job that notes when each of its rounds was asked for.

    Args:
        job: the job that does the work.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self.num_rounds = job.num_rounds
        self.asked_s: list[float] = []

    def start(self) -> Start:
        """Start the job."""
        return self._job.start()

    def run_round(self, index: int) -> RoundLine:
        """Note the time, then run the round."""
        self.asked_s.append(time.perf_counter())
        return self._job.run_round(index)

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Score the model."""
        return self._job.evaluate(split)

    def stop(self) -> None:
        """End the job."""
        self._job.stop()


class Bench:
    """Makes runs in a folder.

    Args:
        launcher: starts the workers.
        store: where the records go.
        steps: optimizer steps of a round.
        rounds: measured rounds of a run.
    """

    def __init__(self, launcher: LocalLauncher, store: RunStore, *, steps: int, rounds: int) -> None:
        self._launcher = launcher
        self._store = store
        self._steps = steps
        self._rounds = rounds
        self._watched: list[Watched] = []

    def run(self, exchange: str, num_devices: int) -> RunRecord:
        """Run once and return the record."""
        cores = sorted(os.sched_getaffinity(0))[:num_devices]
        header = self._header(exchange, cores)
        record = conduct(
            header,
            RECIPE,
            launcher=self._launcher,
            writer=self._store.register(header),
            interference=Interference(cores),
            make_job=self._watch,
        )
        if record.outcome is None or record.status != "completed":
            sys.exit(f"{exchange} run {record.status}: {record.outcome}")
        return record

    def outside(self, record: RunRecord) -> float:
        """Time outside the phases in the last run, as a share of its rounds; warm-ups are not counted."""
        asked_s = self._watched[-1].asked_s
        first = record.header.settings.warmup_rounds
        lines = record.rounds[first:-1]
        period_s = asked_s[-1] - asked_s[first]
        within_s = sum(min(stamps.close_s for stamps in line.stamps) for line in lines)
        return (period_s - within_s) / within_s

    def _watch(self, setup: JobSetup) -> Job:
        self._watched.append(Watched(job_for(setup)))
        return self._watched[-1]

    def _header(self, exchange: str, cores: list[int]) -> Header:
        host = host_facts()
        shares = (self._steps,) if exchange == "none" else equal_shares(self._steps, len(cores))
        name = socket.gethostname()
        devices = tuple(
            Device(id=f"cpu:{name}:{core}", kind="cpu", name="a core", vendor="cpu", host=name, ordinal=core)
            for core in cores
        )
        return Header(
            run_id=f"{exchange}-{secrets.token_hex(4)}",
            suite="round-overhead",
            session="by-hand",
            role="baseline" if exchange == "none" else "fleet",
            name=exchange,
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
                round_steps=self._steps,
                shares=shares,
                rounds=self._rounds,
                warmup_rounds=1,
                to_finish=False,
                exchange=exchange,
                payload="float32",
                split="equal",
                num_threads=1,
                evaluate_every=0,
            ),
            pool=Pool(devices=devices),
            coordinator=name,
            launcher="local",
            host=host,
        )


def median_round_s(lines: Iterable[RoundLine]) -> float:
    """The median round."""
    return statistics.median(line.round_s for line in lines)


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What one attempt came to."""

    outside: float
    """Time outside the phases, as a share of the rounds."""
    speedup: float
    foreign: float | None
    """The largest share that others took of a core in the median round of a run; None is unknown."""

    @property
    def is_credible(self) -> bool:
        """Whether the machine was idle and the ratio is possible."""
        return self.foreign is not None and self.foreign <= MAX_FOREIGN and self.speedup <= IDEAL


def foreign_load(record: RunRecord) -> float | None:
    """What others took of the busiest core, in the median round."""
    per_core = zip(*(line.foreign_share for line in record.measured_rounds), strict=True)
    known = [[share for share in shares if share is not None] for shares in per_core]
    return max(statistics.median(shares) for shares in known) if all(known) else None


def measure(bench: Bench) -> Found:
    """Solo, shared, solo; print what was found."""
    before = bench.run("none", 1)
    shared = bench.run("star", 2)
    outside = bench.outside(shared)
    after = bench.run("none", 1)
    solo_s = median_round_s([*before.measured_rounds, *after.measured_rounds])
    shared_s = median_round_s(shared.measured_rounds)
    loads = [foreign_load(record) for record in (before, shared, after)]
    known = [load for load in loads if load is not None]
    found = Found(outside=outside, speedup=solo_s / shared_s, foreign=max(known) if len(known) == len(loads) else None)
    shown = ", ".join("unknown" if load is None else f"{load:.0%}" for load in loads)
    print(
        f"solo {solo_s * 1e3:.0f} ms, shared {shared_s * 1e3:.0f} ms a round: speed-up {found.speedup:.2f} of 2; "
        f"outside the phases {outside:.2%}; foreign load {shown} of a core"
        f"{'' if found.is_credible else ' (not idle: the speed-up says nothing)'}"
    )
    return found


def main() -> int:
    """Measure as often as asked and judge the medians; 0 if both bounds are met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=8)
    parser.add_argument("--attempts", type=int, default=1)
    options = parser.parse_args()
    if len(os.sched_getaffinity(0)) < 2:
        sys.exit("two cores are needed")
    with tempfile.TemporaryDirectory() as folder, LocalLauncher() as launcher:
        bench = Bench(launcher, RunStore(Path(folder)), steps=options.steps, rounds=options.rounds)
        found = [measure(bench) for _ in range(options.attempts)]
    outside = statistics.median(each.outside for each in found)
    credible = [each.speedup for each in found if each.is_credible]
    speedup = statistics.median(credible) if credible else None
    met = outside < MAX_OUTSIDE and speedup is not None and speedup >= MIN_SPEEDUP
    said = "not measured, the machine was never idle" if speedup is None else f"{speedup:.2f}"
    print(
        f"median: outside the phases {outside:.2%} of {len(found)} (bound {MAX_OUTSIDE:.0%}), speed-up {said} of "
        f"{len(credible)} on idle cores (bound {MIN_SPEEDUP}): {'met' if met else 'NOT met'}"
    )
    return 0 if met else 1


if __name__ == "__main__":
    sys.exit(main())
