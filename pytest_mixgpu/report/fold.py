"""From a long table to one that can be read. What is left out is counted in a sentence, never in silence."""

from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from pytest_mixgpu import units
from pytest_mixgpu.report.model import Table

MAX_ROWS: Final = 100
"""A table that is longer is folded: nobody reads on, and a page of such tables opens slowly."""


def folded(table: Table, *, limit: int = MAX_ROWS, where: str = "the runs' records hold all") -> Table:
    """Keep the first and last rows of a table that is longer than a limit, and say how many are left out.

    Args:
        table: any.
        limit: rows kept, 2 at least.
        where: all of it can be found, to end the sentence with.
    """
    if len(table.rows) <= limit:
        return table
    head, tail = limit - limit // 2, limit // 2
    first_of_tail = len(table.rows) - tail
    return replace(
        table,
        rows=(*table.rows[:head], *table.rows[first_of_tail:]),
        marked=tuple(
            (row if row < head else row - first_of_tail + head, column)
            for row, column in table.marked
            if row < head or row >= first_of_tail
        ),
        note=" ".join(part for part in (table.note, left_out(len(table.rows), limit, "rows", where)) if part),
    )


def left_out(total: int, shown: int, things: str, where: str) -> str:
    """Say what is missing from a list, and where it is."""
    return f"{units.format_count(total - shown)} of {units.format_count(total)} {things} are left out here; {where}."


def ranged(low: str, high: str) -> str:
    """Write the ends of a range, once where they read the same."""
    return low if low == high else f"{low} to {high}"


def numbered(numbers: Sequence[int]) -> str:
    """Write whole numbers with runs of neighbours put together: `0-3, 8`."""
    parts: list[str] = []
    start = before = None
    for number in [*sorted(numbers), None]:
        if start is not None and before is not None and (number is None or number != before + 1):
            parts.append(str(start) if start == before else f"{start}-{before}")
            start = number
        before, start = number, number if start is None else start
    return ", ".join(parts)
