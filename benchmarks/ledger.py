"""What does it cost to verify a ledger of 100,000 runs, and does its memory grow with the ledger?

A ledger is made line by line, verified, and compared with a loop of `json.loads` and `hashlib.sha256` over the same
lines, in turns, so that a slow moment of the machine falls on both. Each ledger is also verified in a process of its
own, once to see how much memory that process ever had, and once more to see what Python itself allocated meanwhile.
Prints all of it, and ends with an error where verifying takes more than three times the loop, or where memory grows.

    python benchmarks/ledger.py [number of runs]
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from hashlib import sha256
from pathlib import Path
from random import Random
from statistics import median
from typing import NamedTuple

import msgspec

from pytest_mixgpu.records.chain import FIRST_PREV, LedgerEntry
from pytest_mixgpu.records.ledger import Ledger

DEFAULT_RUNS = 100_000
SHRUNK = 10
"""Memory is compared with that of a ledger of so many times fewer runs."""

NUM_TURNS = 5
MAX_RATIO = 3.0
SLACK_BYTES = 4 << 20
"""Two equal processes differ by less; a ledger of 100,000 runs is 25 times as large."""

_LOOK = """
import sys
from pathlib import Path
from pytest_mixgpu.records.ledger import Ledger

if sys.argv[2] == "traced":
    import tracemalloc
    tracemalloc.start()
faults = Ledger(Path(sys.argv[1])).verify()
assert not faults, faults[0]
if sys.argv[2] == "traced":
    print(tracemalloc.get_traced_memory()[1])
else:
    import resource
    print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
"""


class Peak(NamedTuple):
    """The most memory that verifying one ledger took."""

    resident_bytes: int
    traced_bytes: int


def build(path: Path, num_runs: int) -> None:
    """Write a whole ledger at once: appending would have the disk hold each line."""
    ids = Random("runs")  # noqa: S311 - only so that ids have no order
    count, prev = 0, FIRST_PREV
    with path.open("wb") as file:
        for event, run_id in story(num_runs, ids):
            line = msgspec.json.encode(entry(event, run_id, n=count, prev=prev))
            file.write(line + b"\n")
            count, prev = count + 1, sha256(line).hexdigest()


def story(num_runs: int, ids: Random) -> list[tuple[str, str]]:
    """Tell of an opening, and of runs that are registered and closed one after the other."""
    runs = [f"20261129-{ids.getrandbits(48):012x}-fleet-{index % 5}" for index in range(num_runs)]
    return [("open", ""), *((event, run) for run in runs for event in ("register", "close"))]


def entry(event: str, run_id: str, *, n: int, prev: str) -> LedgerEntry:
    """Return an entry with as much in it as the store writes."""
    told = {} if event == "open" else {"role": "fleet", "name": "fleet", "repeat": n % 5, "seed": n, "rehearsal": False}
    closed = {"record_digest": "c" * 64, "status": "completed"} if event == "close" else {}
    fields = {
        "n": n,
        "prev": prev,
        "at": "2026-11-29T12:00:00.000+00:00",
        "event": event,
        "run_id": run_id,
        "session": "20261129-120000-4f2a",
        "suite": "e1",
        "plan_digest": "a" * 64,
        "lock_digest": "b" * 64,
    }
    return msgspec.convert(fields | told | closed, LedgerEntry)


def loop_s(path: Path) -> float:
    """Do what any reader of the lines must do, and no more."""
    began_s = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            json.loads(line)
            sha256(line).hexdigest()
    return time.perf_counter() - began_s


def verify_s(path: Path) -> float:
    """Verify the ledger."""
    ledger = Ledger(path)
    began_s = time.perf_counter()
    faults = ledger.verify()
    taken_s = time.perf_counter() - began_s
    if faults:
        raise SystemExit(f"the ledger was to be whole: {faults[0]}")
    return taken_s


def peak_of(path: Path) -> Peak:
    """Verify in processes that do nothing else."""
    found = [
        int(subprocess.run([sys.executable, "-c", _LOOK, str(path), how], check=True, capture_output=True).stdout)
        for how in ("plain", "traced")
    ]
    return Peak(*found)


def is_short(path: Path) -> tuple[bool, str]:
    """Compare the times and say what was found."""
    pairs = [(loop_s(path), verify_s(path)) for _ in range(NUM_TURNS)]
    plain_s, ours_s = (median(times_s) for times_s in zip(*pairs, strict=True))
    ratio = ours_s / plain_s
    text = f"json.loads and sha256 {plain_s:.2f} s   verify {ours_s:.2f} s   ratio {ratio:.2f} (at most {MAX_RATIO:g})"
    return ratio <= MAX_RATIO, f"{text}, medians of {NUM_TURNS} turns"


def is_flat(small: Peak, large: Peak) -> tuple[bool, str]:
    """Compare the memory and say what was found."""
    resident, traced = (after - before for before, after in zip(small, large, strict=True))
    text = (
        f"process {small.resident_bytes / 2**20:.1f} -> {large.resident_bytes / 2**20:.1f} MiB   allocated by Python "
        f"{small.traced_bytes / 2**20:.2f} -> {large.traced_bytes / 2**20:.2f} MiB   (slack {SLACK_BYTES >> 20} MiB)"
    )
    return max(resident, traced) <= SLACK_BYTES, text


def main() -> None:
    """Build, measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=int, default=DEFAULT_RUNS)
    num_runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as name:
        paths = {num: Path(name) / f"{num}.jsonl" for num in (num_runs // SHRUNK, num_runs)}
        for num, path in paths.items():
            build(path, num)
            size_mib = path.stat().st_size / 2**20
            print(f"{num:>9,} runs   {2 * num + 1:>9,} lines   {size_mib:.1f} MiB")
        took, time_text = is_short(paths[num_runs])
        print(f"time      {time_text}")
        grew, memory_text = is_flat(*(peak_of(path) for path in paths.values()))
        print(f"memory    {memory_text}")
    if not (took and grew):
        raise SystemExit("verifying is too slow or its memory grows with the ledger")


if __name__ == "__main__":
    main()
