"""Kinds of a user's own: they add to the shipped ones, change none of these, and are told from them."""

from pathlib import Path

import pytest

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.catalog import is_kind, kind_of
from pytest_mixgpu.devices.catalog_file import OWN_KIND, read_own_kinds, shipped_catalog
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.limits import limits_of
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import CatalogError, PoolShortfallError

OWN = """
[[part]]
vendor = "nvidia"
kind = "x1-sxm"
family = "x1"
names = ["X1 SXM"]

[facts]
x1-sxm = { architecture = "sm_200", units = [100], memory_gib = [64] }

[source.sheet]
title = "X1, data sheet"
url = "https://example.org/x1"
edition = "2026-11"

[limits.x1-sxm]
chip = { source = "sheet", units = 100, max_clock_mhz = 2000 }
peaks = [{ source = "sheet", format = "bf16", engine = "matrix", tera_ops_per_s = 204.8, accumulate = "fp32" }]
"""


def written(folder: Path, text: str = OWN) -> Path:
    """Write a user's file."""
    path = folder / "kinds.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_kind_of_ones_own_is_named_and_flagged(tmp_path: Path) -> None:
    """The record says that no shipped catalog knows it; its limits and facts count."""
    catalog = read_own_kinds(written(tmp_path))

    assert kind_of("NVIDIA X1 SXM", vendor="nvidia", catalog=catalog).kind == "x1-sxm"
    assert OWN_KIND in kind_of("NVIDIA X1 SXM", vendor="nvidia", catalog=catalog).flags
    assert kind_of("NVIDIA X1 SXM", vendor="nvidia", num_units=99, catalog=catalog).kind == "unresolved"
    assert limits_of("x1-sxm", catalog.limits) is not None
    assert is_kind("x1-sxm", catalog)
    assert not is_kind("x1-sxm")
    assert kind_of("NVIDIA A40", vendor="nvidia", catalog=catalog) == kind_of("NVIDIA A40", vendor="nvidia")


def test_a_request_may_name_it(tmp_path: Path) -> None:
    """Without the file it is a slip of the keyboard; with it, a shortfall."""
    catalog = read_own_kinds(written(tmp_path))
    with pytest.raises(PoolShortfallError):
        allocate(PoolSpec.parse("x1-sxm:1"), Inventory(devices=()), catalog=catalog)


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('names = ["X1 SXM"]', 'names = ["A40"]', "is read without this file, as a40"),
        ("x1-sxm", "a40", "a40"),
        ("x1-sxm", "cpu", "cpu"),
        ("x1-sxm", "auto", "auto"),
        ('vendor = "nvidia"', 'vendor = "acme"', r"\[\[part\]\] number 1, vendor"),
        ('family = "x1"', 'famly = "x1"', "famly"),
        ("units = [100]", 'units = ["100"]', "facts"),
        ('source = "sheet", units', 'source = "sheat", units', "sheat"),
        ("tera_ops_per_s = 204.8", "tera_ops_per_s = -1", "tera_ops_per_s"),
        ("[facts]", "[facts", "line"),
    ],
)
def test_what_cannot_be_is_refused_with_its_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    """A name that is read already, a kind that is there, a slip: the error names file and field."""
    assert old in OWN
    path = written(tmp_path, OWN.replace(old, new))
    with pytest.raises(CatalogError, match=told) as refused:
        read_own_kinds(path)
    assert str(path) in str(refused.value)


def test_shipped_kinds_stay_as_they_are(tmp_path: Path) -> None:
    """A user's file adds; every shipped name gives what it gave before."""
    catalog, shipped = read_own_kinds(written(tmp_path)), shipped_catalog()
    assert shipped.names.items() <= catalog.names.items()
    assert shipped.facts.items() <= catalog.facts.items()
    assert catalog.own == {"x1-sxm"}
