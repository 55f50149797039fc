"""From a run record to the phases of its median round. Segments are taken as recorded."""

from collections.abc import Sequence
from statistics import median_low

from pytest_mixgpu import units
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.report.model import PhaseBar, PhaseRow, PhaseTable
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.timing.model import PHASES, Segment


def median_round(record: RunRecord) -> RoundLine | None:
    """Find the measured round of median length, so that its phases belong together and add up.

    Of an even number of rounds it is the faster of the middle two. A run without a measured round has none.
    """
    rounds = record.measured_rounds
    if not rounds:
        return None
    middle_s = median_low(line.round_s for line in rounds)
    return next(line for line in rounds if line.round_s == middle_s)


def phase_table(record: RunRecord) -> PhaseTable | None:
    """Lay out the median round of one run: a row a participant, a cell a phase."""
    line = median_round(record)
    if line is None:
        return None
    header = record.header
    position = [known.index for known in record.measured_rounds].index(line.index) + 1
    return PhaseTable(
        run_id=clean(header.run_id),
        role=header.role,
        name=clean(header.name),
        pool=clean(header.pool.spec),
        round_label=f"round {position} of {len(record.measured_rounds)}",
        round_s=units.format_duration(line.round_s),
        rows=tuple(_row(record, line, place) for place in range(len(line.participants))),
    )


def phase_tables(records: Sequence[RunRecord], *, limit: int = 12) -> tuple[PhaseTable, ...]:
    """Lay out the median rounds of runs that exchanged updates, the fleet first, then the other roles."""
    order = {"fleet": 0, "mixed": 1, "control": 2, "baseline": 3, "reference": 4}
    wanted = [record for record in records if any(line.coordinator for line in record.measured_rounds)]
    wanted.sort(key=lambda record: (order[record.header.role], record.header.repeat, record.header.name))
    tables = (phase_table(record) for record in wanted[:limit])
    return tuple(table for table in tables if table is not None)


def _row(record: RunRecord, line: RoundLine, place: int) -> PhaseRow:
    participant, devices = line.participants[place], record.devices
    device = devices[participant] if participant < len(devices) else None
    segments = line.segments[place] if place < len(line.segments) else ()
    totals = dict.fromkeys(PHASES, 0.0)
    for segment in segments:
        totals[segment.phase] += segment.duration_s
    return PhaseRow(
        participant=str(participant),
        kind=clean(device.kind) if device else units.UNKNOWN,
        device=clean(device.id) if device else units.UNKNOWN,
        cells=tuple(units.format_duration(totals[phase]) if totals[phase] else "0" for phase in PHASES),
        total=units.format_duration(sum(totals.values())),
        overlap=units.format_duration(line.overlap_s[place]) if place < len(line.overlap_s) else units.UNKNOWN,
        foreign=units.format_percent(line.foreign_share[place] if place < len(line.foreign_share) else None),
        bars=_bars(segments, line),
    )


def _bars(segments: Sequence[Segment], line: RoundLine) -> tuple[PhaseBar, ...]:
    """Scale segments to the longest participant's round, so that the bars of one table can be compared."""
    ends_s = [segment.start_s + segment.duration_s for each in line.segments for segment in each]
    longest_s = max(ends_s, default=0.0)
    if longest_s <= 0:
        return ()
    return tuple(
        PhaseBar(
            phase=segment.phase,
            start_permille=round(1000 * segment.start_s / longest_s),
            # A phase that took time is never drawn as nothing.
            width_permille=max(1, round(1000 * segment.duration_s / longest_s)),
            label=f"{segment.phase} {units.format_duration(segment.duration_s)}",
        )
        for segment in segments
        if segment.duration_s > 0
    )
