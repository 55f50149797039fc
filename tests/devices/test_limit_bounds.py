"""Published limits whose units or clock no source states are held against what their architecture can do at most."""

from typing import Final

import msgspec
import pytest

from pytest_mixgpu.devices.catalog_file import shipped_catalog
from pytest_mixgpu.devices.limits import Limits, shipped_limits

ENGINES: Final = {"sm_90": (4096, 132, 1980.0), "sm_100": (8192, 160, 2100.0)}
"""Dense fp16 operations per clock and unit, most units that any part has switched on, highest clock in MHz."""

HIGHEST_PIN_RATES: Final = {"sm_70": 2.0, "sm_80": 3.6, "sm_90": 6.4, "sm_100": 9.2, "gfx942": 6.4, "gfx950": 9.2}
"""Gbit/s of one pin of the memory that goes with an architecture (HBM2, HBM2E, HBM3, HBM3E)."""

WIDEST_BUSES: Final = {"sm_70": 4096, "sm_80": 5120, "sm_90": 6144, "sm_100": 8192, "gfx942": 8192, "gfx950": 8192}

BY_ENGINE: Final = sorted(kind for kind, facts in shipped_catalog().facts.items() if facts.architecture in ENGINES)
BY_PINS: Final = sorted(kind for kind, facts in shipped_catalog().facts.items() if facts.architecture in WIDEST_BUSES)


def _too_fast(kind: str, limits: Limits) -> bool:
    ops, units, clock_mhz = ENGINES[shipped_catalog().facts[kind].architecture or ""]
    peak = limits.peak("fp16", accumulate="fp32")
    return peak is not None and peak.tera_ops_per_s > 1.01 * ops * units * clock_mhz * 1e-6


def _too_wide(kind: str, limits: Limits) -> bool:
    architecture = shipped_catalog().facts[kind].architecture or ""
    rate = limits.memory and limits.memory.gb_per_s
    return bool(rate and rate > 1.01 * WIDEST_BUSES[architecture] * HIGHEST_PIN_RATES[architecture] / 8)


@pytest.mark.parametrize("kind", sorted(set(BY_ENGINE) & set(shipped_limits())))
def test_no_tensor_peak_is_sparse(kind: str) -> None:
    """All formats of a part twice too high agree with each other; the silicon does not agree with them."""
    limits = shipped_limits()[kind]
    twice = tuple(msgspec.structs.replace(peak, tera_ops_per_s=2 * peak.tera_ops_per_s) for peak in limits.peaks)

    assert not _too_fast(kind, limits)
    assert _too_fast(kind, msgspec.structs.replace(limits, peaks=twice))


@pytest.mark.parametrize("kind", sorted(set(BY_PINS) & set(shipped_limits())))
def test_no_memory_is_faster_than_its_pins(kind: str) -> None:
    """A sum of two directions, or a slip of the keyboard, is more than the bus carries."""
    assert not _too_wide(kind, shipped_limits()[kind])
