"""What supervisor and zygote say to each other: one struct a message, JSON in one packet. Imports no torch."""

from typing import TypeAlias

import msgspec

MAX_PACKET_BYTES = 1 << 16


class Boot(msgspec.Struct, frozen=True, kw_only=True):
    """What a zygote is started with."""

    path: tuple[str, ...]
    """The supervisor's `sys.path`: searched after the zygote's own."""
    package: str
    """The file of our package, as the supervisor loaded it."""
    control_fd: int
    supervisor_pid: int
    preload: tuple[str, ...]


class Fork(msgspec.Struct, frozen=True, kw_only=True, tag="fork"):
    """Ask for a worker; its end of the channel and its board travel with the packet."""

    number: int
    """Names the worker between the two; a process id could be used again."""
    name: str
    log_path: str
    folder: str
    """Its working directory."""
    path: tuple[str, ...]
    cores: tuple[int, ...]
    memory_node: int | None
    environment: tuple[tuple[str, str], ...]
    num_threads: int
    beat_every_s: float


class Signal(msgspec.Struct, frozen=True, kw_only=True, tag="signal"):
    """Send a signal to a worker that has not ended, alone or with all that it started."""

    number: int
    signal: int
    group: bool = False


class Sweep(msgspec.Struct, frozen=True, kw_only=True, tag="sweep"):
    """End what workers left behind."""


class Preloaded(msgspec.Struct, frozen=True, kw_only=True, tag="preloaded"):
    """The zygote is ready to fork."""

    missing: tuple[str, ...]
    """Modules of the preload that are not installed."""
    num_threads: int
    """Threads of the zygote's process: 1, or a fork would not be safe."""


class Broken(msgspec.Struct, frozen=True, kw_only=True, tag="broken"):
    """The zygote cannot be used."""

    reason: str
    preload_unsafe: bool = False
    """Whether nothing may be forked after this preload, so that a zygote without one would do."""


class Forked(msgspec.Struct, frozen=True, kw_only=True, tag="forked"):
    """A worker exists."""

    number: int
    pid: int


class Exited(msgspec.Struct, frozen=True, kw_only=True, tag="exited"):
    """A worker ended: with an exit code, or by a signal."""

    number: int
    code: int | None = None
    signal: int | None = None


class Swept(msgspec.Struct, frozen=True, kw_only=True, tag="swept"):
    """Nothing is left but live workers."""

    num_ended: int


Request: TypeAlias = Fork | Signal | Sweep
Answer: TypeAlias = Preloaded | Broken | Forked | Exited | Swept
