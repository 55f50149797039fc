"""Names of devices."""

import tomllib
from importlib import resources

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.catalog import families, is_kind, kind_of, near_kinds
from pytest_mixgpu.devices.catalog_file import UNKNOWN, UNRESOLVED
from pytest_mixgpu.devices.spec import SpecTerm


def _listed_names() -> list[tuple[str, str]]:
    """Every name in the catalog as a driver reports it, with its vendor."""
    text = resources.files("pytest_mixgpu.devices").joinpath("catalog.toml").read_text(encoding="utf-8")
    tables = tomllib.loads(text)
    names = [
        (table["vendor"], f"{table.get('brand', '')} {name} {table.get('suffix', '')}".strip())
        for table in tables["series"]
        for name in table["names"]
    ]
    keys = ("names", "descriptions", "boards")
    names += [(table["vendor"], name) for table in tables["part"] for key in keys for name in table.get(key, ())]
    return names


@pytest.mark.parametrize(
    ("name", "vendor", "kind", "flags"),
    [
        ("NVIDIA GeForce RTX 3090 Ti", "nvidia", "rtx3090ti", ()),
        ("nvidia  geforce rtx 4090 laptop gpu", "nvidia", "rtx4090-laptop", ("laptop",)),
        ("NVIDIA H100 NVL", "nvidia", "h100-nvl", ()),
        ("NVIDIA RTX A2000 12GB", "nvidia", "rtxa2000-12gb", ()),
        ("NVIDIA TITAN X (Pascal)", "nvidia", "titanx-pascal", ()),
        ("Tesla V100-SXM2-32GB", "nvidia", "v100-sxm-32gb", ()),
        ("GRID A100X-40C", "nvidia", "a100x-40c", ("vgpu",)),
        ("NVIDIA RTX6000-Ada-48Q", "nvidia", "rtx6000-ada-48q", ("vgpu",)),
        ("NVIDIA A100-SXM4-40GB MIG 1g.5gb", "nvidia", "a100-mig-1g.5gb", ("mig",)),
        ("NVIDIA H100 80GB HBM3 MIG 1g.10gb+me", "nvidia", "h100-mig-1g.10gb+me", ("mig",)),
        ("NVIDIA A30 MIG 1g.6gb", "nvidia", "a30-mig-1g.6gb", ("mig",)),
        ("NVIDIA Z9 MIG 1g.6gb", "nvidia", UNRESOLVED, ("mig",)),
        ("AMD Instinct MI250X / MI250 VF", "amd", UNRESOLVED, ("two-parts-one-name", "virtual-function")),
        ("AMD Instinct MI999X VF", "amd", UNKNOWN, ()),
        ("AMD Radeon(TM) Graphics", "amd", UNRESOLVED, ("generic-name",)),
        ("sm_90", "nvidia", UNRESOLVED, ("arch-not-device",)),
        ("   ", "nvidia", UNRESOLVED, ("empty",)),
        ("NVIDIA", "nvidia", UNKNOWN, ()),
        ("NVIDIA A40 Foo", "nvidia", UNKNOWN, ()),
        ("NVIDIA A4", "nvidia", UNKNOWN, ()),
    ],
)
def test_a_name_gives_its_exact_kind_or_the_reason_why_not(
    name: str, vendor: str, kind: str, flags: tuple[str, ...]
) -> None:
    """Whole names only; slices, profiles and guests are kinds of their own."""
    naming = kind_of(name, vendor=vendor)

    assert (kind, flags) == (naming.kind, naming.flags)


@pytest.mark.parametrize(
    ("name", "num_units", "kind"),
    [
        ("AMD Instinct MI250X / MI250", 110, "mi250x"),
        ("AMD Instinct MI250X / MI250", 104, "mi250"),
        ("AMD Instinct MI250X / MI250", 60, UNRESOLVED),
        ("AMD Instinct MI250X / MI250", None, UNRESOLVED),
        ("AMD Instinct MI300X OAM", 304, "mi300x"),
        ("AMD Instinct MI300X OAM", 80, "mi308x"),
        ("AMD Instinct MI300X OAM", 228, UNRESOLVED),
        ("AMD Instinct MI300X OAM", None, "mi300x"),
        ("AMD Instinct MI300X", 304, "mi300x"),
    ],
)
def test_units_decide_between_parts_that_share_a_name(name: str, num_units: int | None, kind: str) -> None:
    """Where one name fits several parts, the number of compute units tells them apart or nothing does."""
    assert kind == kind_of(name, vendor="amd", num_units=num_units).kind


@pytest.mark.parametrize(("vendor", "name"), _listed_names())
def test_every_listed_name_is_found_with_and_without_the_makers_prefix(vendor: str, name: str) -> None:
    """The prefix is no part of a name, and every kind in the catalog can be asked for."""
    kind = kind_of(name, vendor=vendor).kind

    assert kind == kind_of(f"{vendor.upper()}  {name.swapcase()} ", vendor=vendor).kind
    assert is_kind(kind)
    assert kind == SpecTerm(name=kind, count=1).name


@given(pair=st.sampled_from(_listed_names()), tail=st.from_regex(r" ?[A-Z][a-z]{3}", fullmatch=True))
def test_a_longer_name_is_never_its_beginning(pair: tuple[str, str], tail: str) -> None:
    """No prefix of a name decides."""
    vendor, name = pair

    assert UNKNOWN == kind_of(name + tail, vendor=vendor).kind or "/" in name


@given(name=st.text(max_size=60), vendor=st.sampled_from(["nvidia", "amd", "intel"]))
def test_any_text_gets_a_kind_that_is_one_word(name: str, vendor: str) -> None:
    """Hostile names end in `unresolved`, `unknown` or a kind, never in an exception."""
    assert SpecTerm(name=kind_of(name, vendor=vendor).kind, count=1)


def test_a_family_is_no_kind() -> None:
    """The bare model of parts that differ cannot be asked for."""
    listed = families()

    assert ("h100-sxm", "h100-pcie", "h100-nvl") == listed["h100"]
    assert [] == [family for family in listed if is_kind(family)]
    assert [] == [kind for kinds in listed.values() for kind in kinds if not is_kind(kind)]


@pytest.mark.parametrize(
    ("name", "is_one"),
    [("a40-48q", True), ("h100-mig-1g.10gb", True), ("mi300x-vf", True), ("a4o", False), ("unresolved", False)],
)
def test_kinds_that_a_rule_makes_can_be_asked_for(name: str, *, is_one: bool) -> None:
    """No list holds all profiles and slices."""
    assert is_one == is_kind(name)


def test_a_misspelt_name_gets_near_ones_for_the_message() -> None:
    """They are offered, never chosen."""
    assert "a40" in near_kinds("a400")
    assert () == near_kinds("zzzzzzzz")
