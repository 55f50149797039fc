"""From a line of a record to one line of JSON and back, strictly. Imports no torch.

What this module cannot read back it does not write: unknown fields, wrong types, numbers that are not finite or larger
than anything that is measured, and keys that occur twice are refused, each with file, line and field.
"""

import json
import re
from typing import TYPE_CHECKING, Final, cast

import msgspec

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.model import SCHEMA_VERSION, Line

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_LINE_DECODER: msgspec.json.Decoder[Line] = msgspec.json.Decoder(Line)
# Versions 2 and 3 only added fields that may be missing, so one decoder reads all.
_DECODERS = dict.fromkeys(range(1, SCHEMA_VERSION + 1), _LINE_DECODER)
"""One loader for each version of the schema that this version of the plugin reads."""

LARGEST: Final = 1e39
"""No number of a record is larger, so that sums, squares and nanoseconds of such numbers can be computed. A loss in
float32 goes up to 3.4e38 before it is not finite, and a random number of 128 bits as far."""

_SHAPE: Final = bytes.maketrans(b"123456789E", b"000000000e")
_LARGE_NUMBER: Final = re.compile(rb"(?<=[:,\[\s])-?(?:\d[\d.]*[eE]\+?\d\d|\d{38})")
"""What stands in a line that holds such a number; some texts can look so, too."""


class _Peek(msgspec.Struct, frozen=True):
    """Just enough of a line to know which loader reads it."""

    line: str = ""
    schema: int | None = None


_PEEK_DECODER = msgspec.json.Decoder(_Peek)


def encode(line: Line) -> bytes:
    """Return the line as JSON, without an end-of-line.

    Raises:
        RecordError: the line holds a wrong type or a number that is not finite, so that nobody could read it back.
    """
    where = f"a `{type(line).__name__}` that was about to be written"
    field = first_not_finite(msgspec.to_builtins(line))
    if field is not None:
        raise RecordError(f"{where}: found a number that is not finite at `{field}`, expected None or a number")
    try:
        raw = msgspec.json.encode(line)
    except (UnicodeEncodeError, TypeError, OverflowError) as error:
        raise RecordError(f"{where}: found something that JSON cannot hold: {error}") from error
    decode(raw, where=where)
    return raw


def decode(raw: bytes, *, where: str = "a record's line", schema: int = SCHEMA_VERSION) -> Line:
    """Read one line.

    Args:
        raw: the line's bytes, without an end-of-line.
        where: file and line number, for the error.
        schema: the version that the record's header states; the header itself says its own.

    Raises:
        RecordError: the line does not follow the schema; says where and at which field.
    """
    try:
        peek = _PEEK_DECODER.decode(raw)
        if peek.line == "header" and peek.schema is not None:
            schema = peek.schema
        if schema not in _DECODERS:
            readable = ", ".join(str(version) for version in _DECODERS)
            raise RecordError(
                f"{where}: found schema {schema}, expected {readable}; "
                "read it with the version of pytest-mixgpu that wrote it"
            )
        line = _DECODERS[schema].decode(raw)
        # A line that would be written just so names no key twice; reading it once more takes five times as long.
        if msgspec.json.encode(line) != raw:
            json.loads(raw, object_pairs_hook=_refuse_duplicates)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{where}: {error}") from error
    except _DuplicateKeyError as error:
        raise RecordError(f"{where}: found the key {error.args[0]!r} twice in one object, expected it once") from error
    if _may_hold_a_large_number(raw):
        field = _first(msgspec.to_builtins(line), _is_too_large)
        if field is not None:
            raise RecordError(f"{where}: found a number beyond {LARGEST:g} at `{field}`, which nothing measures")
    return line


def decode_again(raw: bytes, *, schema: int) -> Line:
    """Read a line that `decode` has accepted before, without looking for what is wrong with it."""
    return _DECODERS[schema].decode(raw)


def first_not_finite(value: object) -> str | None:
    """Return the path of the first number in plain data that is not finite, or None."""
    return _first(value, lambda one: isinstance(one, float) and one - one != 0)


def _may_hold_a_large_number(raw: bytes) -> bool:
    """Whether a line has to be looked at value by value.

    A look at its shape, every digit a 0, costs a tenth of what the pattern does, and spares it almost every line.
    """
    shape = raw.translate(_SHAPE, b"+")
    return (b"e00" in shape or b"0" * 38 in shape) and _LARGE_NUMBER.search(raw) is not None


def _is_too_large(value: object) -> bool:
    return isinstance(value, float | int) and not -LARGEST <= value <= LARGEST


def _first(value: object, is_wanted: "Callable[[object], bool]", path: str = "$") -> str | None:
    items: Iterable[tuple[str, object]]
    if isinstance(value, dict):
        items = ((f"{path}.{key}", item) for key, item in cast("dict[object, object]", value).items())
    elif isinstance(value, list | tuple):
        items = ((f"{path}[{index}]", item) for index, item in enumerate(value))
    else:
        return path if is_wanted(value) else None
    return next((found for where, item in items if (found := _first(item, is_wanted, where)) is not None), None)


class _DuplicateKeyError(Exception):
    """An object names one key twice; a reader would silently take the last."""


def _refuse_duplicates(pairs: list[tuple[str, object]]) -> None:
    seen: set[str] = set()
    for key, _ in pairs:
        if key in seen:
            raise _DuplicateKeyError(key)
        seen.add(key)
