"""From a check or a metric to the section of the page in which its evidence stands."""

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_mixgpu.marks.lock_file import Lock
from pytest_mixgpu.marks.model import Verdict

SECTIONS: Final[Mapping[str, str]] = {
    "verdict": "Verdict",
    "checklist": "Checklist",
    "marks": "Pass marks",
    "time": "Time",
    "quality": "Quality",
    "cost": "Cost",
    "runs": "Runs",
    "conditions": "Conditions",
    "not-shown": "What this does not show",
}
"""Title of each section by its anchor, in the order of the page."""

_CHECKS: Final[Mapping[str, Sequence[str]]] = {
    "verdict": ("question-asked",),
    "marks": (
        "marks-frozen", "frozen-before-first-run", "committed-before-first-run", "amendments-explained",
        "tolerance-frozen", "spread-stated",
    ),
    "time": ("baseline-with-exchange-beside", "usual-tool-beside", "phases-add-up", "work-fixed"),
    "quality": ("done-by-quality", "one-evaluator", "controls-passed"),
    "cost": ("lease-to-release-timed", "cost-items-listed", "prices-sourced", "cost-per-result"),
    "runs": (
        "baseline-brackets-fleet", "warm-up-apart", "single-rounds-stated", "planned-runs-stated",
        "planned-runs-made", "attempts-counted", "seeds-recorded",
    ),
    "conditions": (
        "workload-described", "splits-held-apart", "one-data-set", "baseline-named", "baseline-same-code-and-data",
        "devices-named", "hosts-named", "coordinator-placed", "links-measured", "versions-recorded",
        "formats-recorded", "settings-recorded", "kernels-recorded", "controls-uniform", "controls-same-schedule",
        "mixture-is-one",
    ),
    "not-shown": ("limits-stated", "not-compared-stated", "wait-stated"),
}  # fmt: skip

_METRICS: Final[Mapping[str, str]] = {
    "speedup": "time",
    "samples_per_s": "time",
    "round_s": "time",
    "parity": "quality",
    "accuracy": "quality",
    "cost_per_result": "cost",
}


def place_of_check(name: str) -> str:
    """Say where the evidence of a check stands; empty for one that this version does not know."""
    return next((section for section, names in _CHECKS.items() if name in names), "")


def place_of_metric(name: str) -> str:
    """Say where the evidence of a metric stands; empty where it has no section, as a stopwatch's number has none."""
    return _METRICS.get(name, "")


def places_of(verdict: Verdict, lock: Lock | None) -> tuple[str, ...]:
    """Say in which sections the evidence of a verdict stands, in the order of the page.

    Args:
        verdict: of a mark, whose metric says it, or of a claim.
        lock: names the checks of each claim; without it no place of a claim is known.
    """
    if not verdict.is_claim:
        found = {"marks", place_of_metric(verdict.metric)}
    else:
        claim = next((one for one in lock.claims if one.id == verdict.id), None) if lock else None
        found = {place_of_check(name) for name in claim.checks} if claim else set()
    return tuple(section for section in SECTIONS if section in found)
