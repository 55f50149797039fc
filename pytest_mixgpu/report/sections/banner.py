"""What stands above everything else: sentences that must not be overlooked, and the facts that a reader asks first."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_mixgpu import units
from pytest_mixgpu.marks.cost import Cost
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.model import Occasion, Pair
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.verdict_rows import notes_of

if TYPE_CHECKING:
    from pytest_mixgpu.devices.model import Pool

_FOREMOST = 6
"""So many pools are named; the table of runs has all."""


def banner_of(verdicts: Sequence[Verdict], records: Sequence[RunRecord]) -> tuple[str, ...]:
    """Say first what a reader must not overlook."""
    sentences = []
    if any(verdict.word == "TAMPERED" for verdict in verdicts):
        sentences.append(
            "Tampered: something does not match its seal. Rely on nothing here until that is explained; "
            "the verdicts below name it."
        )
    qualifiers = {qualifier for verdict in verdicts for qualifier in verdict.qualifiers}
    if "emulated" in qualifiers:
        sentences.append(
            "Emulated: compute was timed from a profile, not done. No number here was measured on a device."
        )
    if "rehearsal" in qualifiers:
        pools = sorted({record.header.pool.spec for record in records if record.header.rehearsal})
        workloads = sorted({record.header.settings.workload for record in records if record.header.rehearsal})
        stand_in = f" ({clean(', '.join(workloads))} on {clean(', '.join(pools))})" if pools else ""
        sentences.append(
            f"Rehearsal: a stand-in pool or workload{stand_in} ran in the experiment's place. "
            "It shows that the experiment works, and answers nothing."
        )
    if "exploratory" in qualifiers:
        sentences.append(
            "Exploratory: a mark is not frozen (pytest --passmark-freeze, before the first run), or runs go beyond "
            "those that its lock names."
        )
    if any("preliminary" in notes_of(verdict) for verdict in verdicts):
        sentences.append("Preliminary: one run stands behind a number. It is an observation and has no interval.")
    disturbed = [clean(verdict.id) for verdict in verdicts if "disturbed" in verdict.notes]
    if disturbed:
        named = ", ".join(disturbed[:_FOREMOST]) + (" and others" if len(disturbed) > _FOREMOST else "")
        sentences.append(
            f"Disturbed: other work ran on the measured devices, or the baseline drifted, in runs behind {named}."
        )
    return tuple(sentences)


def facts_of(
    verdicts: Sequence[Verdict],
    records: Sequence[RunRecord],
    occasion: Occasion,
    *,
    pool: "Pool | None",
    cost: Cost | None,
) -> tuple[Pair, ...]:
    """Say on what, when and on how many runs this stands, and what one result cost.

    Args:
        verdicts: of the suite.
        records: every registered run.
        occasion: when it was judged, and how.
        pool: of this session; the pools of marks and runs come first.
        cost: of the experiment; None where nothing is known of it.
    """
    # A bill stands on several pools and names them all.
    pools = list(dict.fromkeys(one for verdict in verdicts for one in verdict.pool.split(", ") if one))
    pools = pools or list(dict.fromkeys(record.header.pool.spec for record in records))
    if not pools and pool is not None:
        pools = [pool.spec]
    more = f" and {len(pools) - _FOREMOST} more" if len(pools) > _FOREMOST else ""
    judged = "from records" if occasion.mode == "records" else "by the session that measured"
    pairs = {
        "Pool": " · ".join(pools[:_FOREMOST]) + more,
        "Measured": _measured(records),
        "Judged": f"{units.format_moment(occasion.made_at)}, {judged}" if occasion.made_at else "",
        "Runs": _runs(verdicts, records),
        "One result cost": _cost(cost) if records else "",
    }
    return tuple(Pair(name=name, text=clean(text)) for name, text in pairs.items() if text)


def _measured(records: Sequence[RunRecord]) -> str:
    """From the registration of the first run to the end of the last, as the hosts' clocks said."""
    if not records:
        return ""
    first = min(record.header.registered_at for record in records)
    ends = [record.outcome.finished_at for record in records if record.outcome is not None]
    last = max((first, *ends))
    return f"{units.format_moment(first)} to {units.format_moment(last)}"


def _runs(verdicts: Sequence[Verdict], records: Sequence[RunRecord]) -> str:
    if not records:
        return ""
    statuses = [record.status for record in records]
    counts = ", ".join(f"{units.format_count(statuses.count(one))} {one}" for one in dict.fromkeys(sorted(statuses)))
    known = {record.id for record in records}
    behind = len(known & {run_id for verdict in verdicts for run_id in verdict.run_ids})
    stand = "stands" if behind == 1 else "stand"
    registered = f"{units.format_count(len(records))} registered: {counts}"
    return f"{registered}; {units.format_count(behind)} {stand} behind a verdict"


def _cost(cost: Cost | None) -> str:
    if cost is None:
        return ""
    if cost.num_results == 0:
        return "no run met the target: there is no result to divide by"
    whole, bare = (units.format_money(one, cost.currency) for one in (cost.per_result_whole, cost.per_result_bare))
    if whole == bare:
        return whole
    return f"{whole} with what it was compared with, {bare} alone"
