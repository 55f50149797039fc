"""From a comparison to lines for a terminal. Knows no terminal: each line comes with a tone. Our words are ASCII."""

from collections.abc import Iterator

from pytest_mixgpu.report.comparison.model import ComparedRow, Comparison, SideRow
from pytest_mixgpu.report.model import MarkRow, Tone
from pytest_mixgpu.report.sentences import asked, qualified
from pytest_mixgpu.report.terminal import Line, wrapped


def comparison_lines(comparison: Comparison, *, width: int = 80, page: str = "") -> list[Line]:
    """Write two sessions side by side, mark by mark, then what differs around them.

    Args:
        comparison: of the two.
        width: of the terminal, in characters.
        page: where the page is.
    """
    lines = list(_told(f"{comparison.suite}: {comparison.headline}", width))
    for side in comparison.sides:
        lines += _side_lines(side, width)
    for row in comparison.marks:
        if not row.is_claim:
            lines += _mark_lines(row, width)
    lines += _claim_lines(comparison, width)
    if comparison.facts:
        lines += _told("what differs around them:", width)
    for fact in comparison.facts:
        lines += _told(f"{fact.name}: {fact.a} | {fact.b}", width, "  ")
    lines += _told(f"alike on both sides: {comparison.num_alike} further facts", width)
    for text in comparison.limits:
        lines += _told(text, width)
    return [*lines, *(_told(f"page: {page}", width) if page else ())]


def _told(text: str, width: int, indent: str = "", tone: Tone = "plain") -> Iterator[Line]:
    for line in wrapped(text, max(20, width - len(indent))):
        yield Line(text=f"{indent}{line}", tone=tone)


def _side_lines(side: SideRow, width: int) -> Iterator[Line]:
    yield from _told(f"{side.name}: {side.place}: {side.headline}; {side.pools}; {side.made_at}", width, tone=side.tone)
    for note in side.notes:
        yield from _told(note, width, "   ", "caution")


def _mark_lines(row: ComparedRow, width: int) -> Iterator[Line]:
    yield from _told(row.id, width)
    for name, one in (("A", row.a), ("B", row.b)):
        yield from _told(f"{name}  {_value(one)}", width, "  ", "plain" if one is None else one.tone)
    for text in (row.difference, row.certainty):
        if text:
            yield from _told(text, width, "     ", row.tone)


def _value(row: MarkRow | None) -> str:
    if row is None:
        return "says nothing of it"
    parts = [f"{row.value}, {asked(row)} was asked" if row.bound else row.value, f"n={row.n}" if row.n else ""]
    return "  ".join(part for part in (qualified(row.word, row), *parts, ", ".join(row.notes)) if part)


def _claim_lines(comparison: Comparison, width: int) -> Iterator[Line]:
    """Name each claim whose word differs, and count the others."""
    claims = [row for row in comparison.marks if row.is_claim]
    words = [tuple("nothing" if one is None else one.word for one in (row.a, row.b)) for row in claims]
    for row, (here, there) in zip(claims, words, strict=True):
        if here != there:
            yield from _told(f"{row.id}: A says {here}, B says {there}", width, tone="bad")
    alike = [here for here, there in words if here == there]
    for word in dict.fromkeys(alike):
        count = alike.count(word)
        yield from _told(f"{count} {'claim is' if count == 1 else 'claims are'} {word} on both sides", width)
