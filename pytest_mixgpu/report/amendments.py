"""From an amendment as the judge gives it, with what stood there before as JSON, to words. Judges nothing."""

import re
from typing import Final, cast

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.marks.model import PassMark, Verdict

_AMENDMENT: Final = re.compile(r"(?P<at>\S+): (?P<what>.*) \(was (?P<was>\{.*\})\)", re.DOTALL)

_UNSAID: Final = frozenset({"id", "statistic"})
"""What an amendment of a mark cannot change."""


def amended_at(text: str) -> str:
    """Give the moment of an amendment; empty where it states none."""
    found = _AMENDMENT.fullmatch(text)
    return found["at"] if found else ""


def amendment_text(text: str, verdict: Verdict) -> str:
    """Write what was there before in words: `bound was 2`. A text of another form stays as it is.

    Args:
        text: when, what, why, and what was there before.
        verdict: whose mark or claim it concerns; what it still says the same is left out, its bound excepted.
    """
    found = _AMENDMENT.fullmatch(text)
    if found is None:
        return text
    try:
        was = msgspec.json.decode(found["was"], type=dict[str, object])
    except msgspec.DecodeError:
        return text
    parts = [
        f"{name} {'were' if isinstance(value, list) else 'was'} {_words(value)}"
        for name, value in was.items()
        if _is_worth_saying(name, value, verdict)
    ]
    before = f" ({', '.join(parts)})" if parts else ""
    return f"{units.format_moment(found['at'])}: {found['what']}{before}"


def _is_worth_saying(name: str, value: object, verdict: Verdict) -> bool:
    if value in (None, "", [], {}) or name in _UNSAID:
        return False
    return name == "bound" or name not in PassMark.__struct_fields__ or getattr(verdict, name, None) != value


def _words(value: object) -> str:
    if isinstance(value, float):
        return units.format_exact(value)
    if isinstance(value, list):
        return " ".join(_words(each) for each in cast("list[object]", value))
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value).items()
        return "; ".join(f"{name} {_words(each)}" for name, each in inner if each not in (None, "", [], {}))
    text = str(value)
    # A digest is told by its first characters, here as everywhere in a sentence.
    return f"{text[:12]}…" if re.fullmatch(r"[0-9a-f]{64}", text) else text
