r"""Text from outside (device names, log lines, environment) goes in, text that cannot act on its reader comes out.

Whatever a terminal, an XML parser or a page could take for a command is written visibly instead: ESC as `\x1b`, an
override of the writing direction as `\u202e`. Standard library only.
"""

import re
import unicodedata
from typing import Final

MAX_CHARACTERS: Final = 2000
"""A text that is longer is cut, and says so."""

_HIDDEN_CATEGORIES: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Controls, format characters (bidi, zero width, tags), surrogates, private use, unassigned, line separators."""

_SURROGATES: Final = re.compile(r"[\ud800-\udfff]")
_ESCAPES: Final = {"\n": "\\n", "\r": "\\r", "\t": "\\t"}

_MARKS: Final = r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff]"
_STACKED_MARKS: Final = re.compile(f"({_MARKS}{{3}}){_MARKS}+")
"""A pile of combining marks paints over neighbouring lines; up to three are ordinary writing."""

_BRACKET_COMMAND: Final = re.compile(r"##(?=\w*\[)")
"""How Azure (`##vso[`), TeamCity (`##teamcity[`) and older GitHub runners (`##[`) take orders from a log."""

_COLON_COMMAND: Final = re.compile(r"^(\s*)::")
"""How GitHub runners take orders from a line, leading space allowed."""

_ATTACHMENT: Final = re.compile(r"\[\[(?=ATTACHMENT\|)", re.IGNORECASE)
"""How Jenkins and GitLab are told in a test's output to publish a file: `[[ATTACHMENT|path]]`."""


def clean(text: str, *, limit: int = MAX_CHARACTERS) -> str:
    """Make one line of visible characters of it.

    Args:
        text: anything, lone surrogates included.
        limit: characters kept.
    """
    cut = text[:limit]
    shown = _STACKED_MARKS.sub(r"\1", "".join(_visible(character) for character in cut))
    left_out = len(text) - len(cut)
    return f"{shown} [{left_out:,} characters left out]" if left_out else shown


def clean_for_log(line: str, *, limit: int = MAX_CHARACTERS) -> str:
    """Clean a line of terminal output, which may be the log of a CI service that takes orders from its lines."""
    safe = _ATTACHMENT.sub("[ [", _BRACKET_COMMAND.sub("# #", clean(line, limit=limit)))
    return _COLON_COMMAND.sub(r"\1| ::", safe)


def without_surrogates(text: str) -> str:
    """Write lone surrogates visibly: UTF-8 has none, and file names can bring some."""
    return _SURROGATES.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _visible(character: str) -> str:
    if character.isascii():
        return character if character.isprintable() else _ESCAPES.get(character, f"\\x{ord(character):02x}")
    if unicodedata.category(character) not in _HIDDEN_CATEGORIES:
        return character
    code = ord(character)
    return f"\\u{code:04x}" if code <= 0xFFFF else f"\\U{code:08x}"
