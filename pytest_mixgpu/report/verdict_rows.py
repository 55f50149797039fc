"""From verdicts to rows: value beside bound, spread, qualifiers, and what pytest counts each as. Judges nothing."""

import math
from collections.abc import Mapping, Sequence

from pytest_mixgpu import units
from pytest_mixgpu.marks.lock_file import Lock
from pytest_mixgpu.marks.model import Comparator, Note, Qualifier, Verdict, Word
from pytest_mixgpu.marks.official import official_refusal
from pytest_mixgpu.report.amendments import amended_at, amendment_text
from pytest_mixgpu.report.model import Item, MarkRow, Pair, Tone
from pytest_mixgpu.report.page_sections import places_of
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.words import answer_of, answer_of_item

COMPARATORS: Mapping[Comparator, str] = {"at_least": ">=", "at_most": "<=", "within": "within"}
STATUSES: Mapping[Qualifier, str] = {"emulated": "emulated", "rehearsal": "rehearsed", "exploratory": "exploratory"}
"""What pytest counts a PASS with this qualifier as, strongest first."""
WORDS: tuple[Word, ...] = ("TAMPERED", "VOID", "FAIL", "UNJUDGED", "PASS")
"""Gravest first."""
KEPT_ELSEWHERE = ("Lock digest", "Ledger head", "Ledger entries")
"""Names of the seals that a copy which is kept elsewhere is compared with."""


def gravest_word(verdicts: Sequence[Verdict]) -> Word:
    """Say the gravest word of several verdicts; of none, that nothing was judged."""
    found = {verdict.word for verdict in verdicts}
    return next((word for word in WORDS if word in found), "UNJUDGED")


def notes_of(verdict: Verdict) -> tuple[Note, ...]:
    """Give the notes that belong to a number: without a run there is none that could be preliminary."""
    return tuple(note for note in verdict.notes if verdict.n or note != "preliminary")


def status_of(verdict: Verdict) -> str:
    """Say what a verdict counts as: `passed`, `failed`, or the status of a pass's strongest qualifier."""
    if not verdict.passed:
        return "failed"
    return next((status for qualifier, status in STATUSES.items() if qualifier in verdict.qualifiers), "passed")


def tone_of(verdict: Verdict) -> Tone:
    """Say how a verdict is to be shown: only a plain pass is good."""
    if not verdict.passed:
        return "bad"
    return "good" if status_of(verdict) == "passed" else "caution"


def value_and_bound(verdict: Verdict) -> tuple[str, str]:
    """Write value and bound side by side, each with its unit; empty where there is none."""
    unit = clean(verdict.unit)
    comparator = COMPARATORS[verdict.comparator] if verdict.comparator else ""
    if verdict.bound is None:
        return "" if verdict.is_claim else units.format_quantity(verdict.value, unit), ""
    if verdict.value is None:
        # Not "not measured": a value that does not count may well have been.
        return "no value", f"{comparator} {units.format_exact(verdict.bound)} {unit}".strip()
    value, bound = units.format_quantity_beside(verdict.value, verdict.bound, unit)
    return value, f"{comparator} {bound}".strip()


def spread_of(verdict: Verdict) -> str:
    """Say how far the runs lie apart; empty for one run, whose number says that it is one."""
    if verdict.n < 2 or verdict.low is None or verdict.high is None:
        return ""
    return f"{units.format_number(verdict.low)} to {units.format_number(verdict.high)}"


def interval_of(verdict: Verdict) -> str:
    """Write the interval and how it was made."""
    if verdict.interval is None:
        return ""
    low, high = (units.format_number(end) for end in verdict.interval)
    method = f" ({clean(verdict.interval_method)})" if verdict.interval_method else ""
    return f"{low} to {high}{method}"


def resolvable_of(verdict: Verdict) -> str:
    """Write the smallest difference that the runs could have shown; empty for one run, which shows none."""
    return (
        "" if verdict.resolvable is None else f"{units.format_number(verdict.resolvable)} {clean(verdict.unit)}".strip()
    )


def margin_of(verdict: Verdict) -> str:
    """Say how far a value lies from its bound, and so what would change the word; empty where there is no number."""
    value, bound = verdict.value, verdict.bound
    if value is None or bound is None or not math.isfinite(value) or verdict.word not in {"PASS", "FAIL"}:
        return ""
    unit = clean(verdict.unit)
    # A distance counts whichever way it points.
    away = abs(bound - (abs(value) if verdict.comparator == "within" else value))
    edge = units.format_quantity_beside(value, bound, unit)[1]
    side = "below" if verdict.comparator == "at_least" else "above"
    if verdict.passed:
        return f"It would no longer be met {side} {edge}, {units.format_quantity(away, unit)} from here."
    return f"It would be met at {edge}, {units.format_quantity(away, unit)} from here."


