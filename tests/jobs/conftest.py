"""One launcher for all tests of this room: preloading torch costs seconds, forking does not."""

from collections.abc import Iterator

import pytest

from pytest_mixgpu.launch.local import LocalLauncher


@pytest.fixture(scope="session")
def torch_launcher() -> Iterator[LocalLauncher]:
    with LocalLauncher() as launcher:
        yield launcher
