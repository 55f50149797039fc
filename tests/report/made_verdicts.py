"""Verdicts of E1 as a judge might give them, for the tests of the report."""

from collections.abc import Sequence

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.model import Occasion, Report
from pytest_mixgpu.report.rows import build_report
from tests.samples import as_record, e1_plan, make_runs

CLAIMS = (
    "recorded-first",
    "workload-and-done",
    "baseline",
    "placement",
    "versions",
    "phases",
    "quality",
    "cost",
    "spread",
    "wait",
)
HOSTILE = "</style><script>alert(1)</script>\x1b[2J\u202egnp.exe\n::error::owned ##vso[task.complete] \ud800 {{ 7*7 }}"
"""What an attacker could name a device or write to a log."""

ORDER = tuple(f"e1-{name}" for name in (*CLAIMS[:6], "speedup"))

OCCASION = Occasion(
    suite="e1",
    session="session-1",
    made_at="2026-11-29T12:30:00+00:00",
    folder="reports",
    command=("pytest", "suites/e1"),
    again="pytest suites/e1 --mixgpu-records=reports",
    titles={"e1-speedup": "Sixteen devices reach 70 % of ideal", "e1-cost": "The whole cost of one result is stated"},
    tests={"e1-speedup": "test_fast", "e1-phases": "test_fast", "e1-parity": "test_good", "e1-quality": "test_good"},
    order=ORDER,
)


def speedup(
    *,
    value: float | None = 1.8754,
    bound: float = 1.4,
    word: str = "PASS",
    qualifiers: Sequence[str] = ("rehearsal",),
    reason: str = "the fleet's rounds are 1.88 times as fast as the median baseline device's",
    **more: object,
) -> Verdict:
    """Make the verdict on the speed mark."""
    fields = {
        "id": "e1-speedup",
        "is_claim": False,
        "word": word,
        "reason": reason,
        "qualifiers": tuple(qualifiers),
        "notes": ("preliminary", "unanchored"),
        "metric": "speedup",
        "comparator": "at_least",
        "bound": bound,
        "bound_origin": "0.70 of the ideal 2",
        "value": value,
        "unit": "x",
        "n": 1,
        "low": value,
        "high": value,
        "pool": "cpu:2",
        "details": ("1,020 samples/s against 544 on one device", "with an exchange the baseline is 1.2 % slower"),
        "lock_digest": "ab" * 32,
        "frozen_at": "2026-11-28T09:00:00Z",
        "ledger_head": "cd" * 32,
        "ledger_count": 17,
    }
    return Verdict(**(fields | more))  # type: ignore[arg-type]  # a test may put anything into any field


def claim(name: str, *, word: str = "PASS", **more: object) -> Verdict:
    """Make the verdict on one claim."""
    fields = {"id": f"e1-{name}", "is_claim": True, "word": word, "reason": "the record states it"}
    return Verdict(**(fields | more))  # type: ignore[arg-type]  # as above


def all_verdicts() -> list[Verdict]:
    """Make those of the ten tests of a rehearsal in which everything went well."""
    parity = speedup(
        id="e1-parity",
        metric="parity",
        comparator="within",
        bound=0.5,
        bound_origin="",
        value=0.2222,
        low=0.2222,
        high=0.2222,
        unit="points",
        pool="cpu:1,cpu-portable:1",
        reason="the mixed run ends 0.222 points from the mean of its controls",
    )
    verdicts = {name: claim(name) for name in CLAIMS}
    numbers = {"phases": speedup(), "quality": parity}
    return [verdict for name in CLAIMS for verdict in (verdicts[name], numbers.get(name)) if verdict is not None]


def records(**more: object) -> list[RunRecord]:
    """Make the records of a whole rehearsal; takes what `make_runs` takes."""
    return [as_record(run) for run in make_runs(**more)]  # type: ignore[arg-type]  # handed through


def report_of(verdicts: Sequence[Verdict], runs: Sequence[RunRecord] = (), evidence: Evidence | None = None) -> Report:
    """Lay out a report of E1."""
    return build_report(verdicts, runs, occasion=OCCASION, plan=e1_plan(), evidence=evidence)
