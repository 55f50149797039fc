"""From an amendment as the judge gives it, with what stood there before as JSON, to words. Judges nothing."""

import re
from typing import Final, cast

import msgspec

from pytest_mixgpu import units
from pytest_mixgpu.marks.lock_file import BINDINGS
from pytest_mixgpu.marks.model import PassMark, Verdict

_AMENDMENT: Final = re.compile(r"(?P<at>\S+): (?P<what>.*) \(was (?P<was>\{.*\})\)", re.DOTALL)

_WHOLE: Final = frozenset({"id", "metric", "comparator", "bound", "unit"})
"""Fields of a mark that is kept whole, since it was withdrawn; an amended one keeps the fields that changed."""
_UNSAID: Final = frozenset({"id", "statistic"})
"""What an amendment of a mark cannot change."""
_BOUND: Final = frozenset({*BINDINGS, "planned"})
_MAX_DEPTH: Final = 10
"""Nothing that a lock holds is nested deeper."""
_EMPTY: Final[tuple[object, ...]] = (None, "", [], {})


def amended_at(text: str) -> str:
    """Give the moment of an amendment; empty where it states none."""
    found = _match(text)
    return found["at"] if found else ""


def amendment_text(text: str, verdict: Verdict) -> str:
    """Write what was there before in words: `bound was 2`. A text of another form stays as it is.

    Args:
        text: when, what, why, and what was there before.
        verdict: whose mark or claim it concerns; what it still says the same is left out, its bound excepted.
    """
    found = _match(text)
    if found is None:
        return text
    try:
        was = msgspec.json.decode(found["was"], type=dict[str, object])
    except (msgspec.DecodeError, RecursionError, UnicodeEncodeError):
        return text
    is_whole = was.keys() >= _WHOLE
    parts = [
        f"{name} {'were' if isinstance(value, list) else 'was'} {_words(value)}"
        for name, value in was.items()
        if (_is_worth_saying(name, value, verdict) if is_whole else name not in _UNSAID and not _is_none(name, value))
    ]
    before = f" ({', '.join(parts)})" if parts else ""
    return f"{units.format_moment(found['at'])}: {found['what']}{before}"


def _match(text: str) -> re.Match[str] | None:
    # A text that ends otherwise is not searched: there are some in which the search would take hours.
    return _AMENDMENT.fullmatch(text) if text.endswith("})") else None


def _is_none(name: str, value: object) -> bool:
    """Whether nothing was bound: of a single field, that it was empty is what there is to say."""
    return name in _BOUND and value in _EMPTY


def _is_worth_saying(name: str, value: object, verdict: Verdict) -> bool:
    if value in _EMPTY or name in _UNSAID:
        return False
    return name == "bound" or name not in PassMark.__struct_fields__ or getattr(verdict, name, None) != value


def _words(value: object, *, depth: int = 0) -> str:
    if value in _EMPTY:
        return "not there" if value is None else "empty"
    if depth > _MAX_DEPTH:
        return "…"
    if isinstance(value, float):
        return units.format_exact(value)
    if isinstance(value, list):
        return " ".join(_words(each, depth=depth + 1) for each in cast("list[object]", value))
    if isinstance(value, dict):
        inner = cast("dict[str, object]", value).items()
        return "; ".join(f"{name} {_words(each, depth=depth + 1)}" for name, each in inner if each not in _EMPTY)
    text = str(value)
    # A digest is told by its first characters, here as everywhere in a sentence.
    return f"{text[:12]}…" if re.fullmatch(r"[0-9a-f]{64}", text) else text
