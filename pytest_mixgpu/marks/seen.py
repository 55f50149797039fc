"""How far apart earlier runs lie: from evidence to what a plan can reckon with. Judges nothing."""

import math
import statistics

import msgspec

from pytest_mixgpu.marks.equivalence import residual_deviation
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.measurement import Measurement
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.parity_beside import accuracy_rows


class Seen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What earlier runs say of one mark."""

    where: str
    """Of which runs, in words."""
    value: float
    """Median, in the mark's unit."""
    deviation: float
    """Standard deviation of one run in the mark's unit; of parity that of one run's accuracy within a seed."""
    is_of_rehearsal: bool = False
    """Whether stand-ins were measured: their value says nothing of the mark's bound, their relative spread may."""


def seen_of(mark: PassMark, evidence: Evidence, where: str) -> Seen | None:
    """Return how far the runs behind a mark lie apart; None where fewer than two say it, or all are alike.

    Args:
        mark: whose metric is computed.
        evidence: with the runs.
        where: of which runs, in words.
    """
    metric = METRICS.get(mark.metric)
    if metric is None or metric.is_of_whole:
        return None
    found = metric.compute(evidence)
    unfit = {blemish.repeat for blemish in found.unfit}
    scale = metric.units.get(mark.unit, 1.0)
    values = {index: scale * value for index, value in found.values.items() if index not in unfit}
    if len(values) < 2 or not all(math.isfinite(value) for value in values.values()):
        return None
    deviation = _of_parity(found, values) if mark.of == "controls" else statistics.stdev(values.values())
    if not deviation:
        return None
    return Seen(
        where=f"{where}, {len(values)} runs",
        value=statistics.median(values.values()),
        deviation=deviation,
        is_of_rehearsal=evidence.rehearsal,
    )


def _of_parity(found: Measurement, values: dict[int, float]) -> float | None:
    rows = accuracy_rows(found, values)
    return residual_deviation(rows) if rows else None
