r"""From plain values to JSON that can be printed, pasted and searched without acting on anybody.

All of it is ASCII. What a page, a terminal, a CI log or a reader of `:::MLLOG` lines could take for a command is
written with JSON's own escapes (`<` as `\u003c`), so that whoever parses the file gets the text as it was. Two things
do change: lone surrogates, which no UTF-8 has, are written visibly, and a text beyond `MAX_CHARACTERS` is cut and says
so.
"""

import json
import math
import re
from typing import Final, cast

from pytest_mixgpu.report.sanitise import without_surrogates

MAX_CHARACTERS: Final = 20_000
"""Of one text."""

_ACTIVE: Final = re.compile(r"[<>&]|::|##")
"""Markup, and the marks by which GitHub, Azure, TeamCity and MLLOG tell their own lines."""


def inert_json(value: object, *, indent: int | None = None) -> str:
    """Write a value as JSON.

    Args:
        value: of dicts, lists, tuples, texts, numbers, booleans and None, not deeper than some hundred levels. A number
            that is not finite is written as null, since JSON has none.
        indent: of nested lines; None writes one line.
    """
    return _ACTIVE.sub(_escaped, json.dumps(_plain(value), indent=indent, ensure_ascii=True, allow_nan=False))


def inert_text(text: str) -> str:
    """Make a text that UTF-8 can hold and that is not too long to read."""
    cut = without_surrogates(text[:MAX_CHARACTERS])
    left_out = len(text) - MAX_CHARACTERS
    return f"{cut} [{left_out:,} characters left out]" if left_out > 0 else cut


def finite(value: float | None) -> float | None:
    """Give a number that JSON has, or None."""
    return value if value is not None and math.isfinite(value) else None


def _plain(value: object) -> object:
    if isinstance(value, str):
        return inert_text(value)
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, dict):
        items = cast("dict[object, object]", value).items()
        return {inert_text(str(key)): _plain(inner) for key, inner in items}
    if isinstance(value, (list, tuple)):
        return [_plain(inner) for inner in cast("list[object]", value)]
    return value


def _escaped(found: re.Match[str]) -> str:
    # None of these stands outside of a string in JSON, and none is part of an escape.
    return "".join(f"\\u{ord(character):04x}" for character in found[0])
