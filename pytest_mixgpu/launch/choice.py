"""From the name of a launcher, as a flag gives it, to the launcher. Imports a launcher when it is chosen."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_mixgpu.launch.protocol import Launcher
    from pytest_mixgpu.launch.ray_cluster import RayCluster

LAUNCHERS = ("local", "ray")
"""Names that `launcher_named` knows; the flag's own list of choices repeats them, since it may import no room."""


def launcher_named(name: str, *, cluster: RayCluster | None = None) -> Launcher:
    """Make the launcher of that name.

    Args:
        name: one of `LAUNCHERS`.
        cluster: for `ray`: the cluster that the pool was chosen from; None is the one of the environment.

    Raises:
        ValueError: there is none.
    """
    if name == "local":
        from pytest_mixgpu.launch.local import LocalLauncher

        return LocalLauncher()
    if name == "ray":
        from pytest_mixgpu.devices.hosts import host_name
        from pytest_mixgpu.launch.ray_cluster import RayCluster
        from pytest_mixgpu.launch.ray_launcher import RayLauncher

        return RayLauncher(RayCluster(host=host_name()) if cluster is None else cluster)
    raise ValueError(f"no launcher is called {name!r}: choose from {', '.join(LAUNCHERS)}")
