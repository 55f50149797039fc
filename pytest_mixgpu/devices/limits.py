"""Published limits of a kind: what its maker says it can reach at most, each figure with its source. Asks no hardware.

A figure that no source states is None and not guessed. Peaks are dense: a figure for structured sparsity counts
multiplications that nobody does. `limits.toml` holds the shipped ones; users' files hold theirs in the same tables.
"""

import tomllib
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Final, Literal

import msgspec

Format = Literal["fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "fp6", "fp4", "int8", "int4"]
"""The format of what is multiplied."""

Accumulate = Literal["fp64", "fp32", "fp16", "int32"]
"""The format of the sum. Consumer parts sum in fp32 at half the rate of fp16."""


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where a figure was published."""

    title: str
    url: str
    edition: str
    """Version or date of the document."""


class Chip(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The compute units and their clock."""

    source: str
    units: int
    """Streaming multiprocessors or compute units of one device that are switched on."""
    max_clock_mhz: float | None = None
    """The highest clock that the maker states (boost, peak engine clock); tensor peaks may be stated at a lower one."""


class Memory(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The device's memory."""

    source: str
    size_gb: float
    """As the maker writes it. What a driver reports is that many GiB, less what it keeps and what ECC takes."""
    gb_per_s: float | None = None
    """Bandwidth in 10^9 bytes a second; reads and writes share it."""
    bus_bits: int | None = None
    gbit_per_s_per_pin: float | None = None
    """Transfers of one pin in 10^9 bit/s. Bus width times this, over 8, is the bandwidth."""


class Link(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Links between devices, or from a device to the processor beside it; all of one sort together."""

    source: str
    name: Literal["nvlink", "nvlink-bridge", "nvlink-c2c", "xgmi"]
    gb_per_s_one_way: float
    """All links of this sort together, in 10^9 bytes a second and one direction. Makers print the sum of both."""
    num_links: int | None = None


class Pcie(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The slot or connector to the host."""

    source: str
    generation: int
    lanes: int


class Power(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the part may draw."""

    source: str
    watts: float
    """Of the whole part: `devices_per_part` devices share it."""


class Peak(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The most dense arithmetic of one format that one device can do."""

    source: str
    format: Format
    engine: Literal["matrix", "vector"]
    """Tensor or matrix cores, or the ordinary lanes (with packed instructions where there are such)."""
    tera_ops_per_s: float
    """10^12 operations a second, as stated; a multiplication and an addition are two."""
    accumulate: Accumulate | None = None
    """None: the source does not say."""
    ops_per_clock_and_unit: int | None = None
    clock_mhz: float | None = None
    """The clock at which the figure is stated; None where the source gives none that yields it."""


class LimitsTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The limits of one kind as a file holds them; `source` names a table of the same file."""

    chip: Chip | None = None
    memory: Memory | None = None
    links: tuple[Link, ...] = ()
    """Empty: none is known. That there are none is not said."""
    pcie: Pcie | None = None
    power: Power | None = None
    peaks: tuple[Peak, ...] = ()
    devices_per_part: int = 1
    """How many devices a runtime counts in one part. Figures are those of one device: the published ones divided."""


class Limits(LimitsTable, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The published limits of one kind."""

    kind: str
    sources: dict[str, Source]
    """The sources of the figures above, by the name that they carry there."""

    def peak(self, number_format: Format, *, accumulate: Accumulate, engine: str = "matrix") -> Peak | None:
        """Find one peak; None is not known, for example because the part cannot do it.

        Args:
            number_format: of what is multiplied.
            accumulate: of the sum. A peak whose source does not say it is not taken.
            engine: `matrix` or `vector`.
        """
        wanted = (number_format, accumulate, engine)
        return next((peak for peak in self.peaks if (peak.format, peak.accumulate, peak.engine) == wanted), None)


class LimitsFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The tables that hold limits, in the shipped file and in users' own."""

    source: dict[str, Source] = {}
    limits: dict[str, LimitsTable] = {}


def limits_of(kind: str, own: Mapping[str, Limits] | None = None) -> Limits | None:
    """The published limits of a kind; None where nothing is known, as for slices, shares and unresolved devices.

    Args:
        kind: an exact kind.
        own: limits of kinds that the user added (`Catalog.limits`).
    """
    return (own or {}).get(kind) or shipped_limits().get(kind)


def missing_limit(kind: str, what: str) -> str:
    """Say that something needs a limit that is not known, and where it can be given.

    Args:
        kind: of the device.
        what: for example `memory bandwidth`.
    """
    return (
        f"no published {what} of {kind} is known. A kind of your own, with its limits and their sources, can be given "
        "with --mixgpu-kinds=FILE"
    )


def bind(file: LimitsFile) -> dict[str, Limits]:
    """Give each kind the sources that its figures name.

    Raises:
        ValueError: a figure names a source that is not there, or is impossible; the message names table and field.
    """
    return {kind: _bound(kind, table, file.source) for kind, table in file.limits.items()}


@cache
def shipped_limits() -> Mapping[str, Limits]:
    """The limits that come with this package, by kind."""
    text = resources.files("pytest_mixgpu.devices").joinpath("limits.toml").read_text(encoding="utf-8")
    return bind(msgspec.convert(tomllib.loads(text), LimitsFile))


_PLACES: Final = ("chip", "memory", "links", "pcie", "power", "peaks")
_Figures = Chip | Memory | Link | Pcie | Power | Peak


def _bound(kind: str, table: LimitsTable, sources: Mapping[str, Source]) -> Limits:
    if table.devices_per_part < 1:
        raise ValueError(f"[limits.{kind}] devices_per_part: found {table.devices_per_part}, expected 1 or more")
    used: dict[str, Source] = {}
    for place in _PLACES:
        entry = getattr(table, place)
        entries: tuple[_Figures, ...] = entry if isinstance(entry, tuple) else (entry,) if entry is not None else ()
        for figures in entries:
            where = f"[limits.{kind}] {place}"
            if figures.source not in sources:
                raise ValueError(
                    f"{where}, source: found {figures.source!r}, and there is no [source.{figures.source}]"
                )
            used[figures.source] = sources[figures.source]
            _refuse_impossible(where, figures)
    twice = _first_repeated([(peak.format, peak.accumulate, peak.engine) for peak in table.peaks])
    if twice is not None:
        raise ValueError(f"[limits.{kind}] peaks: {' '.join(map(str, twice))} is stated twice")
    fields = {name: getattr(table, name) for name in table.__struct_fields__}
    return Limits(kind=kind, sources=used, **fields)


def _refuse_impossible(where: str, figures: _Figures) -> None:
    for name in figures.__struct_fields__:
        value = getattr(figures, name)
        if isinstance(value, int | float) and not 0 < value < float("inf"):
            raise ValueError(f"{where}, {name}: found {value}, expected a number above zero; leave out what is unknown")


def _first_repeated(items: list[tuple[str, str | None, str]]) -> tuple[str, str | None, str] | None:
    return next((item for item in items if items.count(item) > 1), None)
