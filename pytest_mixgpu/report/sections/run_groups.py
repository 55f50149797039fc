"""From the rows of very many runs to those that a page shows one by one, and a table of all, put together by role."""

from collections.abc import Sequence
from typing import Final

from pytest_mixgpu import units
from pytest_mixgpu.report.fold import folded
from pytest_mixgpu.report.model import RunRow, Table

MAX_RUNS: Final = 200
"""So many runs are shown one by one."""


def in_sight(runs: Sequence[RunRow]) -> tuple[RunRow, ...]:
    """Choose the runs that are shown one by one: first what did not go as planned, in the order of registration."""
    if len(runs) <= MAX_RUNS:
        return tuple(runs)
    odd = [place for place, run in enumerate(runs) if run.tone != "plain" or run.superseded]
    known = set(odd)
    ranked = (*odd, *(place for place in range(len(runs)) if place not in known))
    return tuple(runs[place] for place in sorted(ranked[:MAX_RUNS]))


def runs_in_words(runs: Sequence[RunRow]) -> str:
    """Count runs by how they ended: `8 runs, 7 completed, 1 failed`."""
    statuses = [run.status for run in runs]
    counts = [f"{units.format_count(statuses.count(one))} {one}" for one in dict.fromkeys(sorted(statuses))]
    total = "1 run" if len(runs) == 1 else f"{units.format_count(len(runs))} runs"
    return ", ".join((total, *counts)) if runs else "none yet"


def group_table(runs: Sequence[RunRow]) -> Table:
    """Put runs together that have role, pool and end in common."""
    groups: dict[tuple[str, ...], list[RunRow]] = {}
    for run in runs:
        key = (run.role, f"{run.name} {run.leg}".strip(), run.pool, run.status)
        groups.setdefault(key, []).append(run)
    rows = tuple((*key, units.format_count(len(of_key)), _seeds(of_key)) for key, of_key in groups.items())
    head = ("role", "name", "pool", "ended", "runs", "seeds")
    return folded(Table(head=head, rows=rows, caption="All registered runs, put together by role, pool and end"))


def _seeds(runs: Sequence[RunRow]) -> str:
    seeds = list(dict.fromkeys(run.seed for run in runs))
    return seeds[0] if len(seeds) == 1 else f"{len(seeds)} different, from {seeds[0]} to {seeds[-1]}"
