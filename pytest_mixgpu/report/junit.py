"""From a verdict to properties of its test in JUnit XML. Append them to the item's `user_properties`.

The names are a public format: they are added to, never renamed.
"""

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.sanitise import clean


def properties(verdict: Verdict) -> list[tuple[str, str]]:
    """Write a verdict as names and strings, numbers in full precision, absent values left empty.

    A test that judges several marks has the list once for each; `mixgpu.id` opens it.
    """
    interval = verdict.interval
    values = {
        "id": verdict.id,
        "verdict": verdict.word,
        "reason": verdict.reason,
        "metric": verdict.metric,
        "value": _number(verdict.value),
        "comparator": verdict.comparator or "",
        "bound": _number(verdict.bound),
        "bound_origin": verdict.bound_origin,
        "unit": verdict.unit,
        "n": str(verdict.n),
        "low": _number(verdict.low),
        "high": _number(verdict.high),
        "interval": "" if interval is None else f"{interval[0]!r} {interval[1]!r}",
        "qualifiers": " ".join(verdict.qualifiers),
        "notes": " ".join(verdict.notes),
        "pool": verdict.pool,
        "run_ids": " ".join(verdict.run_ids),
        "follows_from": verdict.follows_from,
        "lock_digest": verdict.lock_digest,
        "frozen_at": verdict.frozen_at,
        "ledger_head": verdict.ledger_head,
        "ledger_count": str(verdict.ledger_count),
    }
    # A claim has no number: properties without a value would only be noise in its report.
    numeric = {"metric", "value", "comparator", "bound", "bound_origin", "unit", "low", "high", "interval"}
    return [
        (f"mixgpu.{name}", clean(text, limit=100_000))
        for name, text in values.items()
        if not (verdict.is_claim and name in numeric)
    ]


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))
