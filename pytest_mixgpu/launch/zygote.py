"""A zygote process: imports once under one kernel environment, then forks a worker a request. Imports no torch itself.

Variables such as `ATEN_CPU_CAPABILITY` are read when torch is loaded, so every distinct environment has a zygote of
its own. No kernel may run here and no thread may start, or the forked workers would hang.
"""

import contextlib
import gc
import importlib
import os
import selectors
import signal
import socket
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

import msgspec

from pytest_mixgpu.launch.filemarks import first_look
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
    Swept,
)
from pytest_mixgpu.launch.worker import PR_SET_NAME, run_worker, set_process_option

PR_SET_CHILD_SUBREAPER = 36


def main() -> None:
    """Serve one supervisor until it is gone."""
    boot = msgspec.json.decode(sys.argv[1], type=Boot)
    set_process_option(PR_SET_NAME, b"mixgpu zygote")
    # Workers load most of our modules after the fork; they compare the files with this look.
    first_look()
    # Whatever a worker leaves behind becomes our child, so that it can be found and ended.
    set_process_option(PR_SET_CHILD_SUBREAPER, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    zygote = _Zygote(socket.socket(fileno=boot.control_fd), boot.supervisor_pid)
    if zygote.preload(boot.preload):
        zygote.serve()


class _Zygote:
    def __init__(self, control: socket.socket, supervisor_pid: int) -> None:
        self._control = control
        self._supervisor_pid = supervisor_pid
        self._pid = os.getpid()
        self._numbers: dict[int, int] = {}
        """Worker number by process id, of those not yet reaped."""
        self._wake_out, self._wake_in = socket.socketpair()
        self._supervisor_fd = -1

    def _answer(self, answer: Answer) -> None:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):  # then the end of the line is read next
            self._control.sendall(msgspec.json.encode(answer))

    def preload(self, modules: Sequence[str]) -> bool:
        missing = []
        for name in modules:
            try:
                importlib.import_module(name)
            except ModuleNotFoundError as error:
                if error.name is None or not f"{name}.".startswith(f"{error.name}."):
                    self._answer(Broken(reason=f"preloading {name} failed: {error}"))
                    return False
                missing.append(name)
            except BaseException as error:  # noqa: BLE001 - any import may raise anything
                self._answer(Broken(reason=f"preloading {name} failed: {type(error).__name__}: {error}"))
                return False
            if (num_threads := count_threads()) > 1:
                reason = f"preloading {name} started {num_threads - 1} threads, after which a fork is not safe"
                self._answer(Broken(reason=reason, preload_unsafe=True))
                return False
            torch = sys.modules.get("torch")
            if torch is not None and torch.cuda.is_initialized():
                reason = f"preloading {name} initialised CUDA, after which a forked process cannot use a GPU"
                self._answer(Broken(reason=reason, preload_unsafe=True))
                return False
        gc.collect()
        gc.freeze()  # what is loaded stays shared between the workers
        self._answer(Preloaded(missing=tuple(missing), num_threads=count_threads()))
        return True

    def serve(self) -> None:
        self._wake_in.settimeout(0)
        signal.set_wakeup_fd(self._wake_in.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda _signum, _frame: None)
        with selectors.DefaultSelector() as selector:
            selector.register(self._control, selectors.EVENT_READ)
            selector.register(self._wake_out, selectors.EVENT_READ)
            # A process that the supervisor forked may hold our line open after its death; its pid cannot.
            with contextlib.suppress(OSError, AttributeError):
                self._supervisor_fd = os.pidfd_open(self._supervisor_pid)
                selector.register(self._supervisor_fd, selectors.EVENT_READ)
            while os.getppid() == self._supervisor_pid:
                ready = {key.fileobj for key, _ in selector.select()}
                if self._wake_out in ready:
                    self._wake_out.recv(4096)
                    self._reap()
                if self._control in ready and not self._take_request():
                    break
        self._end_everything()

    def _take_request(self) -> bool:
        try:
            packet, fds, _, _ = socket.recv_fds(self._control, MAX_PACKET_BYTES, 2)
        except ConnectionResetError:
            return False
        if not packet:
            return False
        request: Request = msgspec.json.decode(packet, type=Request)
        if isinstance(request, Fork):
            self._fork(request, socket.socket(fileno=fds[0]), fds[1])
        elif isinstance(request, Signal):
            self._signal(request)
        else:
            self._answer(Swept(num_ended=self._sweep()))
        return True

    def _fork(self, request: Fork, line: socket.socket, board_fd: int) -> None:
        pid = os.fork()
        if pid == 0:
            self._leave_to_worker(request, line, board_fd)
        line.close()
        os.close(board_fd)
        self._numbers[pid] = request.number
        self._answer(Forked(number=request.number, pid=pid))

    def _leave_to_worker(self, request: Fork, line: socket.socket, board_fd: int) -> NoReturn:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for end in (self._control, self._wake_in, self._wake_out):
            end.close()
        if self._supervisor_fd >= 0:
            os.close(self._supervisor_fd)
        run_worker(request, line=line, board_fd=board_fd, parent_pid=self._pid)

    def _signal(self, request: Signal) -> None:
        for pid, number in self._numbers.items():
            if number == request.number:
                with contextlib.suppress(ProcessLookupError):
                    (os.killpg if request.group else os.kill)(pid, request.signal)

    def _reap(self) -> None:
        while True:
            try:
                ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
            except ChildProcessError:
                return
            if ended is None:
                return
            if ended.si_pid in self._numbers:
                # Not reaped yet, so the number of its group cannot belong to anybody else.
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.killpg(ended.si_pid, signal.SIGKILL)
            _, status = os.waitpid(ended.si_pid, 0)
            number = self._numbers.pop(ended.si_pid, None)
            if number is not None:
                code = os.waitstatus_to_exitcode(status)
                exited = Exited(number=number, signal=-code) if code < 0 else Exited(number=number, code=code)
                self._answer(exited)

    def _sweep(self) -> int:
        """End every child that is no worker: workers' own children whose parent is gone."""
        num_ended = 0
        while strays := [pid for pid in child_pids() if pid not in self._numbers]:
            for pid in strays:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            num_ended += len(strays)
            time.sleep(0.005)
            self._reap()
        return num_ended

    def _end_everything(self) -> None:
        signal.set_wakeup_fd(-1)
        while self._numbers:
            for pid in self._numbers:
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(pid, signal.SIGKILL)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)  # it may not have its own group yet
            time.sleep(0.005)
            self._reap()
        self._sweep()


def count_threads() -> int:
    """Threads of this process, those of C libraries too."""
    return len(os.listdir("/proc/self/task"))  # noqa: PTH208 - names are all that is needed


def child_pids() -> list[int]:
    """Children of this process, ended ones that are not reaped among them."""
    try:
        return [int(pid) for pid in Path(f"/proc/self/task/{os.getpid()}/children").read_text().split()]
    except FileNotFoundError:  # a kernel built without it
        import psutil

        return [child.pid for child in psutil.Process().children()]
