"""Published limits: every figure has a source, and agrees by arithmetic with the others of its part."""

import pytest

from pytest_mixgpu.devices.catalog_file import shipped_catalog
from pytest_mixgpu.devices.limits import Limits, LimitsFile, LimitsTable, Peak, Source, bind, limits_of, missing_limit
from pytest_mixgpu.devices.limits import shipped_limits as shipped

ROUNDING = 0.01
"""Makers print three digits."""

SOURCE = Source(title="A sheet", url="https://example.org/sheet", edition="2026")


def of(kind: str) -> Limits:
    """Limits that are known to be there."""
    found = limits_of(kind)
    assert found is not None
    return found


@pytest.mark.parametrize("kind", sorted(shipped()))
def test_figures_of_a_part_agree(kind: str) -> None:
    """A figure for sparse matrices, or a slip of the keyboard, does not agree with clock, units and width."""
    limits = of(kind)
    assert kind in shipped_catalog().kinds
    for peak in limits.peaks:
        if peak.ops_per_clock_and_unit and peak.clock_mhz and limits.chip:
            tera = peak.ops_per_clock_and_unit * limits.chip.units * peak.clock_mhz * 1e6 / 1e12
            assert peak.tera_ops_per_s == pytest.approx(tera, rel=ROUNDING), peak
            assert peak.clock_mhz <= (limits.chip.max_clock_mhz or peak.clock_mhz)
    memory = limits.memory
    if memory and memory.bus_bits and memory.gbit_per_s_per_pin:
        assert memory.gb_per_s == pytest.approx(memory.bus_bits * memory.gbit_per_s_per_pin / 8, rel=ROUNDING)


@pytest.mark.parametrize("kind", sorted(shipped()))
def test_formats_stand_to_each_other_as_engines_do(kind: str) -> None:
    """Half the width is twice the rate, no more: a sparse figure beside dense ones would be twice too high."""
    peaks: dict[tuple[str, str | None, str], float] = {
        (peak.format, peak.accumulate, peak.engine): peak.tera_ops_per_s for peak in of(kind).peaks
    }
    half = peaks.get(("fp16", "fp32", "matrix"))
    for wide, narrow in (("tf32", "fp16"), ("fp16", "fp8"), ("fp8", "fp4")):
        one, two = (peaks.get((name, "fp32", "matrix")) for name in (wide, narrow))
        if one and two:
            assert 1.95 <= two / one <= (2.05 if (wide, narrow) != ("fp8", "fp4") else 4.05), (wide, narrow)
    if half and ("bf16", "fp32", "matrix") in peaks and kind != "mi100":
        assert peaks["bf16", "fp32", "matrix"] == half


@pytest.mark.parametrize("kind", sorted(set(shipped()) & set(shipped_catalog().facts)))
def test_limits_and_facts_speak_of_one_part(kind: str) -> None:
    """Units and memory are those by which the catalog holds a name against a device."""
    limits, facts = of(kind), shipped_catalog().facts[kind]
    if limits.chip and facts.units:
        assert limits.chip.units in facts.units
    if limits.memory and facts.memory_gib:
        assert limits.memory.size_gb in facts.memory_gib


def test_an_h100_is_not_taken_for_its_sparse_self() -> None:
    """989 dense at 1,830 MHz; 1,979 is the sparse figure, and 1,980 MHz the highest clock."""
    limits = of("h100-sxm")
    peak = limits.peak("bf16", accumulate="fp32")
    assert peak is not None
    assert limits.chip is not None
    assert (peak.tera_ops_per_s, peak.clock_mhz, limits.chip.max_clock_mhz) == (989.4, 1830, 1980)
    assert limits.peak("bf16", accumulate="fp16") is None


def test_a_part_of_two_devices_is_counted_in_halves() -> None:
    """A runtime counts two devices in an MI250X."""
    limits = of("mi250x")
    peak = limits.peak("fp16", accumulate="fp32")
    assert limits.devices_per_part == 2
    assert peak is not None
    assert peak.tera_ops_per_s == pytest.approx(383 / 2, rel=ROUNDING)


@pytest.mark.parametrize("kind", ["a40-48q", "h100-mig-1g.10gb", "mi300x-vf", "unresolved", "unknown", "h100"])
def test_what_is_no_card_has_no_limits(kind: str) -> None:
    """A slice, a share and a family reach other figures, which nobody published."""
    assert limits_of(kind) is None
    assert "--mixgpu-kinds" in missing_limit(kind, "memory bandwidth")


@pytest.mark.parametrize(
    ("peak", "told"),
    [
        (Peak(source="other", format="bf16", engine="matrix", tera_ops_per_s=1.0), r"no \[source.other\]"),
        (Peak(source="sheet", format="bf16", engine="matrix", tera_ops_per_s=0.0), "tera_ops_per_s: found 0.0"),
        (Peak(source="sheet", format="bf16", engine="matrix", tera_ops_per_s=float("inf")), "found inf"),
    ],
)
def test_figures_without_source_or_sense_are_refused(peak: Peak, told: str) -> None:
    """Nothing is believed because it stands in a file."""
    file = LimitsFile(source={"sheet": SOURCE}, limits={"mine": LimitsTable(peaks=(peak,))})
    with pytest.raises(ValueError, match=told):
        bind(file)


def test_one_peak_is_stated_once() -> None:
    """Two figures for one format and sum: nobody could say which is meant."""
    peak = Peak(source="sheet", format="bf16", engine="matrix", tera_ops_per_s=1.0, accumulate="fp32")
    file = LimitsFile(source={"sheet": SOURCE}, limits={"mine": LimitsTable(peaks=(peak, peak))})
    with pytest.raises(ValueError, match="stated twice"):
        bind(file)
