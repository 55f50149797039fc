"""From run records to the table of scores on the test set: whole counts, share, and whether the target was reached."""

from collections.abc import Sequence

from pytest_mixgpu import units
from pytest_mixgpu.marks.timings import first_at_target, reached_target
from pytest_mixgpu.records.model import Evaluation, RunRecord
from pytest_mixgpu.report.figures.made import run_label
from pytest_mixgpu.report.fold import folded
from pytest_mixgpu.report.model import Table
from pytest_mixgpu.report.sanitise import clean


def score_table(records: Sequence[RunRecord], target: float | None) -> Table:
    """Lay out every scored run.

    Args:
        records: the runs that were judged.
        target: share of the test set that counts as done, 0 to 1; None where the plan has none for what was trained.
    """
    rows = [_row(record, record.test, target) for record in records if record.test is not None]
    goal = "no target" if target is None else f"target {units.format_percent(target)}"
    table = Table(
        head=("run", "pool", "seed", "right", "share", goal, "validation at target after", "samples until then"),
        rows=tuple(rows),
        caption="Final weights on the test set",
    )
    return folded(table)


def _row(record: RunRecord, test: Evaluation, target: float | None) -> tuple[str, ...]:
    header = record.header
    first = None if target is None else first_at_target(record, target)
    reached = units.NOT_STATED if target is None else "reached" if reached_target(record, target) else "not reached"
    cells = (
        run_label(record),
        header.pool.spec,
        str(header.seed),
        f"{units.format_count(test.num_correct)} of {units.format_count(test.num_total)}",
        units.format_percent(test.num_correct / test.num_total) if test.num_total else units.UNKNOWN,
        reached,
        "never" if first is None else units.format_duration(first.training_s),
        "none" if first is None else units.format_count(first.samples_seen),
    )
    return tuple(clean(cell) for cell in cells)
