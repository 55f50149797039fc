"""How fast pools were beside the ideal: from evidence to one point a run, each with its session. Judges nothing."""

import msgspec

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.speed import speedup
from pytest_mixgpu.marks.statistics import Spread, spread_of
from pytest_mixgpu.marks.timings import round_median_s
from pytest_mixgpu.records.model import RunRecord


class SpeedPoint(msgspec.Struct, frozen=True, kw_only=True):
    """One run's speed against one device of the same session."""

    session: str
    repeat: int
    name: str
    """Of the role; with its leg, where it has one."""
    ideal: float
    """Speed-up that there can be at most, in devices."""
    ratio: float
    """One device's median round over this run's."""
    is_judged: bool
    """Whether it is the fleet's, which the mark is about; the others stand beside it."""


def speed_points(evidence: Evidence) -> tuple[SpeedPoint, ...]:
    """Return the fleet's speed-ups, repeat by repeat, and what ran beside it in the same session and repeat.

    One device with an exchange has an ideal of 1, the reference that of the fleet. Ratios of different sessions share
    no baseline: they are never points of one line.
    """
    found = speedup(evidence)
    fleets = {run.header.repeat: run for run in found.runs if run.header.role == "fleet"}
    points = []
    for repeat, ratio in sorted(found.values.items()):
        fleet = fleets[repeat]
        points.append(_point(fleet, ratio=ratio, ideal=found.ideals[repeat], is_judged=True))
        for run in evidence.completed:
            fleet_s, own_s = round_median_s(fleet), round_median_s(run)
            is_mate = (run.header.session, repeat) == (fleet.header.session, run.header.repeat)
            if not is_mate or not fleet_s or not own_s:
                continue
            if run.header.leg == "with-exchange":
                points.append(_point(run, ratio=ratio * fleet_s / own_s, ideal=1.0, is_judged=False))
            if run.header.role == "reference":
                beside = _point(run, ratio=ratio * fleet_s / own_s, ideal=found.ideals[repeat], is_judged=False)
                points.append(beside)
    return tuple(points)


def joint_spread(points: tuple[SpeedPoint, ...]) -> Spread | None:
    """Return how far the fleet's ratios lie apart, baseline and fleet taken together repeat by repeat; None of none."""
    ratios = [point.ratio for point in points if point.is_judged]
    return spread_of(ratios, is_ratio=True) if ratios else None


def _point(run: RunRecord, *, ratio: float, ideal: float, is_judged: bool) -> SpeedPoint:
    header = run.header
    return SpeedPoint(
        session=header.session,
        repeat=header.repeat,
        name=f"{header.name} {header.leg}".strip(),
        ideal=ideal,
        ratio=ratio,
        is_judged=is_judged,
    )
