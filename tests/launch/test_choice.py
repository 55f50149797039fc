"""Launchers by name."""

import pytest

from pytest_mixgpu.launch.choice import LAUNCHERS, launcher_named


@pytest.mark.parametrize("name", LAUNCHERS)
def test_every_launcher_bears_its_name(name: str) -> None:
    """A launcher says in records what the flag called it."""
    launcher = launcher_named(name)
    launcher.close()

    assert name == launcher.name


def test_unknown_launcher_is_refused() -> None:
    """The error lists the names that there are."""
    with pytest.raises(ValueError, match="choose from local"):
        launcher_named("cloud")
