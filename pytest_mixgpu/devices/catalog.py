"""Names of devices: from the string that a driver reports to one exact kind, or to why there is none. Asks no hardware.

Whole strings are compared, without regard to case, repeated blanks, trademark signs and the maker's prefix; never parts
of them. `catalog.toml` holds the names; forms that no list can hold (slices, profiles, cut names) are rules here.
"""

import difflib
import re
import tomllib
from functools import cache
from importlib import resources
from typing import Final, Literal

import msgspec

UNRESOLVED: Final = "unresolved"
"""The kind of a device whose name fits no model or several. It is measurable and meets no request for a kind."""

UNKNOWN: Final = "unknown"
"""The kind of a device whose name is in no catalog. It is measurable, and never taken for its nearest neighbour."""

GpuVendor = Literal["nvidia", "amd", "intel"]


class Naming(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a name says."""

    kind: str
    """The exact kind, `unresolved` or `unknown`."""
    flags: tuple[str, ...] = ()
    """Why it is not the bare card, or what else has to be known: `vgpu`, `mig`, `memory-twins`, `generic-name`."""


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
    series: tuple[_Series, ...]
    part: tuple[_Part, ...]
    open: tuple[_Open, ...]


class _Entry(msgspec.Struct, frozen=True, kw_only=True):
    """What the catalog holds under one name."""

    kind: str
    flags: tuple[str, ...]
    units: dict[int, str] = {}
    """Which kind it is at which number of units; another number leaves it unresolved."""


class _Catalog(msgspec.Struct, frozen=True, kw_only=True):
    names: dict[tuple[str, str], _Entry]
    families: dict[str, tuple[str, ...]]
    kinds: frozenset[str]


_TRADEMARKS: Final = re.compile(r"\((?:r|tm|c)\)|[®™©]", re.IGNORECASE)
_MEMORY_TAIL: Final = re.compile(r" (\d+gb)$")
_MIG: Final = re.compile(r"(?P<card>.+) mig (?P<profile>\d+[cg]\.\d+gb(?:\.\d+gb)?(?:\+[a-z.]+)*)")
_VGPU: Final = re.compile(r"(?:grid )?(?P<card>[a-z]+\d+[a-z]*(?:-ada)?)-(?P<slice>\d+-)?\d+[abceq]")
_ARCHITECTURE: Final = re.compile(r"gfx[0-9a-f]+(?::[a-z]+[+-])*|(?:sm|compute)_\d+[a-z]?")
_BOARD: Final = re.compile(r"[a-z0-9]+-pg\d+-\d+")
_SEVERAL: Final = re.compile(r"[^/]+/[^/].*")
_DERIVED: Final = re.compile(r"[a-z0-9]+(?:-ada)?-(?:\d+-)?\d+[abceq]|.+-mig-\d+[cg]\..+|.+-vf")
"""Kinds that come from a rule: profiles, slices, virtual functions."""


def kind_of(
    name: str,
    *,
    vendor: str,
    memory_bytes: int | None = None,  # noqa: ARG001 - part of what is known; no name in the catalog needs it yet
    architecture: str | None = None,  # noqa: ARG001 - as above
    num_units: int | None = None,
) -> Naming:
    """Name a device.

    Args:
        name: what the driver, the runtime or a list calls it.
        vendor: `nvidia`, `amd` or `intel`.
        memory_bytes: its memory, if known.
        architecture: `sm_86` or `gfx942`, if known. Several parts share one, so that it never decides alone.
        num_units: streaming multiprocessors or compute units, if known. They decide where two parts share a name.
    """
    text, had_prefix = _normalise(name, vendor)
    entry = _catalog().names.get((vendor, text))
    if entry is not None:
        old = ("old-driver",) if vendor == "nvidia" and text.startswith("geforce ") and not had_prefix else ()
        return _decide(entry, num_units, old)
    for rule in (_by_partition, _by_guest):
        found = rule(text, vendor)
        if found is not None:
            return found
    return _by_form(text)


def families() -> dict[str, tuple[str, ...]]:
    """Models that are no kind, with the kinds of their parts in the catalog's order."""
    return dict(_catalog().families)


def is_kind(name: str) -> bool:
    """Whether a request may name this: the catalog holds it, or a rule makes it (`a40-48q`, `h100-mig-1g.10gb`)."""
    return name in _catalog().kinds or _DERIVED.fullmatch(name) is not None


def near_kinds(name: str) -> tuple[str, ...]:
    """Kinds and families that a misspelt name may have meant. For messages only; nothing is ever chosen by it."""
    catalog = _catalog()
    return tuple(difflib.get_close_matches(name, sorted(catalog.kinds | set(catalog.families)), n=3, cutoff=0.7))


def _normalise(name: str, vendor: str) -> tuple[str, bool]:
    text = " ".join(_TRADEMARKS.sub("", name).split()).casefold()
    bare = text.removeprefix(f"{vendor} ")
    return bare, bare != text


def _slug(name: str) -> str:
    text = _MEMORY_TAIL.sub(r"-\1", name.casefold())
    return "".join(text.split()).translate({ord("("): "-", ord(")"): None})


def _decide(entry: _Entry, num_units: int | None, extra: tuple[str, ...]) -> Naming:
    if num_units is None or not entry.units:
        return Naming(kind=entry.kind, flags=(*entry.flags, *extra))
    return Naming(kind=entry.units.get(num_units, UNRESOLVED), flags=(*entry.flags, *extra))


def _by_partition(text: str, vendor: str) -> Naming | None:
    """A slice of a card, or a guest's share of one: its profile is part of its kind."""
    slice_ = _MIG.fullmatch(text)
    if slice_ is not None:
        card = _catalog().names.get((vendor, slice_["card"]))
        if card is None or card.kind == UNRESOLVED:
            return Naming(kind=UNRESOLVED, flags=("mig",))
        return Naming(kind=f"{_family_of(card.kind)}-mig-{slice_['profile']}", flags=("mig",))
    share = _VGPU.fullmatch(text)
    if vendor == "nvidia" and share is not None:
        flags = ("vgpu", "mig") if share["slice"] else ("vgpu",)
        return Naming(kind=_slug(text.removeprefix("grid ")), flags=flags)
    return None


def _by_guest(text: str, vendor: str) -> Naming | None:
    """A virtual function of a card: what a guest of a virtualised host sees."""
    if vendor != "amd" or not text.endswith(" vf"):
        return None
    card = _catalog().names.get((vendor, text.removesuffix(" vf")))
    if card is None:
        return None
    kind = card.kind if card.kind == UNRESOLVED else f"{card.kind}-vf"
    return Naming(kind=kind, flags=(*card.flags, "virtual-function"))


def _by_form(text: str) -> Naming:
    """Why a string that no catalog holds names no single model, if its form shows that."""
    if not text:
        return Naming(kind=UNRESOLVED, flags=("empty",))
    if text.endswith(("...", "…")):
        return Naming(kind=UNRESOLVED, flags=("cut-name",))
    if _ARCHITECTURE.fullmatch(text):
        return Naming(kind=UNRESOLVED, flags=("arch-not-device",))
    if _BOARD.fullmatch(text):
        return Naming(kind=UNRESOLVED, flags=("internal-board-name",))
    if _SEVERAL.fullmatch(text):
        return Naming(kind=UNRESOLVED, flags=("two-parts-one-name",))
    return Naming(kind=UNKNOWN)


def _family_of(kind: str) -> str:
    return next((family for family, kinds in _catalog().families.items() if kind in kinds), kind)


@cache
def _catalog() -> _Catalog:
    text = resources.files("pytest_mixgpu.devices").joinpath("catalog.toml").read_text(encoding="utf-8")
    file = msgspec.convert(tomllib.loads(text), _File, strict=False)
    names: dict[tuple[str, str], _Entry] = {}
    families_: dict[str, tuple[str, ...]] = {}
    for series in file.series:
        for name in series.names:
            kind = _slug(name) + series.tail
            entry = _Entry(kind=kind, flags=series.flags)
            _enter(names, series.vendor, f"{series.brand} {name} {series.suffix}", entry)
    for part in file.part:
        _enter_part(names, part)
        if part.family:
            families_[part.family] = (*families_.get(part.family, ()), part.kind)
    for several in file.open:
        for name in several.names:
            _enter(names, several.vendor, name, _Entry(kind=UNRESOLVED, flags=(several.flag,), units=several.units))
    kinds = frozenset(entry.kind for entry in names.values()) - {UNRESOLVED}
    return _Catalog(names=names, families=families_, kinds=kinds)


def _enter_part(names: dict[tuple[str, str], _Entry], part: _Part) -> None:
    for name in part.names:
        _enter(names, part.vendor, name, _Entry(kind=part.kind, flags=part.flags))
    for name in part.descriptions:
        _enter(names, part.vendor, name, _Entry(kind=part.kind, flags=(*part.flags, "description")))
    for name in part.boards:
        entry = _Entry(kind=part.kind, flags=(*part.flags, "board-name"), units=part.units)
        _enter(names, part.vendor, name, entry)


def _enter(names: dict[tuple[str, str], _Entry], vendor: str, name: str, entry: _Entry) -> None:
    key = (vendor, _normalise(name, vendor)[0])
    if key in names:
        message = f"catalog.toml names {name!r} of {vendor} twice: as {names[key].kind} and as {entry.kind}."
        raise ValueError(message)
    names[key] = entry
