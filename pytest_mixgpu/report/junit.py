"""From verdicts to properties in JUnit XML, each under a name of its own: of one test, and of a whole suite.

The names are a public format: they are added to, never renamed.
"""

from collections.abc import Sequence

from pytest_mixgpu.marks.model import QUALIFIERS, Verdict, Word
from pytest_mixgpu.report.model import Report
from pytest_mixgpu.report.sanitise import clean, clean_for_log
from pytest_mixgpu.report.sentences import sentence
from pytest_mixgpu.report.verdict_rows import gravest_word, mark_row, notes_of

PREFIX = "mixgpu."
SENTENCE = ".sentence"
"""How the names of plain sentences end, one for each verdict of a test."""

_LIMIT = 100_000

_NUMERIC = frozenset(
    {"metric", "value", "comparator", "bound", "bound_origin", "unit", "low", "high", "interval", "resolvable"}
)
"""A claim has no number: properties without a value would only be noise in its report."""


def properties(verdicts: Sequence[Verdict], *, title: str = "") -> list[tuple[str, str]]:
    """Write all verdicts of one test: the gravest word and every qualifier first, then each verdict under its own id.

    No name occurs twice, since readers of JUnit XML keep one value a name. Of two verdicts on one mark the graver one
    stands.

    Args:
        verdicts: of the test.
        title: what the test asks, in words.
    """
    if not verdicts:
        return []
    by_id: dict[str, Verdict] = {}
    for verdict in verdicts:
        held = by_id.get(verdict.id)
        if held is None or gravest_word([held, verdict]) != held.word:
            by_id[verdict.id] = verdict
    rows = {
        "mixgpu.verdict": gravest_word(verdicts),
        "mixgpu.qualifiers": _qualifiers(list(by_id.values())),
    }
    for id_, verdict in by_id.items():
        told = clean_for_log(sentence(mark_row(verdict), clean(title)), limit=_LIMIT)
        values = _values(verdict) | {SENTENCE.removeprefix("."): told}
        rows |= {f"{PREFIX}{clean(id_)}.{name}": text for name, text in values.items()}
    return list(rows.items())


def suite_properties(
    report: Report, verdicts: Sequence[Verdict], *, page: str, again: str, each: bool
) -> list[tuple[str, str]]:
    """Write what holds for a whole suite: headline, seals, pool, where the page is, and what was left out.

    Args:
        report: of the suite.
        verdicts: all of them, of marks that were left out too.
        page: where the page is.
        again: the command that takes the verdicts again; empty where there is no record.
        each: whether each verdict is written here as well, where a test has no place for it.
    """
    words: tuple[Word, ...] = ("UNJUDGED", "TAMPERED")
    judged = set(report.occasion.tests)
    values = {
        "suite": report.occasion.suite,
        "session": report.occasion.session,
        "verdict": gravest_word(verdicts),
        "headline": report.headline,
        "qualifiers": _qualifiers(verdicts),
        "notes": _distinct([note for verdict in verdicts for note in notes_of(verdict)]),
        "pools": "; ".join(dict.fromkeys(verdict.pool for verdict in verdicts if verdict.pool)),
        "lock_digest": _distinct([verdict.lock_digest for verdict in verdicts]),
        "ledger_head": _last(verdicts).ledger_head if verdicts else "",
        "ledger_count": str(max((verdict.ledger_count for verdict in verdicts), default=0)),
        "left_out": " ".join(one.id for one in verdicts if one.word in words and clean(one.id) not in judged),
        "page": page,
        "again": again,
    }
    under = f"{PREFIX}{clean(report.occasion.suite)}."
    rows = {f"{under}{name}": clean_for_log(text, limit=_LIMIT) for name, text in values.items()}
    for verdict in verdicts if each else ():
        rows |= {f"{under}{clean(verdict.id)}.{name}": text for name, text in _values(verdict).items()}
    return list(rows.items())


def _qualifiers(verdicts: Sequence[Verdict]) -> str:
    found = {qualifier for verdict in verdicts for qualifier in verdict.qualifiers}
    return " ".join(qualifier for qualifier in QUALIFIERS if qualifier in found)


def _last(verdicts: Sequence[Verdict]) -> Verdict:
    """Return the verdict that saw most of the ledger: its head is the head after all runs."""
    return max(verdicts, key=lambda verdict: verdict.ledger_count)


def _distinct(texts: Sequence[str]) -> str:
    return " ".join(dict.fromkeys(text for text in texts if text))


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
        name: clean_for_log(text, limit=_LIMIT)
        for name, text in values.items()
        if not (verdict.is_claim and name in _NUMERIC)
    }


def _number(value: float | None) -> str:
    return "" if value is None else repr(float(value))
