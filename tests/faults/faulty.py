"""Workers that go wrong at a stated phase of a stated round: the real ones, on a line that brings the fault.

The fault happens inside the worker's own process, so the same table serves every launcher.
"""

import array
import ctypes
import importlib
import math
import os
import resource
import signal
import socket
import struct
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from pytest_mixgpu.jobs import coordinator
from pytest_mixgpu.jobs.messages import Message, Update
from pytest_mixgpu.jobs.state import FlatState
from pytest_mixgpu.jobs.wire import NOTHING, Connection
from pytest_mixgpu.launch.protocol import Channel, Crew, Launcher, Limits, Task
from pytest_mixgpu.launch.protocol import Message as Payload

HANG_S = 600
SLOW_S = 0.05
"""How much longer each step of a slow participant takes."""
_SO_ATTACH_FILTER = 26


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen, and when; the entry of the worker is filled in."""

    what: str
    phase: str
    round_index: int | None = None
    entry: str = ""


class FaultyChannel:
    """A line that does something to its worker when a phase of a round is entered, once; slowness stays."""

    def __init__(self, channel: Channel, fault: Fault) -> None:
        self._channel = channel
        self._fault = fault
        self._is_done = False

    def send(self, message: Payload) -> None:
        self._channel.send(message)

    def receive(self) -> Payload:
        return self._channel.receive()

    def status(self, *, phase: str, round_index: int | None = None) -> None:
        self._channel.status(phase=phase, round_index=round_index)
        fault = self._fault
        if fault.what == "slow" and phase == fault.phase:
            time.sleep(SLOW_S)
        elif not self._is_done and (phase, round_index) == (fault.phase, fault.round_index):
            self._is_done = True
            FAULTS[fault.what]()


def _raise() -> None:
    raise FloatingPointError("the gradient blew up")


def _raise_without_room_for_the_log() -> None:
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    raise FloatingPointError("the gradient blew up")


def _signal(name: str) -> Callable[[], None]:
    return lambda: os.kill(os.getpid(), signal.Signals[name])


def _change_update(change: Callable[[memoryview], memoryview]) -> Callable[[], None]:
    """From now on this worker's updates are others."""
    prepare = FlatState.prepare_update

    def spoil() -> None:
        FlatState.prepare_update = lambda state: change(prepare(state))  # type: ignore[method-assign,assignment]

    return spoil


def _with_nan(update: memoryview) -> memoryview:
    struct.pack_into("f", update, update.nbytes - 4, math.nan)
    return update


def _send_half(*, then_hang: bool) -> Callable[[], None]:
    """The next update is announced whole, and half of it goes out."""
    send = Connection.send

    def send_half(line: Connection, message: Message, payload: memoryview = NOTHING) -> None:
        if not isinstance(message, Update):
            send(line, message, payload)
            return
        line.queue(message, payload)
        half = payload.nbytes // 2
        while line.can_push(half):
            line.push(half)
        if then_hang:
            time.sleep(HANG_S)

    def spoil() -> None:
        Connection.send = send_half  # type: ignore[method-assign,assignment]

    return spoil


def _cut_network() -> None:
    """Drop whatever arrives on this worker's TCP lines, its peers' acknowledgements too: no FIN, no RST."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0))  # BPF_RET | BPF_K: keep 0 bytes
    filter_ = struct.pack("HxxxxxxP", 1, ctypes.addressof(program))
    for entry in Path("/proc/self/fd").iterdir():
        with suppress(OSError):
            sock = socket.socket(fileno=os.dup(int(entry.name)))
            if sock.family == socket.AF_INET and sock.getpeername():
                sock.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, filter_)


def _set_clock_back() -> None:
    """The host's clock, as the coordinator reads it, goes back by an hour."""
    vars(coordinator)["utc_now"] = lambda: (datetime.now(UTC) - timedelta(hours=1)).isoformat(timespec="milliseconds")


def _take_all_memory() -> None:
    resource.setrlimit(resource.RLIMIT_AS, (1 << 20, resource.RLIM_INFINITY))
    array.array("b", bytes(1 << 30))


FAULTS: dict[str, Callable[[], None]] = {
    "raise": _raise,
    "raise, log full": _raise_without_room_for_the_log,
    "memory": _take_all_memory,
    "SIGKILL": _signal("SIGKILL"),
    "SIGSTOP": _signal("SIGSTOP"),
    "hang": lambda: time.sleep(HANG_S),
    "NaN update": _change_update(_with_nan),
    "wrong-shaped update": _change_update(lambda update: update[:-4]),
    "truncated update": _send_half(then_hang=True),
    "truncated update, then waits": _send_half(then_hang=False),
    "network cut": _cut_network,
    "clock set back": _set_clock_back,
}


def fail(channel: Channel, payload: Payload) -> None:
    """Entry: the worker that the payload is for, on a faulty line."""
    own = {key: value for key, value in payload.items() if key != "fault"}
    fault = msgspec.convert(payload["fault"], Fault)
    module, _, function = fault.entry.partition(":")
    getattr(importlib.import_module(module), function)(FaultyChannel(channel, fault), own)


class FaultyLauncher:
    """A launcher that makes one worker go wrong.

    Args:
        inner: what really starts workers.
        worker: the one that is to go wrong.
        fault: what is to happen to it.
    """

    def __init__(self, inner: Launcher, worker: str, fault: Fault) -> None:
        self._inner = inner
        self._worker = worker
        self._fault = fault
        self.name = inner.name

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> Crew:
        return self._inner.start([self._spoil(task) for task in tasks], log_dir=log_dir, limits=limits)

    def warm(self, environments: Iterable[Iterable[tuple[str, str]]], *, modules: Sequence[str] | None = None) -> None:
        self._inner.warm(environments, modules=modules)

    def close(self) -> None:
        self._inner.close()

    def _spoil(self, task: Task) -> Task:
        if task.name != self._worker:
            return task
        fault = msgspec.to_builtins(msgspec.structs.replace(self._fault, entry=task.entry))
        return msgspec.structs.replace(task, entry="tests.faults.faulty:fail", payload={**task.payload, "fault": fault})
