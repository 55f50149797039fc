r"""From a text of unknown origin to GitHub-flavoured Markdown in which nothing of it takes effect.

A renderer is not the only reader: GitHub looks through the rendered text for mentions, issues, commits and addresses,
so that escapes and entities do not help against them. It leaves code spans alone, and so does every renderer. Words
that are harmless by themselves and together are written as they are; all others become code spans. What could end a
code span, or a table's cell, is written visibly in it: a backtick as `\x60`, a pipe as `\x7c`.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final

from pytest_mixgpu.report.sanitise import clean

_HARMLESS: Final = re.compile(r"""(?:[^\x00-\x7f]|[A-Za-z0-9,.;:()'"?!/%=+-])+""")
"""Characters that mark nothing up by themselves."""

_ACTIVE: Final = re.compile(
    r"""
    [^\W\d]\.\w | \w\.[^\W\d]   # an address without its scheme: example.org
    | :\w[\w+-]*:                # an emoji by name
    | \w:/ | :// | ^\W*www       # an address
    | \b[A-Z]{2,}-\d             # GH-12 and its like
    | \b[0-9a-f]{7,}\b           # a commit
    | \b(?:mailto|xmpp|javascript|data|file|vbscript|ftp):\S
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""Words of harmless characters that a renderer, or GitHub after it, makes something of."""

_OPENING: Final = re.compile(r"(?!\d+[.)]$)[^\W_]")
"""A first word that begins no list, heading, quote, rule or fence."""


def inert(text: str) -> str:
    """Write one text on one line; nothing of it is markup, link, image, mention, reference or the end of a cell."""
    words = clean(text).split()
    groups = groupby(enumerate(words), key=lambda placed: _is_plain(placed[1], is_first=not placed[0]))
    return " ".join(
        phrase if is_plain else code(phrase)
        for is_plain, group in groups
        for phrase in [" ".join(word for _, word in group)]
    )


def _is_plain(word: str, *, is_first: bool) -> bool:
    return bool(_HARMLESS.fullmatch(word) and not _ACTIVE.search(word) and (not is_first or _OPENING.match(word)))


def code(text: str) -> str:
    """Write one text as a code span; an empty one as nothing."""
    shown = clean(text).strip().replace("`", "\\x60").replace("|", "\\x7c")
    return f"`{shown}`" if shown else ""


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> Iterator[str]:
    """Write a table, line by line.

    Args:
        head: of our own words.
        rows: of cells that are Markdown already.
    """
    yield _row(head)
    yield _row(["---"] * len(head))
    yield from (_row(cells) for cells in rows)


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
