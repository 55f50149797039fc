"""From a run record to the phases of its median round. Segments are taken as recorded."""

from collections.abc import Sequence
from statistics import median_low
from typing import Final

from pytest_mixgpu import units
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.report.model import PhaseRow, PhaseTable, Table
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.timing.model import PHASES

MAX_PARTICIPANTS: Final = 64
"""Up to so many are shown one by one."""


def median_round(record: RunRecord) -> RoundLine | None:
    """Find the measured round of median length, so that its phases belong together and add up.

    Of an even number of rounds it is the faster of the middle two. A run without a measured round has none.
    """
    place = _median_place(record)
    return None if place is None else record.measured_rounds[place]


def _median_place(record: RunRecord) -> int | None:
    """Find which of the measured rounds that is. Looks at each once: there may be very many."""
    lengths_s = [line.round_s for line in record.measured_rounds]
    return lengths_s.index(median_low(lengths_s)) if lengths_s else None


def phase_table(record: RunRecord) -> PhaseTable | None:
    """Lay out the median round of one run: a row a participant, a cell a phase."""
    place = _median_place(record)
    if place is None:
        return None
    header, line = record.header, record.measured_rounds[place]
    return PhaseTable(
        run_id=clean(header.run_id),
        role=header.role,
        name=clean(header.name),
        pool=clean(header.pool.spec),
        round_label=f"round {place + 1} of {len(record.measured_rounds)}",
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
        foreign=_foreign(line, place),
        wait_s=totals["wait"],
    )


def _foreign(line: RoundLine, place: int) -> str:
    """Of a core the share that others took; of a GPU how many processes of others were on it."""
    share = line.foreign_share[place] if place < len(line.foreign_share) else None
    seen = line.device_seen[place] if place < len(line.device_seen) else None
    if share is not None or seen is None or seen.foreign_pids is None:
        return units.format_percent(share)
    return units.format_count(len(seen.foreign_pids)) + (" process" if len(seen.foreign_pids) == 1 else " processes")


def as_table(phases: PhaseTable) -> Table:
    """Write phases for the page.

    Of a large pool those are shown that waited least and most: who held the round back, and whom it cost most.
    """
    rows, note = phases.rows, ""
    if len(rows) > MAX_PARTICIPANTS:
        by_wait = sorted(rows, key=lambda row: row.wait_s)
        half = MAX_PARTICIPANTS // 2
        rows = (*by_wait[:half], *by_wait[-half:])
        note = (
            f"{len(phases.rows) - len(rows):,} of {len(phases.rows):,} participants are left out: shown are the {half} "
            f"that waited least and the {half} that waited most. The run's record holds all."
        )
    return Table(
        head=("participant", *PHASES, "sum", "overlap", "foreign load"),
        rows=tuple(
            (f"{row.participant} · {row.kind}", *row.cells, row.total, row.overlap, row.foreign) for row in rows
        ),
        caption=f"{phases.name} on {phases.pool}: {phases.round_label}, {phases.round_s} ({phases.run_id})",
        note=note,
    )
