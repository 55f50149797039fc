"""From rows to plain sentences: what was asked, what was found, and whether that was met. One sentence a mark.

Our own words are ASCII here, since a CI log may be. Judges nothing.
"""

from collections.abc import Iterator, Sequence

from pytest_mixgpu.marks.model import Word
from pytest_mixgpu.report.model import Item, MarkRow

PLAIN: dict[Word, str] = {
    "PASS": "MET",
    "FAIL": "NOT MET",
    "VOID": "VOID",
    "TAMPERED": "TAMPERED",
    "UNJUDGED": "NOT JUDGED",
}
"""What a verdict comes to, for who does not know its word."""

_ASKED = {">=": "at least", "<=": "at most", "within": "within"}


def qualified(word: str, row: MarkRow) -> str:
    """Write a word with the qualifiers of a verdict: a pass with one never stands without it."""
    return f"{word} ({', '.join(row.qualifiers)})" if row.qualifiers else word


def asked(row: MarkRow) -> str:
    """Write a bound in words: `at least 1.4 x`; empty where none applied."""
    comparator, _, bound = row.bound.partition(" ")
    return f"{_ASKED[comparator]} {bound}" if bound and comparator in _ASKED else row.bound


def found_and_asked(row: MarkRow) -> str:
    """Write what was found beside what was asked: `0.91 x, at least 1 x was asked`. Empty for a claim."""
    if row.is_claim:
        return ""
    value = f"{row.value} was found and must not be used" if row.word == "VOID" and row.n else row.value
    return ", ".join(part for part in (value, f"{asked(row)} was asked" if row.bound else "") if part)


def sentence(row: MarkRow, title: str = "") -> str:
    """Say in one sentence what was asked, what was found, and whether that was met.

    Args:
        row: of the mark.
        title: what it asks, in words; without one its id stands for it.
    """
    reason = "" if row.word in {"PASS", "FAIL"} and not row.is_claim else row.reason
    facts = [title.rstrip(". ") or row.id, found_and_asked(row), "" if row.word == "PASS" else reason]
    tail = ", ".join([*([row.id] if title else []), *row.notes])
    text = ": ".join([qualified(PLAIN[row.word], row), *(fact for fact in facts if fact)])
    return f"{text} ({tail})" if tail else text


def claims_sentence(rows: Sequence[MarkRow], *, with_ids: bool) -> str:
    """Say of claims that hold how many they are, what is noted of any, and which they are."""
    which = "1 claim about the record holds" if len(rows) == 1 else f"{len(rows)} claims about the record hold"
    tail = [*(row.id for row in rows if with_ids), *dict.fromkeys(note for row in rows for note in row.notes)]
    return f"MET: {which}" + (f" ({', '.join(tail)})" if tail else "")


def in_sentences(items: Sequence[Item]) -> tuple[list[tuple[MarkRow, str]], list[MarkRow]]:
    """Part marks that want a sentence of their own, what was not met first, from claims that plainly hold."""
    alone: list[tuple[MarkRow, str]] = []
    together: list[MarkRow] = []
    for row, title in _rows(items):
        if row.is_claim and row.tone == "good":
            together.append(row)
        else:
            alone.append((row, title))
    return sorted(alone, key=lambda pair: pair[0].word == "PASS"), together


def _rows(items: Sequence[Item]) -> Iterator[tuple[MarkRow, str]]:
    for item in items:
        yield from ((row, item.title) for row in item.marks)
