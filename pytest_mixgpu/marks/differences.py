"""How something departs from the lock: from what is there now and what was frozen to named differences. Pure.

Values are compared, not spellings: the order of keys, comments, whitespace and `1` for `1.0` are no differences.
"""

from collections.abc import Iterator, Mapping

import msgspec

LOCK_NAME = "passmarks.lock"
ABSENT = "nothing"
"""What stands in a sentence for a value that is not there."""


class Difference(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A departure from the lock."""

    field: str
    """`e1-speedup.bound`, `settings.rounds`, `roles[1].pool`, `code`."""
    found: str
    expected: str
    where: str = ""
    """What to do about it; empty where the difference before it says so already."""
    found_in: str = "the suite"
    """Where the value stands now: `benchmark.toml`, the marker in a test."""
    expected_in: str = LOCK_NAME
    is_unfrozen: bool = False
    """Whether the lock holds nothing of that name: it was not frozen yet."""

    def __str__(self) -> str:
        text = f"{self.field}: {self.found_in} has {self.found}, {self.expected_in} has {self.expected}"
        return f"{text}; {self.where}" if self.where else text


def plain(value: object) -> dict[str, object]:
    """Return a frozen value as plain data without None, as TOML can hold it and gives it back."""
    data = msgspec.json.decode(msgspec.json.encode(value))
    return _without_none(data) if isinstance(data, dict) else {}


def plain_differences(
    found: object, frozen: object, *, field: str = "", found_in: str, where: str = ""
) -> tuple[Difference, ...]:
    """List every field in which plain data differs from what was frozen.

    Args:
        found: as it is now.
        frozen: as the lock holds it.
        field: what the names of fields begin with.
        found_in: the file or marker where it stands now.
        where: what to do about it; said with the first.
    """
    fields = tuple(_walk(field, found, frozen))
    return tuple(
        Difference(field=name, found=shown(now), expected=shown(then), found_in=found_in, where="" if number else where)
        for number, (name, now, then) in enumerate(fields)
    )


def earlier_values(found: object, frozen: object, *, field: str = "") -> dict[str, object]:
    """Return what was frozen in each field that differs now, None where there was nothing."""
    return {name: None if then is _NOTHING else then for name, _, then in _walk(field, found, frozen)}


def shown(value: object) -> str:
    """Write a value into a sentence: text in quotes, numbers so that they read back."""
    return ABSENT if value is _NOTHING or value is None else msgspec.json.encode(value).decode()


def short(digest: str) -> str:
    """Write a digest as far as people compare it; what is short enough stands as it is."""
    return f"{digest[:12]}…" if len(digest) > 16 else digest or "none"


class _Nothing:
    """Stands where one side has no such key."""


_NOTHING = _Nothing()


def _walk(field: str, found: object, frozen: object) -> Iterator[tuple[str, object, object]]:
    if isinstance(found, Mapping) and isinstance(frozen, Mapping):
        for name in sorted({*found, *frozen}):
            place = f"{field}.{name}" if field else str(name)
            yield from _walk(place, found.get(name, _NOTHING), frozen.get(name, _NOTHING))
    elif isinstance(found, list | tuple) and isinstance(frozen, list | tuple):
        for index in range(max(len(found), len(frozen))):
            yield from _walk(f"{field}[{index}]", _at(found, index), _at(frozen, index))
    elif not _are_equal(found, frozen):
        yield field, found, frozen


def _at(values: list[object] | tuple[object, ...], index: int) -> object:
    return values[index] if index < len(values) else _NOTHING


def _are_equal(found: object, frozen: object) -> bool:
    """Whether two leaves say the same. True is no number here, though Python takes it for 1."""
    return isinstance(found, bool) == isinstance(frozen, bool) and found == frozen


def _without_none(value: dict[str, object]) -> dict[str, object]:
    return {key: _cleaned(entry) for key, entry in value.items() if entry is not None}


def _cleaned(value: object) -> object:
    if isinstance(value, dict):
        return _without_none(value)
    if isinstance(value, list):
        return [_cleaned(entry) for entry in value]
    return value
