"""From the verdicts of a test to its properties in JUnit XML, each under a name of its own.

The names are a public format: they are added to, never renamed.
"""

from collections.abc import Sequence

from pytest_mixgpu.marks.model import QUALIFIERS, Verdict
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.verdict_rows import gravest_word, notes_of

_LIMIT = 100_000

_NUMERIC = frozenset(
    {"metric", "value", "comparator", "bound", "bound_origin", "unit", "low", "high", "interval", "resolvable"}
)
"""A claim has no number: properties without a value would only be noise in its report."""


def properties(verdicts: Sequence[Verdict]) -> list[tuple[str, str]]:
    """Write all verdicts of one test: the gravest word and every qualifier first, then each verdict under its own id.

    No name occurs twice, since readers of JUnit XML keep one value a name. Of two verdicts on one mark the graver one
    stands.
    """
    if not verdicts:
        return []
    by_id: dict[str, Verdict] = {}
    for verdict in verdicts:
        held = by_id.get(verdict.id)
        if held is None or gravest_word([held, verdict]) != held.word:
            by_id[verdict.id] = verdict
    found = {qualifier for verdict in by_id.values() for qualifier in verdict.qualifiers}
    rows = {
        "mixgpu.verdict": gravest_word(verdicts),
        "mixgpu.qualifiers": " ".join(qualifier for qualifier in QUALIFIERS if qualifier in found),
    }
    for id_, verdict in by_id.items():
        rows |= {f"mixgpu.{clean(id_)}.{name}": text for name, text in _values(verdict).items()}
    return list(rows.items())


def _values(verdict: Verdict) -> dict[str, str]:
    """Write numbers in full precision and leave absent values empty."""
    interval = verdict.interval
    values = {
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
        "resolvable": _number(verdict.resolvable),
        "qualifiers": " ".join(verdict.qualifiers),
        "notes": " ".join(notes_of(verdict)),
        "pool": verdict.pool,
        "run_ids": " ".join(verdict.run_ids),
        "follows_from": verdict.follows_from,
        "lock_digest": verdict.lock_digest,
        "frozen_at": verdict.frozen_at,
        "witness": "; ".join(verdict.witness),
        "ledger_head": verdict.ledger_head,
        "ledger_count": str(verdict.ledger_count),
    }
    return {
        name: clean(text, limit=_LIMIT) for name, text in values.items() if not (verdict.is_claim and name in _NUMERIC)
    }


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))
