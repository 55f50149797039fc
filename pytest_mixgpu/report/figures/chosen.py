"""Which runs are drawn: from verdicts and records to the runs that were judged, and one for each role of them."""

from collections.abc import Collection, Sequence

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import Role, RunRecord

ORDER: tuple[Role, ...] = ("baseline", "fleet", "reference", "control", "mixed")
UNDER_TEST: tuple[Role, ...] = ("fleet", "mixed")


def judged_runs(verdicts: Sequence[Verdict], records: Sequence[RunRecord]) -> list[RunRecord]:
    """Return the runs that verdicts name, in the order of registration; where they name none, all runs."""
    ids = {run_id for verdict in verdicts for run_id in verdict.run_ids}
    return [record for record in records if record.id in ids] or list(records)


def first_of_each(runs: Sequence[RunRecord], roles: Collection[Role]) -> list[RunRecord]:
    """Return one run with an exchange for each name of these roles: the first repeat that has a measured round."""
    found: dict[str, RunRecord] = {}
    for run in sorted(runs, key=lambda run: (ORDER.index(run.header.role), run.header.repeat)):
        has_exchange = any(line.coordinator for line in run.measured_rounds)
        if run.header.role in roles and has_exchange:
            found.setdefault(run.header.name, run)
    return list(found.values())


def repeats_note(runs: Sequence[RunRecord], drawn: RunRecord) -> list[str]:
    """Say that other runs of the same name exist, where they do."""
    num = len({run.id for run in runs if run.header.name == drawn.header.name and run.header.leg == drawn.header.leg})
    return [f"One of {num} runs of {drawn.header.name}: the first repeat, {drawn.id}."] if num > 1 else []
