"""Files of kinds: from TOML to one `Catalog`, the shipped one or the shipped one with a user's kinds. Asks no hardware.

Both follow one schema. A user's file only adds: what the shipped catalog already reads in its own way is refused.
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Final, Literal

import msgspec

from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.kind_facts import KindFacts
from pytest_mixgpu.devices.limits import Limits, LimitsFile, bind
from pytest_mixgpu.devices.spec import AUTO, VENDOR_WORDS, SpecTerm
from pytest_mixgpu.errors import CatalogError, SpecError

UNRESOLVED: Final = "unresolved"
"""The kind of a device whose name fits no model or several. It is measurable and meets no request for a kind."""

UNKNOWN: Final = "unknown"
"""The kind of a device whose name is in no catalog. It is measurable, and never taken for its nearest neighbour."""

OWN_KIND: Final = "own-kind"
"""The flag of a device whose kind a user's file names: the record says that no shipped catalog knows it."""

GpuVendor = Literal["nvidia", "amd", "intel"]


class _Series(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    vendor: GpuVendor
    names: tuple[str, ...]
    brand: str = ""
    suffix: str = ""
    tail: str = ""
    flags: tuple[str, ...] = ()


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    vendor: GpuVendor
    kind: str
    family: str = ""
    names: tuple[str, ...] = ()
    descriptions: tuple[str, ...] = ()
    boards: tuple[str, ...] = ()
    units: dict[int, str] = {}
    flags: tuple[str, ...] = ()


class _Open(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    vendor: GpuVendor
    names: tuple[str, ...]
    flag: str
    units: dict[int, str] = {}


class _File(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    series: tuple[_Series, ...] = ()
    part: tuple[_Part, ...] = ()
    open: tuple[_Open, ...] = ()
    facts: dict[str, KindFacts] = {}


class _OwnFile(LimitsFile, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a user may add: no open names, since a name that fits several parts needs no kind."""

    series: tuple[_Series, ...] = ()
    part: tuple[_Part, ...] = ()
    facts: dict[str, KindFacts] = {}  # noqa: RUF012 - msgspec copies an empty default


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog holds under one name."""

    kind: str
    flags: tuple[str, ...]
    units: dict[int, str] = {}
    """Which kind it is at which number of units; another number leaves it unresolved."""


class Catalog(msgspec.Struct, frozen=True, kw_only=True):
    """Names, kinds, families and facts; what is handed to whoever names devices or checks requests."""

    names: dict[tuple[str, str], Entry]
    """By vendor and bare name, as `bare_name` writes it."""
    families: dict[str, tuple[str, ...]]
    kinds: frozenset[str]
    facts: dict[str, KindFacts]
    limits: dict[str, Limits] = {}
    """Of the user's own kinds alone; `limits_of` looks here first."""
    own: frozenset[str] = frozenset()
    """Kinds that a user's file added."""


_TRADEMARKS: Final = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.IGNORECASE)
_MEMORY_TAIL: Final = re.compile(r" (\d+gb)$")
_DERIVED: Final = re.compile(r"[a-z0-9]+(?:-ada)?-(?:\d+-)?\d+[abceq]|.+-mig-\d+[cg]\..+|.+-vf")
"""Kinds that come from a rule: profiles, slices, virtual functions."""


def bare_name(name: str, vendor: str) -> tuple[str, bool]:
    """A name without trademark signs, repeated blanks, case and the maker's prefix, and whether there was a prefix."""
    text = " ".join(_TRADEMARKS.sub("", name).split()).casefold()
    bare = text.removeprefix(f"{vendor} ")
    return bare, bare != text


def slug(name: str) -> str:
    """The kind that a name gives where none is written out: lower case, no blanks."""
    text = _MEMORY_TAIL.sub(r"-\1", name.casefold())
    return "".join(text.split()).translate({ord("("): "-", ord(")"): None})


def is_derived(name: str) -> bool:
    """Whether a rule makes this kind: `a40-48q`, `h100-mig-1g.10gb`, `mi300x-vf`."""
    return _DERIVED.fullmatch(name) is not None


@cache
def shipped_catalog() -> Catalog:
    """The catalog that comes with this package."""
    text = resources.files("pytest_mixgpu.devices").joinpath("catalog.toml").read_text(encoding="utf-8")
    # Not strict: TOML writes the keys of tables as text, also where they are numbers.
    return _catalog_of(msgspec.convert(tomllib.loads(text), _File, strict=False))


def read_own_kinds(path: Path) -> Catalog:
    """Read a user's file and add its kinds to the shipped ones.

    Args:
        path: a TOML file with `[[series]]`, `[[part]]`, `[facts]`, `[source]` and `[limits]`.

    Raises:
        CatalogError: it cannot be read, follows another schema, or names what the shipped catalog already holds.
    """
    try:
        tables = tomllib.loads(path.read_text(encoding="utf-8"))
        _refuse_loose_types(tables)
        file = msgspec.convert(tables, _OwnFile, strict=False)
    except msgspec.ValidationError as error:
        raise CatalogError(f"{path}: {_place_of(error)}") from error
    except (OSError, ValueError) as error:
        # A TOML error names line and column itself; text that is not UTF-8 is a ValueError as well.
        raise CatalogError(f"{path}: {error}") from error
    try:
        own = _catalog_of(_File(series=file.series, part=file.part, facts=file.facts))
        limits = bind(LimitsFile(source=file.source, limits=file.limits))
        _refuse_what_is_there(own, limits, shipped_catalog())
    except ValueError as error:
        raise CatalogError(f"{path}: {error}") from error
    return _joined(shipped_catalog(), own, limits)


def _catalog_of(file: _File) -> Catalog:
    names: dict[tuple[str, str], Entry] = {}
    families: dict[str, tuple[str, ...]] = {}
    for vendor, name, entry in _entries(file):
        key = (vendor, bare_name(name, vendor)[0])
        if key in names:
            raise ValueError(f"{name!r} of {vendor} is named twice: as {names[key].kind} and as {entry.kind}")
        names[key] = entry
    for part in file.part:
        if part.family and part.kind not in families.get(part.family, ()):
            families[part.family] = (*families.get(part.family, ()), part.kind)
    kinds = frozenset(entry.kind for entry in names.values()) - {UNRESOLVED}
    strange = sorted(set(file.facts) - kinds)
    if strange:
        raise ValueError(f"[facts] {strange[0]}: no name gives that kind")
    return Catalog(names=names, families=families, kinds=kinds, facts=file.facts)


def _entries(file: _File) -> Iterator[tuple[str, str, Entry]]:
    for series in file.series:
        for name in series.names:
            entry = Entry(kind=slug(name) + series.tail, flags=series.flags)
            yield series.vendor, f"{series.brand} {name} {series.suffix}", entry
    for part in file.part:
        for name in part.names:
            yield part.vendor, name, Entry(kind=part.kind, flags=part.flags)
        for name in part.descriptions:
            yield part.vendor, name, Entry(kind=part.kind, flags=(*part.flags, "description"))
        for name in part.boards:
            yield part.vendor, name, Entry(kind=part.kind, flags=(*part.flags, "board-name"), units=part.units)
    for several in file.open:
        for name in several.names:
            yield several.vendor, name, Entry(kind=UNRESOLVED, flags=(several.flag,), units=several.units)


def _joined(shipped: Catalog, own: Catalog, limits: Mapping[str, Limits]) -> Catalog:
    marked = {key: msgspec.structs.replace(entry, flags=(*entry.flags, OWN_KIND)) for key, entry in own.names.items()}
    return Catalog(
        names=shipped.names | marked,
        families=shipped.families | own.families,
        kinds=shipped.kinds | own.kinds,
        facts=shipped.facts | own.facts,
        limits=dict(limits),
        own=own.kinds,
    )


def _refuse_what_is_there(own: Catalog, limits: Mapping[str, Limits], shipped: Catalog) -> None:
    from pytest_mixgpu.devices.catalog import kind_of

    for (vendor, name), entry in own.names.items():
        naming = kind_of(name, vendor=vendor, catalog=shipped)
        if naming.kind != UNKNOWN:
            raise ValueError(f"the name {name!r} of {vendor} is read without this file, as {naming.kind}: leave it out")
        for kind in (entry.kind, *entry.units.values()):
            _refuse_kind(kind, own, shipped)
    for family in own.families:
        if family in own.kinds | shipped.kinds | set(shipped.families):
            raise ValueError(f"the family {family} is there already, as a kind or a family: choose another word")
    strange = sorted(set(limits) - own.kinds)
    if strange:
        raise ValueError(
            f"[limits.{strange[0]}]: no name in this file gives that kind, and shipped kinds stay as they are"
        )


def _refuse_kind(kind: str, own: Catalog, shipped: Catalog) -> None:
    taken = shipped.kinds | set(shipped.families) | set(own.families) | set(CPU_KINDS) | set(VENDOR_WORDS)
    if kind in taken | {AUTO, UNRESOLVED, UNKNOWN}:
        raise ValueError(f"the kind {kind} is there already: choose another word for this file's")
    if is_derived(kind):
        raise ValueError(
            f"{kind} reads as a slice, a share or a virtual function, which rules name: choose another word"
        )
    try:
        SpecTerm(name=kind, count=1)
    except SpecError as error:
        raise ValueError(f"a request could not name the kind {kind!r}. {error}") from error
    if kind not in own.kinds:
        raise ValueError(f"units: {kind} is no kind of this file")


def _refuse_loose_types(tables: Mapping[str, object]) -> None:
    """Numbers are the keys of `units` alone: elsewhere a number in quotes is a slip, which loose reading would take."""
    strict = {name: value for name, value in tables.items() if name != "part"}
    parts = tables.get("part", ())
    if isinstance(parts, list):
        strict["part"] = [
            {key: value for key, value in part.items() if key != "units"} if isinstance(part, dict) else part
            for part in parts
        ]
    msgspec.convert(strict, _OwnFile)


def _place_of(error: msgspec.ValidationError) -> str:
    """Write msgspec's place as a file has it: `$.part[0].kind` is the field `kind` of the first `[[part]]`."""
    what, _, place = str(error).partition(" - at `")
    path = place.rstrip("`").removeprefix("$").lstrip(".")
    if not path:
        return f"{what}. Tables are [[series]], [[part]], [facts], [source] and [limits]"
    table, _, field = path.partition(".")
    match = re.fullmatch(r"(\w+)\[(\d+)\]", table)
    shown = f"[[{match[1]}]] number {int(match[2]) + 1}" if match else f"[{table}]"
    return f"{shown}{f', {field}' if field else ''}: {what}"
