"""The registry of checks: what a claim can stand on, by name. Each check is pure: evidence in, shortfalls out."""

from collections.abc import Mapping

from pytest_mixgpu.marks.checks import (
    baseline,
    bill,
    controls,
    counted,
    described,
    phases,
    pinned,
    placement,
    recorded,
)
from pytest_mixgpu.marks.checks.finding import Check, Finding

__all__ = ["CHECKS", "Check", "Finding"]

_ROOMS = (recorded, described, baseline, placement, pinned, phases, controls, bill, counted)
CHECKS: Mapping[str, Check] = {check.name: check for room in _ROOMS for check in room.CHECKS}
