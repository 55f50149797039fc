"""From a table that a person wrote in TOML to a checked value, or to a fault in the words of that file.

Plans and recipes are both read here: `records` is the nearest room that both may import, and `errors` may not know
msgspec. Imports no torch.
"""

import difflib
import re
from collections.abc import Sequence
from typing import Final, TypeVar, cast

import msgspec
from msgspec import inspect

from pytest_mixgpu.errors import PlanError

Value = TypeVar("Value")
Step = str | int | None
"""Into a table by key, into a list by place; None is some key that the fault does not tell."""

_FAULT: Final = re.compile(r"(?P<what>.*?)(?: - at `\$(?P<path>[^`]*)`)?", re.DOTALL)
_STEP: Final = re.compile(r"\.(?P<key>[\w-]+)|\[(?P<place>\d+)\]|(?P<some>\[\.\.\.\])")
_LACKING: Final = re.compile(r"Object missing required field `(?P<key>[^`]+)`")
_UNKNOWN: Final = re.compile(r"Object contains unknown field `(?P<key>[^`]+)`")
_MISFIT: Final = re.compile(r"Expected `.*`.*, got .*|Invalid (?:enum )?value .*", re.DOTALL)

_SCALARS: Final[dict[type[inspect.Type], str]] = {
    inspect.StrType: "a text",
    inspect.IntType: "a whole number",
    inspect.FloatType: "a number",
    inspect.BoolType: "true or false",
    inspect.StructType: "a table",
    inspect.DictType: "a table",
    inspect.ListType: "a list",
    inspect.VarTupleType: "a list",
}
_MAX_SHOWN: Final = 60


def value_of(table: dict[str, object], kind: type[Value], *, where: str) -> Value:
    """Check a table and make its value.

    Args:
        table: as the TOML parser gives it.
        kind: a struct.
        where: the file, for the message.

    Raises:
        PlanError: a key is missing, unknown or of another type; says file, field, what was found and what is expected.
    """
    try:
        return msgspec.convert(table, kind)
    except msgspec.ValidationError as error:
        raise PlanError(f"{where}: {fault_text(str(error), table, kind)}") from error


def fault_text(message: str, table: object, kind: type[object]) -> str:
    """Say a fault in the words of the file: the field as it stands there, what was found, what is expected."""
    found = _FAULT.fullmatch(message)
    what, path = (found["what"], found["path"] or "") if found else (message, "")
    steps = steps_of(path)
    if lacking := _LACKING.fullmatch(what):
        steps.append(lacking["key"])
        return f"{field_text(steps, table)}: found nothing, expected {_expected(_types_at(kind, steps, table))}"
    if unknown := _UNKNOWN.fullmatch(what):
        here = _value_at(table, steps)
        known = sorted({name for one in _types_at(kind, steps, table) for name in _keys(one, here)})
        near = difflib.get_close_matches(unknown["key"], known, n=1)
        hint = f" (did you mean {near[0]}?)" if near else ""
        field = field_text([*steps, unknown["key"]], table)
        return f"{field}: found a key that there is not, expected one of {', '.join(known)}{hint}"
    if _MISFIT.fullmatch(what):
        shown = _shown(_value_at(table, steps)) if None not in steps else "something else"
        return f"{field_text(steps, table)}: found {shown}, expected {_expected(_types_at(kind, steps, table))}"
    return f"{field_text(steps, table)}: {what}" if steps else what


def steps_of(path: str) -> list[Step]:
    """Take a path such as `.roles[1].pool` apart."""
    return [
        each["key"] if each["key"] is not None else None if each["some"] else int(each["place"])
        for each in _STEP.finditer(path)
    ]


def field_text(steps: Sequence[Step], table: object) -> str:
    """Name a field as it stands in the file: `settings.rounds`; in a list of tables by name: `roles, 'fleet', pool`."""
    text, value = "", table
    for step in steps:
        value = _into(value, step)
        if isinstance(step, int):
            name = cast("dict[str, object]", value).get("name") if isinstance(value, dict) else None
            text += f", {name!r}, " if isinstance(name, str) else f", entry {step + 1}, "
        elif step is not None:
            text += f"{'.' if text and not text.endswith(', ') else ''}{step}"
    return text.removesuffix(", ")


def _into(value: object, step: Step) -> object:
    if isinstance(value, dict) and isinstance(step, str):
        return cast("dict[str, object]", value).get(step)
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        return cast("list[object]", value)[step]
    return None


def _value_at(value: object, steps: Sequence[Step]) -> object:
    for step in steps:
        value = _into(value, step)
    return value


def _types_at(kind: type[object], steps: Sequence[Step], table: object) -> list[inspect.Type]:
    """Walk the type along the path; a union of tables is told apart by the tag that the file gives."""
    types, value = _parts(inspect.type_info(kind)), table
    for step in steps:
        types = [part for one in types for inner in _inside(one, step, value) for part in _parts(inner)]
        value = _into(value, step)
    return types


def _parts(one: inspect.Type) -> list[inspect.Type]:
    return list(one.types) if isinstance(one, inspect.UnionType) else [one]


def _inside(one: inspect.Type, step: Step, value: object) -> list[inspect.Type]:
    if isinstance(one, inspect.StructType):
        if one.tag_field is not None and step == one.tag_field:
            return [inspect.LiteralType(values=(one.tag,))]
        if one.tag_field is not None and _into(value, one.tag_field) != one.tag:
            return []
        return [field.type for field in one.fields if field.encode_name == step]
    if isinstance(one, inspect.VarTupleType | inspect.ListType):
        return [one.item_type]
    if isinstance(one, inspect.TupleType) and isinstance(step, int):
        return list(one.item_types[step : step + 1])
    return [one.value_type] if isinstance(one, inspect.DictType) else []


def _keys(one: inspect.Type, value: object) -> list[str]:
    if not isinstance(one, inspect.StructType) or (one.tag_field and _into(value, one.tag_field) != one.tag):
        return []
    tag = [one.tag_field] if one.tag_field else []
    return [*tag, *(field.encode_name for field in one.fields)]


def _expected(types: Sequence[inspect.Type]) -> str:
    allowed = [str(value) for one in types if isinstance(one, inspect.LiteralType) for value in one.values]
    texts = [f"one of {', '.join(allowed)}" if len(allowed) > 1 else allowed[0]] if allowed else []
    for one in types:
        if isinstance(one, inspect.TupleType):
            texts.append(f"a list of {len(one.item_types)}")
        elif type(one) in _SCALARS:
            texts.append(_SCALARS[type(one)])
    return " or ".join(dict.fromkeys(texts)) or "another value"


def _shown(value: object) -> str:
    """Show a value as it stands in the file; what is long is named by its sort."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        return "a table"
    text = repr(value) if isinstance(value, str | int | float) else str(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}…"
