"""What a launcher is: from tasks to a crew of workers that can be spoken to and is watched. Imports no torch."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol, Self

import msgspec

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.errors import MixgpuError

Message = dict[str, object]
"""What supervisor and workers say to each other: JSON objects; `kind` says what it is."""

WAITING_PHASES = frozenset({"wait", "queue", "idle", "collective"})
"""Phases in which a worker says of itself that it waits for others: in a hang it is blamed after those that work."""

OPENING_PHASES = frozenset({"start", "open", "join", "first step"})
"""Phases before a worker's first step is done, in which the first call into a device may hold the interpreter."""


class PeerLostError(MixgpuError, ConnectionError):
    """A worker cannot reach another one; raised in the worker, so that the lost peer is looked at before the raiser.

    Args:
        peer: name of the other worker's task.
        detail: what was seen.
    """

    def __init__(self, peer: str, detail: str = "the connection ended") -> None:
        super().__init__(f"{peer} does not answer: {detail}")
        self.peer = peer


class PeerFaultError(MixgpuError):
    """Another worker did what it must not, as the one that raises this saw; the other one is blamed.

    Args:
        peer: name of the other worker's task.
        detail: what it did, as the rest of a sentence that begins with its name.
        phase: in which of its phases that was; empty is the one that it says it is in.
    """

    def __init__(self, peer: str, detail: str, *, phase: str = "") -> None:
        super().__init__(f"{peer} {detail}")
        self.peer = peer
        self.phase = phase


class Task(msgspec.Struct, frozen=True, kw_only=True):
    """One worker to be started."""

    name: str
    """`participant-0`, `coordinator`: how errors and logs call it."""
    entry: str
    """`module:function`, called as `function(channel, payload)` in the worker."""
    payload: Message
    device: Device | None = None
    """The device that it works on; None for a coordinator."""
    host: str = ""
    """Where it runs, if it has no device; empty is the supervisor's host."""
    cores: tuple[int, ...] = ()
    """CPU cores that it is pinned to; empty leaves it free."""
    memory_node: int | None = None
    """NUMA node that its memory may come from, where the kernel allows to say so; None leaves it free."""
    environment: tuple[tuple[str, str], ...] = ()
    """Further variables, set before torch is imported; those of the device come on top."""
    num_threads: int = 1
    """Compute threads of torch and of the BLAS below it."""


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How long silence is borne before a worker is held to be lost."""

    start_s: float = 120.0
    """From the request to the worker's first word."""
    heartbeat_s: float = 15.0
    """Between two signs of life of a worker process (a stopped process gives none)."""
    opening_heartbeat_s: float = 120.0
    """The same while a worker is in one of `OPENING_PHASES` and not stopped: the first call into a driver that keeps
    nothing ready lasts long on a host with many GPUs, and no other thread runs meanwhile."""
    progress_s: float = 300.0
    """Between two words of a living worker about what it does: a hang. It bounds what happens between two such words
    (a step, a small batch, a piece of an update), not a round; and how long all may wait for each other."""
    grace_s: float = 5.0
    """From the wish to stop to SIGKILL."""


class Channel(Protocol):
    """The worker's end of the line to its supervisor."""

    def send(self, message: Message) -> None:
        """Say something to the supervisor."""

    def receive(self) -> Message:
        """Wait for the supervisor's next word; ends the worker when the supervisor is gone."""

    def status(self, *, phase: str, round_index: int | None = None) -> None:
        """State what is being done now; it travels with the heartbeat and is what a failure names.

        Saying the same again shows progress too. A worker that waits for others says one of `WAITING_PHASES`. While it
        waits in `receive`, it is the supervisor's turn and no progress is asked of it.
        """


class Crew(Protocol):
    """The workers of one run, as the supervisor sees them. Leaving the `with` block stops whatever still runs."""

    def send(self, worker: str, message: Message) -> None:
        """Say something to one worker."""

    def receive(self, *, timeout_s: float | None = None) -> tuple[str, Message]:
        """Wait for the next word of any worker: its name and what it said.

        Raises:
            RunFailedError: a worker raised, was killed, stopped giving signs of life, or made no progress; or nothing
                was said for `timeout_s`. It names the worker that is to blame, its device, host, phase and round.
        """

    def stop(self) -> None:
        """End all workers; nothing is left running when this returns.

        Workers do not end in the same instant. Where none was to blame before, one that sees another one go leaves
        without a word, too: its log shows no failure that was none.
        """

    def __enter__(self) -> Self: ...

    def __exit__(self, *exc_info: object) -> None: ...


class Launcher(Protocol):
    """A way to start workers."""

    name: str

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> Crew:
        """Start all tasks and return once each has said its first word.

        Raises:
            RunFailedError: one of them did not start.
        """

    def warm(self, environments: Iterable[Iterable[tuple[str, str]]], *, modules: Sequence[str] | None = None) -> None:
        """Prepare for workers with these environments, all at once, and return when nothing more goes on.

        Called once before the first run of a session with `Device.environment` of every device of every planned run,
        and `()` for coordinators, so that no preload goes on beside a measured round. `modules` are what these workers
        will import; None leaves it to the launcher. Environments that are prepared already cost nothing. A preparation
        that fails, or takes longer than `Limits.start_s`, is given up without an error: `start` tries again, and says
        what is wrong with it.
        """

    def close(self) -> None:
        """Release what is kept between runs (preloaded parent processes)."""
