"""One launcher without a preload for all tests of this room that do not break it."""

from collections.abc import Iterator

import pytest

from pytest_mixgpu.launch.local import LocalLauncher


@pytest.fixture(scope="session")
def launcher() -> Iterator[LocalLauncher]:
    with LocalLauncher(preload=()) as launcher:
        yield launcher
