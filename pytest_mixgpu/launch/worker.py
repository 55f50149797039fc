"""Inside a worker: from a fork request to a running entry, its sign of life and its failure. Imports no torch.

A worker is forked, so nothing here may rely on a fresh interpreter; it ends by `os._exit`, without its parent's
exit handlers.
"""

import contextlib
import ctypes
import faulthandler
import gc
import importlib
import os
import signal
import socket
import sys
import threading
import time
import traceback
from types import FrameType
from typing import NoReturn

from pytest_mixgpu.launch.binding import bind_process
from pytest_mixgpu.launch.board import Board
from pytest_mixgpu.launch.frames import Decoder, Tag, encode
from pytest_mixgpu.launch.isolation import add_to_path
from pytest_mixgpu.launch.protocol import Message, PeerFaultError, PeerLostError
from pytest_mixgpu.launch.requests import Fork

PR_SET_PDEATHSIG = 1
PR_SET_NAME = 15
THREAD_VARIABLES = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
EXIT_OF_FAILURE = 70

_LOST_PEER_WORDS = (
    "connection closed by peer",
    "connection reset",
    "connection refused",
    "broken pipe",
    "remote process exited",
    "timed out",
)
"""What gloo and NCCL say in a RuntimeError when another process is gone or silent."""


class WorkerChannel:
    """The worker's end of the line."""

    def __init__(self, line: socket.socket, board: Board) -> None:
        self._line = line
        self._board = board
        self._decoder = Decoder()
        self._received: list[tuple[Tag, Message]] = []
        self._lock = threading.Lock()

    def send(self, message: Message) -> None:
        """Say something to the supervisor."""
        self.tell("message", message)

    def tell(self, tag: Tag, message: Message) -> None:
        """Send one frame whole, also when several threads speak."""
        frame = encode(tag, message)
        with self._lock:
            try:
                self._line.sendall(frame)
            except (BrokenPipeError, ConnectionResetError):
                raise SystemExit(0) from None

    def receive(self) -> Message:
        """Wait for the supervisor's next word; ends the worker when the supervisor is gone."""
        self._board.await_supervisor(waiting=True)
        while not self._received:
            try:
                data = self._line.recv(1 << 20)
            except ConnectionResetError:
                data = b""
            if not data:
                raise SystemExit(0)
            self._received += self._decoder.feed(data)
        self._board.await_supervisor(waiting=False)
        return self._received.pop(0)[1]

    def status(self, *, phase: str, round_index: int | None = None) -> None:
        """State what is being done now."""
        self._board.write(phase=phase, round_index=round_index)


def set_process_option(option: int, value: int | bytes) -> None:
    """Call Linux' `prctl`, which Python does not offer."""
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def run_worker(request: Fork, *, line: socket.socket, board_fd: int, parent_pid: int) -> NoReturn:
    """Become the worker, run its entry and end the process."""
    code = EXIT_OF_FAILURE
    try:
        board = Board(board_fd)
        os.close(board_fd)
        code = _run_to_end(WorkerChannel(line, board), board, request, parent_pid)
    except Exception:  # noqa: BLE001 - of the board; what comes later is told where it happens
        traceback.print_exc()
    finally:
        # SIGTERM is ignored by now, or has raised and does so once only: nothing unwinds into the parent's frames.
        os._exit(code)


def _run_to_end(channel: WorkerChannel, board: Board, request: Fork, parent_pid: int) -> int:
    try:
        return _run_entry(channel, board, request, parent_pid)
    except BaseException as error:  # noqa: BLE001 - the process ends here, and its log must say why
        if not _is_orderly(error, board):
            traceback.print_exc()
        return EXIT_OF_FAILURE
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        with contextlib.suppress(OSError, ValueError):
            sys.stdout.flush()
            sys.stderr.flush()


def _become(request: Fork, parent_pid: int) -> None:
    os.setsid()
    set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before the line above
        os._exit(EXIT_OF_FAILURE)
    set_process_option(PR_SET_NAME, f"mixgpu {request.name}".encode()[:15])
    log_fd = os.open(request.log_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
    os.dup2(log_fd, 1)
    os.dup2(log_fd, 2)
    os.close(log_fd)
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(line_buffering=True, errors="backslashreplace")  # type: ignore[union-attr]
    os.chdir(request.folder)
    add_to_path(request.path)
    os.environ.update(dict.fromkeys(THREAD_VARIABLES, str(request.num_threads)))
    os.environ.update(request.environment)
    # Before any thread is started: each inherits what is in force then.
    bind_process(cores=request.cores, memory_node=request.memory_node)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(request.num_threads)
    faulthandler.enable()
    # On a hang the supervisor asks for the stacks of all threads, which then stand in the log.
    faulthandler.register(signal.SIGUSR1, all_threads=True)
    signal.signal(signal.SIGTERM, _leave)
    gc.enable()


def _leave(_signum: int, _frame: FrameType | None) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once is enough; a second time might hit the end of the process
    raise SystemExit(0)


def _beat(board: Board, every_s: float) -> None:
    while True:
        board.beat()
        time.sleep(every_s)


def _run_entry(channel: WorkerChannel, board: Board, request: Fork, parent_pid: int) -> int:
    try:
        _become(request, parent_pid)
        board.beat()
        board.write(phase="start", round_index=None)
        threading.Thread(target=_beat, args=(board, request.beat_every_s), daemon=True, name="heartbeat").start()
        task = channel.receive()
        module, _, function = str(task["entry"]).partition(":")
        entry = getattr(importlib.import_module(module), function)
        channel.tell("hello", {"pid": os.getpid()})
        entry(channel, task["payload"])
    except SystemExit as leave:
        return leave.code if isinstance(leave.code, int) else int(leave.code is not None)
    except BaseException as error:  # noqa: BLE001 - whatever it is, the supervisor must hear of it
        at_s = time.monotonic()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a wish to stop must not cut what is said now in two
        if _is_orderly(error, board):
            return 0
        channel.tell("failure", describe_failure(error, at_s=at_s))
        with contextlib.suppress(OSError):  # a log without room must not hide what was told
            traceback.print_exc()
        return EXIT_OF_FAILURE
    channel.tell("returned", {})
    return 0


def _is_orderly(error: BaseException, board: Board) -> bool:
    """Whether this is how workers end when the supervisor ends the run: they leave, or others left before them."""
    if isinstance(error, SystemExit):  # SIGTERM may come while another error is on its way
        return error.__context__ is None or _is_orderly(error.__context__, board)
    return board.is_over and _is_lost_peer(error)


def _is_lost_peer(error: BaseException) -> bool:
    """Whether an error looks like the consequence of another worker's end."""
    return isinstance(error, ConnectionError | EOFError | TimeoutError) or (
        isinstance(error, RuntimeError) and any(words in str(error).lower() for words in _LOST_PEER_WORDS)
    )


def describe_failure(error: BaseException, *, at_s: float) -> Message:
    """Say what was raised, and whether it looks like the consequence of another worker's end."""
    return {
        "type": type(error).__name__,
        "text": str(error)[:2000],
        "at_s": at_s,
        "lost_peer": _is_lost_peer(error) and not isinstance(error, PeerFaultError),
        "peer": error.peer if isinstance(error, PeerLostError | PeerFaultError) else "",
        "phase": error.phase if isinstance(error, PeerFaultError) else "",
    }
