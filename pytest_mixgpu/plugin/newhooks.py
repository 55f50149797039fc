"""Hooks that a conftest or another plugin can implement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_mixgpu.devices.inventory import Source


@pytest.hookspec(firstresult=True)
def pytest_mixgpu_sources(config: pytest.Config) -> Sequence[Source] | None:
    """Say where to look for devices, in place of the plugin's own ways; None leaves the word to the next one.

    Called once in each process that needs to know what is here: in xdist's controller and in its workers as well, which
    must come to the same devices. A source has one method, `look()`, which returns an `Inventory`; both are in
    `pytest_mixgpu.devices.inventory`. For devices that no driver lists, and for tests without hardware::

        def pytest_mixgpu_sources(config):
            return [MyCluster(), CpuSource()]

    Args:
        config: of this session.
    """