def mark_row(verdict: Verdict, lock: Lock | None = None) -> MarkRow:
    """Lay out one verdict, with every text neutralised.

    Args:
        verdict: of a mark or claim.
        lock: says on which checks a claim stands, and so where its evidence is.
    """
    value, bound = value_and_bound(verdict)
    return MarkRow(
        id=clean(verdict.id),
        is_claim=verdict.is_claim,
        word=verdict.word,
        status=status_of(verdict),
        tone=tone_of(verdict),
        value=value,
        bound=bound,
        bound_origin=clean(verdict.bound_origin),
        metric=clean(verdict.metric),
        n=verdict.n,
        spread=spread_of(verdict),
        interval=interval_of(verdict),
        resolvable=resolvable_of(verdict),
        qualifiers=tuple(verdict.qualifiers),
        notes=notes_of(verdict),
        reason=clean(verdict.reason),
        details=tuple(clean(sentence) for sentence in verdict.details),
        follows_from=clean(verdict.follows_from),
        remedy=clean(verdict.remedy),
        pool=clean(verdict.pool),
        run_ids=tuple(clean(run_id) for run_id in verdict.run_ids),
        amendments=tuple(clean(amendment_text(text, verdict)) for text in verdict.amendments),
        witness=tuple(clean(sentence) for sentence in verdict.witness),
        answer=answer_of(verdict),
        frozen=clean(units.format_moment(verdict.frozen_at)),
        margin=margin_of(verdict),
        refusal=official_refusal(verdict) if verdict.passed else "",
        places=places_of(verdict, lock),
    )


def in_order(verdicts: Sequence[Verdict], order: Sequence[str]) -> tuple[Verdict, ...]:
    """Sort by the checklist; what it does not name follows as it came."""
    places = {id_: place for place, id_ in enumerate(order)}
    return tuple(sorted(verdicts, key=lambda verdict: places.get(verdict.id, len(places))))


def by_test(verdicts: Sequence[Verdict], tests: Mapping[str, str]) -> list[tuple[Verdict, ...]]:
    """Put the verdicts of one test together; one whose test is not known stands alone."""
    groups: dict[tuple[str, str], list[Verdict]] = {}
    for verdict in verdicts:
        key = ("test", tests[verdict.id]) if verdict.id in tests else ("id", verdict.id)
        groups.setdefault(key, []).append(verdict)
    return [tuple(group) for group in groups.values()]


def status_of_test(verdicts: Sequence[Verdict]) -> str:
    """Say what a test counts as: one failure fails it, and the strongest qualifier of any names its pass."""
    found = {status_of(verdict) for verdict in verdicts}
    return next(status for status in ("failed", *STATUSES.values(), "passed") if status in found)


def headline_of(verdicts: Sequence[Verdict], tests: Mapping[str, str]) -> tuple[str, Tone]:
    """Count the tests as pytest does, failures first and by their words."""
    if not verdicts:
        return "nothing was judged", "bad"
    statuses = [status_of_test(group) for group in by_test(verdicts, tests)]
    words = [word for word in WORDS if word != "PASS" and any(verdict.word == word for verdict in verdicts)]
    parts = []
    for status in ("failed", "passed", *STATUSES.values()):
        count = statuses.count(status)
        if count:
            parts.append(f"{count} {status}" + (f" ({', '.join(words)})" if status == "failed" else ""))
    return ", ".join(parts), worst_tone(verdicts)


def worst_tone(verdicts: Sequence[Verdict]) -> Tone:
    """Say how several verdicts are shown together: as the worst of them."""
    tones = {tone_of(verdict) for verdict in verdicts}
    return "bad" if "bad" in tones else "caution" if "caution" in tones else "good"


def items_of(
    verdicts: Sequence[Verdict], *, titles: Mapping[str, str], tests: Mapping[str, str], lock: Lock | None = None
) -> tuple[Item, ...]:
    """Lay out the checklist: one numbered item a test."""
    return tuple(
        Item(
            number=number,
            title=next((clean(titles[verdict.id]) for verdict in group if titles.get(verdict.id)), ""),
            status=status_of_test(group),
            tone=worst_tone(group),
            answer=answer_of_item(group),
            marks=tuple(mark_row(verdict, lock) for verdict in group),
        )
        for number, group in enumerate(by_test(verdicts, tests), start=1)
    )


def seals_of(verdicts: Sequence[Verdict]) -> tuple[Pair, ...]:
    """Collect what can be compared with a copy that is kept elsewhere. Verdicts that disagree are all shown."""

    def distinct(texts: Sequence[str]) -> str:
        return ", ".join(sorted({clean(text) for text in texts if text})) or units.NOT_STATED

    counts = [verdict.ledger_count for verdict in verdicts]
    return (
        Pair(name="Lock digest", text=distinct([verdict.lock_digest for verdict in verdicts])),
        Pair(name="Frozen at", text=_frozen_at(verdicts) or units.NOT_STATED),
        Pair(name="Ledger head", text=distinct([verdict.ledger_head for verdict in verdicts])),
        Pair(name="Ledger entries", text=units.format_count(max(counts, default=0))),
        Pair(
            name="Amendments",
            text=distinct(
                [amendment_text(text, verdict) for verdict in verdicts for text in verdict.amendments]
            ).replace(units.NOT_STATED, "none"),
        ),
    )


def _frozen_at(verdicts: Sequence[Verdict]) -> str:
    """Give the day of the freeze, and beside it those of amendments: what was frozen then is not what holds now.

    Marks and claims that share all these days are named only where others do not.
    """
    ids: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for verdict in verdicts:
        if verdict.frozen_at:
            amended = [moment for text in verdict.amendments if (moment := amended_at(text))]
            ids.setdefault((verdict.frozen_at, tuple(dict.fromkeys(amended))), []).append(verdict.id)
    parts = []
    for (since, amended_then), names in sorted(ids.items()):
        days = f", amended {', '.join(map(units.format_moment, amended_then))}" if amended_then else ""
        whose = f" ({', '.join(names)})" if len(ids) > 1 else ""
        parts.append(f"{units.format_moment(since)}{days}{whose}")
    return clean("; ".join(parts))
