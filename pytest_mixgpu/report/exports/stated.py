"""From verdicts to what every format for programs states of them, under the names that `verdicts.json` uses."""

from collections.abc import Sequence

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.exports.jsontext import finite


def stated_verdicts(verdicts: Sequence[Verdict]) -> list[dict[str, object]]:
    """Write all of them, in their order."""
    return [stated(verdict) for verdict in verdicts]


def stated(verdict: Verdict) -> dict[str, object]:
    """Write one verdict with everything that belongs to its word: a PASS never stands without its qualifiers.

    A claim has no number, so that nothing is said of value and bound. A number that is not finite is None.
    """
    fields: dict[str, object] = {
        "id": verdict.id,
        "is_claim": verdict.is_claim,
        "word": verdict.word,
        "qualifiers": verdict.qualifiers,
        "notes": verdict.notes,
        "reason": verdict.reason,
    }
    if not verdict.is_claim:
        fields |= _number(verdict)
    optional = {
        "details": verdict.details,
        "follows_from": verdict.follows_from,
        "remedy": verdict.remedy,
        "run_ids": verdict.run_ids,
        "frozen_at": verdict.frozen_at,
        "amendments": verdict.amendments,
        "witness": verdict.witness,
    }
    return fields | {name: value for name, value in optional.items() if value}


def _number(verdict: Verdict) -> dict[str, object]:
    interval = verdict.interval
    return {
        "metric": verdict.metric,
        "value": finite(verdict.value),
        "comparator": verdict.comparator,
        "bound": finite(verdict.bound),
        "bound_origin": verdict.bound_origin,
        "unit": verdict.unit,
        "n": verdict.n,
        "low": finite(verdict.low),
        "high": finite(verdict.high),
        "run_values": [finite(value) for value in verdict.run_values],
        "interval": None if interval is None else [finite(end) for end in interval],
        "interval_method": verdict.interval_method,
        "resolvable": finite(verdict.resolvable),
        "pool": verdict.pool,
    }
