"""From run records to the table of all registered runs, failed and aborted ones included."""

from collections.abc import Collection, Mapping, Sequence
from statistics import median

from pytest_mixgpu import units
from pytest_mixgpu.marks.timings import samples_a_round
from pytest_mixgpu.records.model import Evaluation, Fault, RunRecord
from pytest_mixgpu.report.model import RunRow, Tone
from pytest_mixgpu.report.sanitise import clean


def run_rows(
    records: Sequence[RunRecord], evidence_ids: Collection[str], superseded: Mapping[str, str]
) -> tuple[RunRow, ...]:
    """Lay out every run in the order of registration.

    Args:
        records: every registered run.
        evidence_ids: runs that a verdict names.
        superseded: why a run does not count, by its id.
    """
    ordered = sorted(records, key=lambda record: (record.header.registered_at, record.id))
    return tuple(
        _row(record, is_evidence=record.id in evidence_ids, superseded=superseded.get(record.id, ""))
        for record in ordered
    )


def _row(record: RunRecord, *, is_evidence: bool, superseded: str) -> RunRow:
    header = record.header
    return RunRow(
        run_id=clean(header.run_id),
        role=header.role,
        name=clean(header.name),
        leg=clean(header.leg),
        repeat=str(header.repeat),
        seed=str(header.seed),
        pool=clean(header.pool.spec),
        status=record.status,
        tone=_tone(record),
        rehearsal=header.rehearsal,
        registered=clean(units.format_moment(header.registered_at)),
        **_round_texts(record),
        test=_score(record.test),
        leased=units.format_duration(record.outcome.leased_s) if record.outcome else units.UNKNOWN,
        reason=_reason(record),
        faults=tuple(_fault(fault) for fault in record.faults),
        log=next((clean(fault.log) for fault in record.faults if fault.log), ""),
        digest=clean(record.digest),
        is_evidence=is_evidence,
        superseded=clean(superseded),
    )


def _tone(record: RunRecord) -> Tone:
    return "plain" if record.status == "completed" else "caution" if record.status == "stopped" else "bad"


def _round_texts(record: RunRecord) -> dict[str, str]:
    """Write how many rounds there were, how long, and how fast. Looks at each round once: there may be very many."""
    lengths_s = [line.round_s for line in record.measured_rounds]
    planned = record.header.settings.rounds
    num_instrumented = record.num_instrumented
    others = f" + {num_instrumented} instrumented" if num_instrumented else ""
    num_warmups = len(record.rounds) - len(lengths_s) - num_instrumented
    short = f" of {planned}" if len(lengths_s) < planned else ""
    ends = f"{units.format_duration(min(lengths_s))} to {units.format_duration(max(lengths_s))}" if lengths_s else ""
    # The rate of the median round, as marks and figures have it: the median of the rates is another number.
    middle_s = median(lengths_s) if lengths_s else 0.0
    rate = f"{units.format_number(samples_a_round(record) / middle_s)} samples/s" if middle_s else units.NOT_MEASURED
    return {
        "rounds": f"{len(lengths_s)}{short} + {num_warmups} warm-up{others}",
        "median_round": units.format_duration(middle_s) if lengths_s else units.NOT_MEASURED,
        "range_round": ends if len(lengths_s) > 1 else "",
        "samples_rate": rate,
    }


def _score(test: Evaluation | None) -> str:
    if test is None:
        return ""
    share = f" = {units.format_percent(test.num_correct / test.num_total)}" if test.num_total else ""
    return f"{units.format_count(test.num_correct)} of {units.format_count(test.num_total)}{share}"


def _reason(record: RunRecord) -> str:
    if record.outcome is None:
        return "never closed: its session crashed or was killed"
    return clean(record.outcome.reason)


def _fault(fault: Fault) -> str:
    where = f"{fault.worker} on {fault.device} at {fault.host}" if fault.device else f"{fault.worker} at {fault.host}"
    when = f"round {fault.round_index}" if fault.round_index is not None else "before the first round"
    return clean(f"{where}, {fault.phase or 'phase unknown'}, {when}: {fault.message}")
