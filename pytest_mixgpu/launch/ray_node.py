"""What runs on a node of a Ray cluster: an agent that knows its devices, and the host of one worker. Imports no torch.

Both are plain classes that become actors where they are started. Neither lives longer than the session that started it,
and whatever they forked dies with them.
"""

from __future__ import annotations

import os
import queue
import socket
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.devices.hosts import ADDRESS_VARIABLE, HOST_VARIABLE
from pytest_mixgpu.devices.inventory import Inventory, take_inventory
from pytest_mixgpu.devices.lease import Lease, busy_ids, lease
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.errors import DeviceBusyError, RunFailedError
from pytest_mixgpu.launch.isolation import add_to_path
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits, Message, Task
from pytest_mixgpu.launch.supervise import Sight  # noqa: TC001 - a field of a value that is decoded

if TYPE_CHECKING:
    from collections.abc import Callable

    from pytest_mixgpu.launch.crew import LocalCrew

VISIBILITY = (
    "CUDA_VISIBLE_DEVICES",
    "CUDA_DEVICE_ORDER",
    "HIP_VISIBLE_DEVICES",
    "ROCR_VISIBLE_DEVICES",
    "GPU_DEVICE_ORDINAL",
)
MAX_LOG_BYTES = 1 << 20
"""Of a worker's log that is brought back whole; of a longer one the end."""
_TICK_S = 0.2


class NodeContext(msgspec.Struct, frozen=True, kw_only=True):
    """What a node is told of itself and of its supervisor."""

    host: str
    """What the session calls it."""
    address: str
    path: tuple[str, ...]
    """The supervisor's import path; what is not there on this node changes nothing."""
    folder: str
    """The supervisor's working directory."""


class Look(msgspec.Struct, frozen=True, kw_only=True):
    """What the host of a worker answers."""

    clock_s: float
    """CLOCK_MONOTONIC there, when it was seen."""
    messages: tuple[Message, ...] = ()
    sight: Sight | None = None
    """None before the worker was forked."""
    failure: str = ""
    """Why it did not start."""
    log_tail: str = ""


def settle_in(context: NodeContext) -> None:
    """Make this process one of that host: its name, its address, what its node lets through, the supervisor's path."""
    os.environ[HOST_VARIABLE] = context.host
    os.environ[ADDRESS_VARIABLE] = context.address
    # Ray hides every GPU from an actor that asked for none. What the node itself was started with is what counts.
    own = _environment_of(os.getppid())
    for name in VISIBILITY:
        os.environ.pop(name, None)
        if name in own:
            os.environ[name] = own[name]
    # Ray makes its workers nicer than others, and a participant would be slower than the same one without Ray.
    with suppress(PermissionError):
        os.setpriority(os.PRIO_PROCESS, 0, 0)
    if interface := _interface_of(context.address):
        os.environ.setdefault("GLOO_SOCKET_IFNAME", interface)
    if Path(context.folder).is_dir():
        os.chdir(context.folder)
    add_to_path(context.path)


class NodeAgent:
    """Lists the devices of its node and holds their leases.

    Args:
        context: a `NodeContext`, as JSON.
    """

    def __init__(self, context: bytes) -> None:
        self._context = msgspec.json.decode(context, type=NodeContext)
        settle_in(self._context)
        # Of this thread; the pool that answers keeps what Ray gave it.
        self._niceness = os.getpriority(os.PRIO_PROCESS, 0)
        self._leases: dict[int, Lease] = {}
        self._lock = threading.Lock()
        self._count = 0

    def inventory(self) -> bytes:
        """The devices that this node may use, as JSON."""
        found = rename_host(take_inventory(), self._context.host)
        if self._niceness > 0:
            note = f"participants run at niceness {self._niceness} there: start Ray with RAY_worker_niceness=0"
            found = msgspec.structs.replace(found, notes=(*found.notes, note))
        return msgspec.json.encode(found)

    def busy_ids(self, pool: bytes, folder: str) -> list[str]:
        """Ids of those devices that somebody holds now."""
        return sorted(busy_ids(msgspec.json.decode(pool, type=Pool), folder=Path(folder) if folder else None))

    def lease(  # noqa: PLR0913, PLR0917 - as `devices.lease.lease`, in words that travel
        self,
        pool: bytes,
        holder: str,
        folder: str,
        wait_s: float,
        others: bytes,
        session: str,
        siblings_wait_s: float,
    ) -> tuple[int, str]:
        """Take devices of this node.

        Returns:
            The lease's number and what was taken, as JSON; or 0 and why a device cannot be had.
        """
        try:
            taken = lease(
                msgspec.json.decode(pool, type=Pool),
                holder=holder,
                folder=Path(folder) if folder else None,
                wait_s=wait_s,
                others=msgspec.json.decode(others, type=Pool).devices,
                session=session,
                siblings_wait_s=siblings_wait_s,
            )
        except DeviceBusyError as error:
            return 0, str(error)
        with self._lock:
            self._count += 1
            self._leases[self._count] = taken
            return self._count, msgspec.json.encode(taken.pool).decode()

    def release(self, number: int) -> None:
        """Give them back; a second time does nothing."""
        with self._lock:
            taken = self._leases.pop(number, None)
        if taken is not None:
            taken.release()


