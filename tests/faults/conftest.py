"""Launchers that the table of faults is run on, and a variable by which whatever they leave running is found."""

import os
import secrets
from collections.abc import Iterator

import pytest

from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Launcher
from tests.faults.left import FAMILY


@pytest.fixture(scope="session")
def family() -> Iterator[str]:
    """What `FAMILY` is set to in every process that these tests start."""
    os.environ[FAMILY] = secrets.token_hex(8)
    yield os.environ[FAMILY]
    del os.environ[FAMILY]


@pytest.fixture(scope="session", params=["local"])
def launcher(request: pytest.FixtureRequest, family: str) -> Iterator[Launcher]:
    """Each launcher that there is; another one is a further parameter."""
    del request, family
    with LocalLauncher() as made:
        yield made
