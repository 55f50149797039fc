"""From the name of a launcher, as a flag gives it, to the launcher. Imports a launcher when it is chosen."""

from pytest_mixgpu.launch.protocol import Launcher

LAUNCHERS = ("local",)
"""Names that `launcher_named` knows; the flag's own list of choices repeats them, since it may import no room."""


def launcher_named(name: str) -> Launcher:
    """Make the launcher of that name.

    Raises:
        ValueError: there is none.
    """
    if name == "local":
        from pytest_mixgpu.launch.local import LocalLauncher

        return LocalLauncher()
    raise ValueError(f"no launcher is called {name!r}: choose from {', '.join(LAUNCHERS)}")
