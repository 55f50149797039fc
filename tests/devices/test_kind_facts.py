"""What a device reports beside its name: it speaks against a kind or shows which it may be, and never makes one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.catalog import FACTS_DISAGREE, kind_of
from pytest_mixgpu.devices.catalog_file import UNRESOLVED, shipped_catalog
from pytest_mixgpu.devices.kind_facts import KindFacts, Reported, fits, fitting_kinds

GIB = 2**30
MIB = 2**20
CATALOG = shipped_catalog()


@pytest.mark.parametrize(
    ("name", "architecture", "num_units", "memory_mib", "kind"),
    [
        ("NVIDIA A40", "sm_86", 84, 46068, "a40"),
        ("NVIDIA A40", "sm_86", 84, 49140, "a40"),
        ("NVIDIA H100 80GB HBM3", "sm_90", 132, 81559, "h100-sxm"),
        ("NVIDIA H100 NVL", "sm_90", 132, 95830, "h100-nvl"),
        ("NVIDIA H200", "sm_90", 132, 143771, "h200-sxm"),
        ("Tesla T4", "sm_75", 40, 14910, "t4"),
        ("NVIDIA GeForce RTX 4090", "sm_89", 128, 24564, "rtx4090"),
        ("NVIDIA B200", "sm_100", 148, 183359, "b200"),
        ("AMD Instinct MI300X", "gfx942:sramecc+:xnack-", 304, 196592, "mi300x"),
        ("AMD Radeon RX 7900 XTX", "gfx1100", 48, 24560, "rx7900xtx"),
        ("NVIDIA GeForce RTX 3080", "sm_86", 70, 12288, "rtx3080"),
    ],
)
def test_real_cards_are_what_they_are_called(
    name: str, architecture: str, num_units: int, memory_mib: int, kind: str
) -> None:
    """What drivers keep, ECC takes and makers round speaks against no card."""
    vendor = "amd" if name.startswith("AMD") else "nvidia"
    found = kind_of(name, vendor=vendor, architecture=architecture, num_units=num_units, memory_bytes=memory_mib * MIB)
    assert (found.kind, FACTS_DISAGREE in found.flags) == (kind, False)


@pytest.mark.parametrize(
    ("name", "architecture", "num_units", "memory_gib"),
    [
        ("NVIDIA GeForce RTX 4090", "sm_89", 24, 24),
        ("NVIDIA GeForce RTX 4090", "sm_89", 128, 8),
        ("NVIDIA GeForce RTX 4090", "sm_86", 128, 24),
        ("NVIDIA A100-SXM4-80GB", "sm_80", 108, 40),
        ("NVIDIA H200", "sm_90", 132, 80),
        ("NVIDIA H100 PCIe", "sm_90", 132, 80),
        ("AMD Instinct MI300X", "gfx942", 38, 24),
    ],
)
def test_a_card_that_reports_another_one_is_none(name: str, architecture: str, num_units: int, memory_gib: int) -> None:
    """A relabelled card, a share of one, a limited client: none of them is the part that its name says."""
    vendor = "amd" if name.startswith("AMD") else "nvidia"
    found = kind_of(name, vendor=vendor, architecture=architecture, num_units=num_units, memory_bytes=memory_gib * GIB)
    assert found.kind == UNRESOLVED
    assert FACTS_DISAGREE in found.flags


def test_a_board_name_gives_way_to_the_units() -> None:
    """MI308X boards call themselves MI300X OAM; units of neither part make it neither."""
    found = {
        units: kind_of("AMD Instinct MI300X OAM", vendor="amd", architecture="gfx942", num_units=units).kind
        for units in (304, 80, 228)
    }
    assert found == {304: "mi300x", 80: "mi308x", 228: UNRESOLVED}


@pytest.mark.parametrize("name", ["AMD Radeon Graphics", "", "gfx942:sramecc+:xnack-"])
def test_a_nameless_device_is_inferred_and_not_named(name: str) -> None:
    """Architecture, units and memory leave one part; it stays unresolved, and people are told which it may be."""
    found = kind_of(name, vendor="amd", architecture="gfx942", num_units=304, memory_bytes=192 * GIB)
    assert (found.kind, found.inferred) == (UNRESOLVED, ("mi300x",))


def test_a_family_name_of_nvidia_is_inferred_too() -> None:
    """The bare name is a true name of a further part: what fits is shown, none is taken."""
    found = kind_of("NVIDIA H100", vendor="nvidia", architecture="sm_90", num_units=132, memory_bytes=80 * GIB)
    assert found.kind == UNRESOLVED
    assert "h100-sxm" in found.inferred


def test_parts_of_cards_are_inferred_to_be_none() -> None:
    """A slice's units and memory are those of no card."""
    found = kind_of("NVIDIA Something MIG 1g.10gb", vendor="nvidia", architecture="sm_90", num_units=132)
    assert (found.kind, found.inferred) == (UNRESOLVED, ())


@given(
    kind=st.sampled_from(sorted(CATALOG.facts)),
    num_units=st.none() | st.integers(1, 400),
    memory_bytes=st.none() | st.integers(1, 400 * GIB),
    architecture=st.none() | st.sampled_from(sorted({facts.architecture or "" for facts in CATALOG.facts.values()})),
)
def test_what_is_reported_never_makes_a_kind(
    kind: str, num_units: int | None, memory_bytes: int | None, architecture: str | None
) -> None:
    """Whatever else a device reports, its kind is the one of its name, or none."""
    (vendor, name), entry = next(item for item in CATALOG.names.items() if item[1].kind == kind and not item[1].units)
    reported = Reported(architecture=architecture, num_units=num_units, memory_bytes=memory_bytes)
    found = kind_of(name, vendor=vendor, architecture=architecture, num_units=num_units, memory_bytes=memory_bytes)
    assert found.kind == (entry.kind if fits(CATALOG.facts[kind], reported) else UNRESOLVED)
    assert (found.kind == UNRESOLVED) == (FACTS_DISAGREE in found.flags)


@given(units=st.integers(1, 400), memory_gib=st.integers(1, 300))
def test_unknown_is_no_contradiction(units: int, memory_gib: int) -> None:
    """A fact that either side lacks decides nothing, and without an architecture nothing is inferred."""
    assert fits(KindFacts(), Reported(num_units=units, memory_bytes=memory_gib * GIB))
    assert fits(KindFacts(architecture="sm_86", units=(units,), memory_gib=(memory_gib,)), Reported())
    assert fitting_kinds(CATALOG.facts, Reported(num_units=units, memory_bytes=memory_gib * GIB)) == ()
