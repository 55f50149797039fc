"""One worker as the supervisor sees it: its line, its board, its end and what it said. Imports no torch."""

import os
import socket
from pathlib import Path

import msgspec

from pytest_mixgpu.launch.board import Board
from pytest_mixgpu.launch.frames import Decoder, Tag, encode
from pytest_mixgpu.launch.nursery import Zygote
from pytest_mixgpu.launch.protocol import Message, Task
from pytest_mixgpu.launch.requests import Fork
from pytest_mixgpu.launch.supervise import Failure, Sight

_CLOSE_LOOK_S = 1.5
"""Age of a sign of life from which the kernel is asked for the state of the process."""


class Member:
    """One worker: its line, its board and what it said."""

    def __init__(self, task: Task, zygote: Zygote, request: Fork) -> None:
        self.task, self.zygote, self.number, self.log_path = task, zygote, request.number, Path(request.log_path)
        self.log_start_bytes = self.log_path.stat().st_size if self.log_path.exists() else 0
        self.line, theirs = socket.socketpair()
        board_fd = Board.open_page()
        with theirs:
            self.board = Board(board_fd)
            zygote.fork(request, line=theirs, board_fd=board_fd)
        os.close(board_fd)
        self.line.settimeout(0)
        self.decoder = Decoder()
        self.outgoing = bytearray(encode("task", {"entry": task.entry, "payload": task.payload}))
        self.open = True
        """Whether more may be heard of it."""
        self.deaf = False
        """Whether nothing can be said to it any more."""
        self.greeted = self.returned = False
        self.failure: Failure | None = None

    @property
    def ended(self) -> bool:
        """Whether its process is gone."""
        return self.number in self.zygote.exits or bool(self.zygote.failure)

    def process_state(self) -> str:
        """The kernel's letter for its process, `T` for stopped; empty when there is none."""
        pid = self.zygote.pids.get(self.number)
        try:
            # The name in brackets may hold anything, brackets too; the state is the first word after the last one.
            return Path(f"/proc/{pid}/stat").read_text(errors="replace").rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return ""

    def read(self) -> list[Message]:
        """Take in what it said, without waiting; own words of the harness are kept here."""
        messages: list[Message] = []
        while self.open:
            try:
                data = self.line.recv(1 << 20)
            except BlockingIOError:
                break
            except ConnectionResetError:
                data = b""
            self.open = bool(data)
            for tag, body in self.decoder.feed(data):
                self._take(tag, body, messages)
        return messages

    def _take(self, tag: Tag, body: Message, messages: list[Message]) -> None:
        if tag == "message":
            messages.append(body)
        elif tag == "hello":
            self.greeted = True
        elif tag == "returned":
            self.returned = True
        elif tag == "failure":
            self.failure = msgspec.convert(body, Failure)

    def write(self) -> None:
        """Hand over what waits to go out, as far as the line takes it."""
        while self.open and self.outgoing:
            try:
                sent = self.line.send(memoryview(self.outgoing)[: 1 << 20])
            except BlockingIOError:
                return
            except (BrokenPipeError, ConnectionResetError):
                self.outgoing.clear()
                self.deaf = True
                return
            del self.outgoing[:sent]

    def sight(self, *, now_s: float, awake_s: float, asked_s: float, look_closely: bool) -> Sight:
        """What is seen of it now; ages count from `awake_s` at the earliest."""
        status = self.board.read()
        end = self.zygote.exits.get(self.number)
        beat_age_s = now_s - max(self.board.beat_s or now_s, awake_s)
        look_closely = look_closely or beat_age_s > _CLOSE_LOOK_S
        return Sight(
            name=self.task.name,
            status=status,
            greeted=self.greeted,
            beat_age_s=beat_age_s,
            asked_age_s=now_s - asked_s,
            progress_age_s=now_s - max(status.since_s if status is not None else asked_s, awake_s),
            process_state=self.process_state() if look_closely else "",
            exit_code=end.code if end is not None else None,
            exit_signal=end.signal if end is not None else None,
            lost_zygote=self.zygote.failure if end is None else "",
            failure=self.failure,
            returned=self.returned,
        )
