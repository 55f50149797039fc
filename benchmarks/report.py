"""What does it cost to write the page of a record, and does it grow faster than the record?

Records of one run with ever more participants and rounds are written to disk as a session writes them, read back, and
rendered, each in a process of its own that does nothing else. Prints for each how large the record is, how long reading
and rendering took, the most memory that the process ever had, and how large the page is. Ends with an error where the
page of 16 participants and 100 rounds is too large, where rendering the largest record takes too long or too much
memory, or where time, memory or page grow faster than the record.

    python benchmarks/report.py [participants x rounds ...]
"""

import argparse
import json
import subprocess
import sys
import tempfile
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1]))

from msgspec.structs import replace

from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.model import Line, Outcome
from pytest_mixgpu.records.store import RunStore
from tests.sample_parts import make_pool
from tests.samples import MadeRun, e1_plan, make_run

SIZES = ("16x100", "10x10", "100x100", "1000x1000")
PAGE_SIZE = "16x100"
MAX_PAGE_BYTES = 2e6
MAX_RENDER_S = 60.0
MAX_BYTES = 2e9
NUM_DIFFERENT = 8
"""So many rounds are worked out one by one; further ones repeat them under their own index."""
GROWTH_SLACK = 1.5
"""What small sizes take anyway (imports, templates) hides growth, so that only faster growth than this is told."""

_RENDER = """
import json, resource, sys, time
from pathlib import Path
from pytest_mixgpu.records.store import RunStore
from pytest_mixgpu.report.figures import figures_of
from pytest_mixgpu.report.html import write_page
from pytest_mixgpu.report.model import Occasion
from pytest_mixgpu.report.rows import build_report
from pytest_mixgpu.records.plan_file import load_plan

def peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024

def now_s():
    return time.perf_counter(), time.process_time()

def since_s(before):
    return [after - one for after, one in zip(now_s(), before)]

folder, plan = Path(sys.argv[1]), load_plan(Path(sys.argv[2]))
began = now_s()
records = RunStore(folder).records()
read_s, read_bytes = since_s(began), peak()
began = now_s()
report = build_report([], records, occasion=Occasion(suite="e1"), plan=plan)
rows_s = since_s(began)
figures = figures_of([], records, plan=plan, evidence=None)
write_page(folder / "index.html", report, figures)
print(json.dumps({
    "read_s": read_s, "read_bytes": read_bytes, "rows_s": rows_s, "render_s": since_s(began),
    "peak_bytes": peak(), "page_bytes": (folder / "index.html").stat().st_size,
}))
"""


class Size(NamedTuple):
    """How large a record is."""

    participants: int
    rounds: int

    @classmethod
    def parse(cls, text: str) -> "Size":
        """Read `16x100`."""
        participants, _, rounds = text.partition("x")
        return cls(int(participants), int(rounds))

    def __str__(self) -> str:
        return f"{self.participants:,} x {self.rounds:,}"


class Taken(NamedTuple):
    """What reading and rendering one record took."""

    size: Size
    record_bytes: int
    read_s: tuple[float, float]
    """By the clock, and of processors. Others who compute at the same time lengthen the first alone."""
    read_bytes: int
    """The most memory of the process once the record was read."""
    rows_s: tuple[float, float]
    """Of rendering, what came before the charts."""
    render_s: tuple[float, float]
    peak_bytes: int
    page_bytes: int


def made(size: Size) -> MadeRun:
    """Make a fleet's run on so many participants, with as many rounds as are worked out one by one."""
    plan = e1_plan()
    assert plan.rehearsal is not None
    rounds = min(size.rounds, NUM_DIFFERENT)
    settings = replace(plan.rehearsal.settings, rounds=rounds, round_steps=10 * size.participants, evaluate_every=0)
    pool = make_pool(f"cpu:{size.participants}")
    return make_run(plan=replace(plan, rehearsal=replace(plan.rehearsal, settings=settings)), pool=pool)


