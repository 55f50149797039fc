"""The supervisor's side of a zygote: starts the process, asks it for workers, hears of their ends. Imports no torch."""

import contextlib
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import msgspec

from pytest_mixgpu.launch.isolation import boot_command, import_path, isolated, package_file
from pytest_mixgpu.launch.requests import (
    MAX_PACKET_BYTES,
    Answer,
    Boot,
    Broken,
    Exited,
    Fork,
    Forked,
    Preloaded,
    Request,
    Signal,
    Sweep,
    Swept,
)
from pytest_mixgpu.launch.worker import THREAD_VARIABLES

Environment: TypeAlias = tuple[tuple[str, str], ...]

LATE_VARIABLES = frozenset(
    {
        "CUDA_VISIBLE_DEVICES",
        "HIP_VISIBLE_DEVICES",
        "ROCR_VISIBLE_DEVICES",
        "GPU_DEVICE_ORDINAL",
        "MASTER_ADDR",
        "MASTER_PORT",
        "RANK",
        "LOCAL_RANK",
        "WORLD_SIZE",
    }
)
"""Variables that are read when a device or a process group is first used, not when torch is loaded: workers that
differ in these alone share a zygote."""


def kernel_environment(environment: Mapping[str, str]) -> Environment:
    """The variables that need a zygote of their own, sorted."""
    return tuple(sorted((name, value) for name, value in environment.items() if name not in LATE_VARIABLES))


class Zygote:
    """One preloaded parent process.

    Args:
        environment: variables that it has beyond those of this process.
        preload: modules that it imports before it forks.
    """

    def __init__(self, environment: Environment, preload: Sequence[str]) -> None:
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        boot = Boot(
            path=import_path(),
            package=package_file(),
            control_fd=theirs.fileno(),
            supervisor_pid=os.getpid(),
            preload=tuple(preload),
        )
        # One BLAS thread: a library that starts a pool when it is loaded would make the fork unsafe.
        variables = dict.fromkeys(THREAD_VARIABLES, "1") | dict(environment)
        with theirs:
            self._process = subprocess.Popen(
                boot_command(msgspec.json.encode(boot).decode()),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=self._log,
                env=isolated(os.environ) | variables,
                pass_fds=(theirs.fileno(),),
                # Ctrl-C is the supervisor's: it ends its workers in order.
                start_new_session=True,
            )
        self._control.settimeout(0)
        self.environment = environment
        self.preloaded: Preloaded | None = None
        self.pids: dict[int, int] = {}
        self.exits: dict[int, Exited] = {}
        self.failure = ""
        """Why it can no longer be used; empty while it can."""
        self.preload_unsafe = False
        """Whether the preload started threads or a GPU, so that nothing may be forked after it."""
        self._num_sweeps = 0

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def fileno(self) -> int:
        """The line to wait on."""
        return self._control.fileno()

    def wait(self, timeout_s: float) -> None:
        """Return when it has something to say, or after this time."""
        poll = select.poll()
        poll.register(self._control, select.POLLIN)
        poll.poll(timeout_s * 1000)

    def pump(self) -> None:
        """Take in what it said, without waiting."""
        while not self.failure:
            try:
                packet = self._control.recv(MAX_PACKET_BYTES)
            except BlockingIOError:
                return
            except ConnectionResetError:
                packet = b""
            if not packet:
                self._lose()
                return
            self._take(msgspec.json.decode(packet, type=Answer))

    def _take(self, answer: Answer) -> None:
        if isinstance(answer, Preloaded):
            self.preloaded = answer
        elif isinstance(answer, Broken):
            self.failure, self.preload_unsafe = answer.reason, answer.preload_unsafe
        elif isinstance(answer, Forked):
            self.pids[answer.number] = answer.pid
        elif isinstance(answer, Exited):
            self.exits[answer.number] = answer
        elif isinstance(answer, Swept):
            self._num_sweeps += 1

    def _lose(self) -> None:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(timeout=2.0)
        code = self._process.poll()
        how = f"was killed by {signal.Signals(-code).name}" if code is not None and code < 0 else f"ended with {code}"
        self.failure = f"the parent process of the workers (pid {self.pid}) {how}"
        if tail := self.log_tail():
            self.failure += f"; it said: {tail}"

    def log_tail(self) -> str:
        """The end of what it wrote; workers write into logs of their own."""
        size = self._log.seek(0, os.SEEK_END)
        self._log.seek(max(0, size - 2000))
        return self._log.read().decode(errors="replace").strip()

    def ask(self, request: Request, fds: Sequence[int] = ()) -> None:
        """Send a request; a zygote that is gone is found out by the next `pump`."""
        if self.failure:
            return
        packet = msgspec.json.encode(request)
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self._control.settimeout(None)
            try:
                socket.send_fds(self._control, [packet], list(fds))
            finally:
                self._control.settimeout(0)

    def fork(self, request: Fork, *, line: socket.socket, board_fd: int) -> None:
        """Ask for a worker that gets this end of its channel and this board."""
        self.ask(request, (line.fileno(), board_fd))

    def signal(self, number: int, signum: int, *, group: bool = False) -> None:
        """Send a signal to a worker, or to all that it started."""
        if number in self.exits:
            return
        if self.failure:
            # Without its zygote a worker dies by itself; what it started may not.
            with contextlib.suppress(ProcessLookupError, PermissionError, KeyError):
                os.killpg(self.pids[number], signum)
            return
        self.ask(Signal(number=number, signal=signum, group=group))

    def sweep(self, *, timeout_s: float) -> None:
        """End what workers left behind, and wait until that is done."""
        before = self._num_sweeps
        self.ask(Sweep())
        deadline_s = time.monotonic() + timeout_s
        while self._num_sweeps == before and not self.failure and time.monotonic() < deadline_s:
            self.wait(0.05)
            self.pump()

    def resume(self) -> None:
        """Let it go on if somebody stopped it."""
        self._process.send_signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it by force; its workers die with it."""
        self._process.kill()

    def close(self) -> None:
        """End it and all that it started."""
        self.failure = self.failure or f"the parent process of the workers (pid {self.pid}) was told to end"
        self._control.close()
        self.resume()
        try:
            self._process.wait(timeout=10.0)
        except subprocess.TimeoutExpired:  # stuck in an import
            self._process.kill()
            self._process.wait()
        self._log.close()


def read_tail(path: Path, *, start_bytes: int = 0, num_lines: int = 30) -> str:
    """The last lines of a log from `start_bytes` on; empty when there is none."""
    try:
        with path.open("rb") as log:
            size_bytes = log.seek(0, os.SEEK_END)
            log.seek(max(start_bytes, size_bytes - 16384))
            return "\n".join(log.read().decode(errors="replace").splitlines()[-num_lines:])
    except FileNotFoundError:
        return ""
