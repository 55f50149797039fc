"""What rounds with instruments say beside those without: slowdown, and exposed and total communication. Pure.

A job may communicate while it computes. Then the phases of a round cost time to tell apart, and its official time is
that of rounds in which nobody tried.
"""

import math
import statistics
from collections.abc import Sequence
from typing import Final

from pytest_mixgpu.marks.timings import round_median_s
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.timing.model import Phase
from pytest_mixgpu.timing.phases import phase_totals

EXPOSED: Final[tuple[Phase, ...]] = ("prepare", "send", "queue", "combine", "return")
"""Phases of a round in which a participant did nothing but exchange; `wait` is for others, and told apart."""


def instruments_said(runs: Sequence[RunRecord]) -> list[str]:
    """Say of each run with instrumented rounds what these cost and what they show, a sentence each."""
    return [text for run in runs if run.num_instrumented and (text := _said(run))]


def slowdown(run: RunRecord) -> float | None:
    """Return how many times as long a round with instruments took, as medians; None where there is nothing to tell."""
    with_s = [line.round_s for line in run.rounds if line.instrumented]
    plain_s = round_median_s(run)
    return statistics.median(with_s) / plain_s if with_s and plain_s else None


def exposed_s(line: RoundLine) -> float:
    """Return the mean time of a participant in which it exchanged and did not compute."""
    totals = [phase_totals(segments) for segments in line.segments]
    return math.fsum(each[phase] for each in totals for phase in EXPOSED) / max(1, len(totals))


def communicated_s(line: RoundLine) -> float | None:
    """Return the mean time of a participant in which bytes moved, beside computing or not; None if one is unknown."""
    known = [moved_s for moved_s in line.communication_s if moved_s is not None]
    return math.fsum(known) / len(known) if known and len(known) == len(line.participants) else None


def _said(run: RunRecord) -> str:
    times = slowdown(run)
    lines = [line for line in run.rounds if line.instrumented]
    if times is None:
        return ""
    many = "1 round" if len(lines) == 1 else f"{len(lines)} rounds"
    shown = statistics.median(exposed_s(line) for line in lines)
    moved = [moved_s for line in lines if (moved_s := communicated_s(line)) is not None]
    total = f"{1000 * statistics.median(moved):.1f} ms" if moved else "unknown"
    return (
        f"instruments: {many} of {run.header.name} (run {run.id}) ran with them after the last score, "
        f"{times:.2f} times as long as those without, which alone are judged; exposed "
        f"communication {1000 * shown:.1f} ms a round, total {total}"
    )