def write(folder: Path, size: Size) -> int:
    """Write the record through the real store, and return how many bytes it has."""
    run = made(size)
    warmups, rounds = run.rounds[:1], run.rounds[1:]
    settings = replace(run.header.settings, rounds=size.rounds)
    writer = RunStore(folder).register(replace(run.header, settings=settings))
    assert run.start is not None
    assert isinstance(run.outcome, Outcome)
    first: list[Line] = [run.start, *warmups]
    for line in first:
        writer.write(line)
    # The writer checks each line by reading it back, which takes far longer here than what is measured.
    raws = [encode(line).split(b'"index":%d,' % line.index, 1) for line in rounds]
    with (writer.folder / "record.jsonl").open("ab") as file:
        for number in range(size.rounds):
            before, after = raws[number % len(raws)]
            file.write(before + b'"index":%d,' % (number + 1) + after + b"\n")
    for one in run.evaluations:
        writer.write(replace(one, after_round=size.rounds))
    writer.close(run.outcome)
    return (writer.folder / "record.jsonl").stat().st_size


def measure(size: Size) -> Taken:
    """Write one record and render it in a process of its own."""
    plan = Path(__file__).parents[1] / "suites" / "e1" / "benchmark.toml"
    with tempfile.TemporaryDirectory() as name:
        record_bytes = write(Path(name), size)
        done = subprocess.run(
            [sys.executable, "-c", _RENDER, name, str(plan)], check=True, capture_output=True, cwd=plan.parents[2]
        )
    return Taken(size=size, record_bytes=record_bytes, **json.loads(done.stdout))


def shown(taken: Taken) -> str:
    """Write what was found of one record."""
    reading, rows, rendering = (
        f"{clock_s:.2f} s ({cpu_s:.2f} s CPU)" for clock_s, cpu_s in (taken.read_s, taken.rows_s, taken.render_s)
    )
    return (
        f"{taken.size}: record {taken.record_bytes / 1e6:.2f} MB, page {taken.page_bytes / 1e6:.2f} MB\n"
        f"    read in {reading}, {taken.read_bytes / 1e6:.0f} MB at most\n"
        f"    rendered in {rendering}, of it rows and tables {rows}, {taken.peak_bytes / 1e6:.0f} MB at most"
    )


def broken(found: list[Taken]) -> list[str]:
    """Say which bounds are broken."""
    said = []
    for one in found:
        if one.size == Size.parse(PAGE_SIZE) and one.page_bytes > MAX_PAGE_BYTES:
            said.append(f"the page of {one.size} has {one.page_bytes / 1e6:.2f} MB, at most {MAX_PAGE_BYTES / 1e6:g}")
        if one.render_s[1] > MAX_RENDER_S:
            said.append(f"{one.size} took {one.render_s[1]:.1f} s of CPU to render, at most {MAX_RENDER_S:g}")
        if one.peak_bytes > MAX_BYTES:
            said.append(f"{one.size} took {one.peak_bytes / 1e9:.2f} GB of memory, at most {MAX_BYTES / 1e9:g}")
    ordered = sorted(found, key=lambda one: one.record_bytes)
    for small, large in pairwise(ordered):
        growth = GROWTH_SLACK * large.record_bytes / small.record_bytes
        pairs = {
            "time": (small.render_s[1], large.render_s[1]),
            "memory": (small.peak_bytes, large.peak_bytes),
            "page": (small.page_bytes, large.page_bytes),
        }
        said += [
            f"{name} grew {after / before:.1f} times from {small.size} to {large.size}, the record {growth:.1f} times"
            for name, (before, after) in pairs.items()
            if after / before > growth
        ]
    return said


def main() -> None:
    """Measure, print and judge."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sizes", nargs="*", default=SIZES, metavar="participants x rounds", help="such as 100x100")
    found = []
    for text in parser.parse_args().sizes:
        found.append(measure(Size.parse(text)))
        print(shown(found[-1]), flush=True)
    said = broken(found)
    if said:
        raise SystemExit("\n".join(said))


if __name__ == "__main__":
    main()