class WorkerHost:
    """Forks and watches one worker at a time; all that its supervisor asks is answered at once, or by the next look.

    Args:
        context: a `NodeContext`, as JSON.
    """

    def __init__(self, context: bytes) -> None:
        self._context = msgspec.json.decode(context, type=NodeContext)
        settle_in(self._context)
        self._logs = tempfile.TemporaryDirectory(prefix="mixgpu-logs-")
        self._changed = threading.Condition()
        self._messages: list[Message] = []
        self._run = 0
        self._posted = 0
        self._early: dict[int, Message] = {}
        self._look = Look(clock_s=time.monotonic())
        self._orders: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._bell, self._ear = socket.socketpair()
        self._ear.settimeout(0)
        self._launcher: LocalLauncher | None = None
        self._crew: LocalCrew | None = None
        self._task: Task | None = None
        # One thread forks, watches and ends: a worker dies with the thread that started its parent.
        threading.Thread(target=self._serve, daemon=True, name="worker-host").start()

    def start(self, run: int, task: bytes, limits: bytes, modules: tuple[str, ...] | None) -> None:
        """Fork the worker of a run; what comes of it is told by `look`."""
        with self._changed:
            self._run, self._posted = run, 0
            self._messages.clear()
            self._early.clear()
            self._look = Look(clock_s=time.monotonic())
        self._order(
            lambda: self._start(msgspec.json.decode(task, type=Task), msgspec.json.decode(limits, type=Limits), modules)
        )

    def look(self, run: int, wait_s: float) -> bytes:
        """What was said and seen in a run since the last look, as JSON; waits this long for news.

        Calls overtake each other: one of an earlier run, or before the start, takes nothing away.
        """
        with self._changed:
            if run != self._run:
                self._changed.wait_for(lambda: run == self._run, timeout=wait_s)
            if run != self._run:
                return msgspec.json.encode(Look(clock_s=time.monotonic()))
            before = _state_of(self._look)
            self._changed.wait_for(lambda: self._messages or _state_of(self._look) != before, timeout=wait_s)
            messages, self._messages = tuple(self._messages), []
            return msgspec.json.encode(msgspec.structs.replace(self._look, messages=messages))

    def send(self, run: int, number: int, message: Message) -> None:
        """Say something to the worker; messages are numbered from 0 in each run, and leave in that order."""
        self._order(lambda: self._post(run, number, message))

    def explain(self) -> tuple[str, str]:
        """The end of the worker's log with the stacks of its threads, and what the kernel killed here meanwhile."""
        answer: queue.SimpleQueue[tuple[str, str]] = queue.SimpleQueue()
        self._order(lambda: answer.put(self._explain()))
        return answer.get(timeout=10.0)

    def declare_over(self) -> None:
        """Let the worker know that the run ends in order."""
        self._order(lambda: self._crew.declare_over() if self._crew is not None else None)

    def end(self) -> bytes:
        """End the worker and return its log; nothing of it is left when this returns."""
        answer: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self._order(lambda: answer.put(self._end()))
        return answer.get()

    def close(self) -> None:
        """End the preloaded process, too."""
        done = threading.Event()
        self._order(lambda: self._close(done))
        done.wait(15.0)

    def _order(self, order: Callable[[], None]) -> None:
        self._orders.put(order)
        with suppress(BlockingIOError):
            self._bell.send(b"!")

    def _serve(self) -> None:
        while True:
            if self._crew is None:
                self._orders.get()()
                continue
            said = self._crew.attend(_TICK_S)
            self._show([message for _, message in said])
            with suppress(BlockingIOError):
                self._ear.recv(4096)
            with suppress(queue.Empty):
                while True:
                    self._orders.get_nowait()()

    def _show(self, messages: list[Message], *, failure: str = "", log_tail: str = "") -> None:
        sight = self._crew.sights()[0] if self._crew is not None else None
        with self._changed:
            self._messages += messages
            self._look = Look(clock_s=time.monotonic(), sight=sight, failure=failure, log_tail=log_tail)
            self._changed.notify_all()

    def _start(self, task: Task, limits: Limits, modules: tuple[str, ...] | None) -> None:
        self._task = task
        try:
            self._check(task.device)
            if self._launcher is None:
                self._launcher = LocalLauncher() if modules is None else LocalLauncher(preload=modules)
            crew = self._launcher.begin([task], log_dir=Path(self._logs.name), limits=limits)
        except RunFailedError as error:
            self._show([], failure=str(error), log_tail=error.log_tail)
            return
        except Exception as error:  # noqa: BLE001 - the supervisor must hear of it, whatever it is
            self._show([], failure=f"{type(error).__name__}: {error}")
            return
        crew.wake_on(self._ear)
        self._crew = crew
        self._show([])

    def _check(self, device: Device | None) -> None:
        """Make sure that what was chosen is here, and is the exact kind that was asked for."""
        if device is None or device.vendor == "cpu":
            return
        here = {each.id: each for each in take_inventory().devices}
        found = here.get(device.id)
        if found is None or found.kind != device.kind:
            what = "is not here" if found is None else f"is a {found.kind} ({found.name})"
            raise RunFailedError(f"{device.id} was chosen as {device.kind}, and on {self._context.host} it {what}")

    def _post(self, run: int, number: int, message: Message) -> None:
        if run != self._run or self._crew is None or self._task is None:
            return
        self._early[number] = message
        while self._posted in self._early:
            self._crew.post(self._task.name, self._early.pop(self._posted))
            self._posted += 1

    def _explain(self) -> tuple[str, str]:
        if self._crew is None or self._task is None:
            return self._look.log_tail, ""
        self._crew.ask_for_stacks(self._task.name)
        return self._crew.log_tail(self._task.name), self._crew.memory_kills()

    def _end(self) -> bytes:
        crew, self._crew = self._crew, None
        if crew is not None:
            crew.stop()
        if self._task is None:
            return b""
        path = Path(self._logs.name) / f"{self._task.name}.log"
        self._task = None
        if not path.exists():
            return b""
        log = path.read_bytes()
        path.unlink()
        return log[-MAX_LOG_BYTES:]

    def _close(self, done: threading.Event) -> None:
        self._end()
        if self._launcher is not None:
            self._launcher.close()
        self._logs.cleanup()
        done.set()


def rename_host(inventory: Inventory, host: str) -> Inventory:
    """Call the host of every device so; a core carries the name in its id."""
    return msgspec.structs.replace(
        inventory,
        devices=tuple(
            msgspec.structs.replace(
                device, host=host, id=f"cpu:{host}:{device.ordinal}" if device.vendor == "cpu" else device.id
            )
            for device in inventory.devices
        ),
    )


def _state_of(look: Look) -> tuple[object, ...]:
    """What must be told at once; the rest may wait for the next look."""
    sight = look.sight
    if sight is None:
        return (False, look.failure)
    return (True, look.failure, sight.greeted, sight.ended, sight.returned, sight.failure is not None)


def _environment_of(pid: int) -> dict[str, str]:
    try:
        text = Path(f"/proc/{pid}/environ").read_bytes().decode(errors="surrogateescape")
    except OSError:
        return {}
    return dict(entry.partition("=")[::2] for entry in text.split("\0") if entry)


def _interface_of(address: str) -> str:
    """The network interface that has this address; empty if none has."""
    import psutil

    for name, entries in psutil.net_if_addrs().items():
        if any(entry.address == address for entry in entries):
            return name
    return ""
