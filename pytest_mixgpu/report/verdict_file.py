"""Verdicts on disk, for programs: from `Verdict`s to `verdicts.json` and back, strict and versioned.

Schema history:
    1: first version.
    2: `witness` and `resolvable` of a verdict.
    3: `run_values` of a verdict.
"""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import HostFacts
from pytest_mixgpu.report.model import Occasion
from pytest_mixgpu.report.sanitise import clean, without_surrogates
from pytest_mixgpu.report.verdict_rows import headline_of
from pytest_mixgpu.report.whole_files import replace_file

if TYPE_CHECKING:
    from pytest_mixgpu.devices.model import Pool

SCHEMA_VERSION: Final = 3


_HIDDEN: Final = re.compile(r"[^\n\x20-\x7e]")
"""Who prints the file sees all of it, and nothing of it gives an order to a terminal or turns the writing round."""


class HeldDevice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A device of the session's pool."""

    id: str
    kind: str
    name: str
    """What its driver calls it."""


class VerdictFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `verdicts.json`."""

    schema: int = SCHEMA_VERSION
    suite: str
    session: str
    made_at: str
    mode: str
    headline: str
    host: HostFacts | None = None
    """Of the session that measured; None where records were judged, which say where they were made."""
    devices: tuple[HeldDevice, ...] = ()
    """Of the same session."""
    verdicts: tuple[Verdict, ...]


def write_verdicts(
    path: Path,
    verdicts: Sequence[Verdict],
    *,
    occasion: Occasion,
    host: HostFacts | None = None,
    pool: "Pool | None" = None,
) -> None:
    """Write all verdicts of one suite. A reader never sees half a file.

    JSON has no NaN: a value that is not finite is written as null, and its verdict's reason says what it was.
    """
    measured = occasion.mode == "measured"
    content = VerdictFile(
        suite=occasion.suite,
        session=occasion.session,
        made_at=occasion.made_at,
        mode=occasion.mode,
        headline=headline_of(verdicts, occasion.tests)[0],
        host=host if measured else None,
        devices=tuple(
            HeldDevice(id=device.id, kind=device.kind, name=device.name)
            for device in (pool.devices if pool is not None and measured else ())
        ),
        verdicts=tuple(verdicts),
    )
    plain = _encodable(msgspec.to_builtins(content))
    text = msgspec.json.format(msgspec.json.encode(plain).decode(), indent=1)
    replace_file(path, f"{_HIDDEN.sub(_escaped, text)}\n".encode())


def read_verdicts(path: Path) -> VerdictFile:
    """Read verdicts back.

    Raises:
        RecordError: the file is missing, is of another schema, or holds what no verdict has.
    """
    try:
        content = msgspec.json.decode(path.read_bytes(), type=dict[str, object])
        schema = content.get("schema")
        if schema != SCHEMA_VERSION:
            raise RecordError(
                f"{path}: schema {schema!r} was found, {SCHEMA_VERSION} is what this version reads: "
                "judge the records again with --mixgpu-records"
            )
        return msgspec.convert(_with_open_ends(content), VerdictFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        raise RecordError(f"{path}: no verdicts could be read: {error}") from error


def _with_open_ends(content: dict[str, object]) -> dict[str, object]:
    """Give an interval its infinite ends back, which JSON holds as null: an attempt that never ended left them open."""
    verdicts = content.get("verdicts")
    for verdict in verdicts if isinstance(verdicts, list) else ():
        interval = verdict.get("interval") if isinstance(verdict, dict) else None
        if isinstance(interval, list) and len(interval) == 2:
            ends = zip((-math.inf, math.inf), interval, strict=True)
            verdict["interval"] = [end if found is None else found for end, found in ends]
    return content


def _escaped(found: re.Match[str]) -> str:
    """Write with JSON's own escape what could act on who looks at it; whoever parses the file gets it as it was."""
    character = found[0]
    if clean(character) == character:
        return character
    units = character.encode("utf-16-be")
    return "".join(f"\\u{int.from_bytes(units[at : at + 2]):04x}" for at in range(0, len(units), 2))


def _encodable(value: object) -> object:
    """Make every text of plain data one that UTF-8 can hold."""
    if isinstance(value, str):
        return without_surrogates(value)
    if isinstance(value, dict):
        return {key: _encodable(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_encodable(inner) for inner in value]
    return value
