"""Where the plugin keeps its state on pytest's objects, and under which name a suite's lock lies. Imports no room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from pytest_mixgpu.devices.inventory import Inventory
    from pytest_mixgpu.marks.model import Verdict
    from pytest_mixgpu.plugin.session import MixgpuSession

LOCK_NAME = "passmarks.lock"

SESSION: pytest.StashKey[MixgpuSession] = pytest.StashKey()
SESSION_ID: pytest.StashKey[str] = pytest.StashKey()
"""The session's id, made by the process that owns the terminal and handed to xdist's workers."""
INVENTORY: pytest.StashKey[Inventory] = pytest.StashKey()
"""What is here, once this process has looked."""
OPINIONS: pytest.StashKey[list[Verdict]] = pytest.StashKey()
"""Verdicts of one test, in the order in which they fell."""
