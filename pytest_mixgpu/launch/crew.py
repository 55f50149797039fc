"""The workers of one run as the supervisor sees them: messages in and out, faults, a clean stop. Imports no torch."""

import contextlib
import selectors
import signal
import socket
import time
from pathlib import Path
from typing import Self

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.board import Status
from pytest_mixgpu.launch.frames import encode
from pytest_mixgpu.launch.member import Member
from pytest_mixgpu.launch.nursery import Zygote, read_tail
from pytest_mixgpu.launch.protocol import Limits, Message, Task
from pytest_mixgpu.launch.requests import Fork
from pytest_mixgpu.launch.supervise import CERTAIN, Cause, Sight
from pytest_mixgpu.launch.watched import SETTLE_S, TICK_S, WatchedCrew, run_failed

_KILL_S = 5.0
"""How long an end by SIGKILL may take."""


class LocalCrew(WatchedCrew):
    """Workers that were forked on this machine; one thread speaks to them.

    Args:
        limits: how long silence is borne.
        asked_s: when the workers were asked for, on CLOCK_MONOTONIC.
    """

    def __init__(self, *, limits: Limits, asked_s: float) -> None:
        super().__init__(limits=limits, asked_s=asked_s)
        self._members: dict[str, Member] = {}
        self._selector = selectors.DefaultSelector()
        self._zygotes: set[Zygote] = set()
        self._num_oom_kills = _count_oom_kills()
        self._has_failed = False
        self._stopped = False

    def add(self, task: Task, zygote: Zygote, request: Fork) -> None:
        """Ask for one more worker."""
        member = self._members[task.name] = Member(task, zygote, request)
        self._selector.register(member.line, selectors.EVENT_READ, member)
        if zygote not in self._zygotes:
            self._zygotes.add(zygote)
            self._selector.register(zygote, selectors.EVENT_READ)

    def await_first_words(self) -> None:
        """Return once each worker has said its first word.

        Raises:
            RunFailedError: one of them did not start.
        """
        while not all(member.greeted for member in self._members.values()):
            self._watch()

    @property
    def pids(self) -> dict[str, int]:
        """Process ids by worker."""
        return {name: member.zygote.pids[member.number] for name, member in self._members.items()}

    def statuses(self) -> dict[str, Status | None]:
        """What each worker last said of itself: phase and round, and since when."""
        return {name: member.board.read() for name, member in self._members.items()}

    def send(self, worker: str, message: Message) -> None:
        """Say something to one worker.

        Raises:
            RunFailedError: a worker failed while the message was on its way, or this one has ended.
        """
        member = self._members[worker]
        if self._stopped or member.returned or member.deaf or not member.open:
            deadline_s = time.monotonic() + SETTLE_S
            while not (self._stopped or member.returned) and time.monotonic() < deadline_s:
                self._watch()  # it knows the reason, or will in a moment
            raise self._error(Cause(worker=worker, reason="has ended and cannot be spoken to", rank=CERTAIN))
        member.outgoing += encode("message", message)
        member.write()
        if time.monotonic() - self._last_look_s > TICK_S:
            self._watch(wait_s=0.0)  # who only speaks must hear of a failure too
        while member.outgoing:
            self._watch()

    def _pump(self, wait_s: float) -> None:
        now_s = time.monotonic()
        if now_s - self._last_tick_s > self._limits.heartbeat_s / 2:
            self._awake_s = now_s  # asleep ourselves, or away: nobody is judged by that time
        for member in self._members.values():
            events = selectors.EVENT_READ | (selectors.EVENT_WRITE if member.outgoing else 0)
            if member.open and self._selector.get_key(member.line).events != events:
                self._selector.modify(member.line, events, member)
        for key, _ in self._selector.select(wait_s):
            if isinstance(key.data, Member):
                key.data.write()
                self._received += [(key.data.task.name, message) for message in key.data.read()]
                if not key.data.open:
                    self._selector.unregister(key.data.line)
        for zygote in self._zygotes:
            zygote.pump()
        self._last_tick_s = time.monotonic()

    def _names(self) -> tuple[str, ...]:
        return tuple(self._members)

    def _have_all_returned(self) -> bool:
        return all(member.returned for member in self._members.values())

    def _sights(self) -> list[Sight]:
        now_s = time.monotonic()
        look_closely = any(member.failure is not None for member in self._members.values())
        return [
            member.sight(now_s=now_s, awake_s=self._awake_s, asked_s=self._asked_s, look_closely=look_closely)
            for member in self._members.values()
        ]

    def _error(self, cause: Cause) -> RunFailedError:
        self._has_failed = True
        member = self._members[cause.worker]
        self.ask_for_stacks(cause.worker)
        return run_failed(
            cause,
            member.task,
            host=host_name(),
            status=member.board.read(),
            memory=self.memory_kills(),
            log_path=member.log_path,
            log_tail=self.log_tail(cause.worker),
        )

    def memory_kills(self) -> str:
        """Say what the kernel killed on this host since the crew began; empty for nothing."""
        count = _count_oom_kills() - self._num_oom_kills
        return f" (the kernel killed {count} process(es) for lack of memory)" if count else ""

    def log_tail(self, worker: str) -> str:
        """The last lines that a worker wrote in this run."""
        member = self._members[worker]
        return read_tail(member.log_path, start_bytes=member.log_start_bytes)

    def attend(self, wait_s: float) -> list[tuple[str, Message]]:
        """Move bytes for at most this long and return what was said; judges nobody, which somebody else does."""
        self._pump(wait_s)
        said = list(self._received)
        self._received.clear()
        return said

    def sights(self) -> list[Sight]:
        """What is seen of each worker now."""
        return self._sights()

    def post(self, worker: str, message: Message) -> None:
        """Say something to one worker as soon as it listens, without waiting for that."""
        self._members[worker].outgoing += encode("message", message)

    def wake_on(self, line: socket.socket) -> None:
        """Let a byte on this line end a wait; whoever owns the line reads it."""
        self._selector.register(line, selectors.EVENT_READ)

    def declare_over(self) -> None:
        """Tell all workers that the run ends in order, before the first of them is asked to leave."""
        for member in self._members.values():
            member.board.declare_over()

    def ask_for_stacks(self, worker: str) -> None:
        """Have a worker that lives write the stacks of its threads to its log."""
        member = self._members[worker]
        if member.greeted and not member.returned and self._may_yet_end(member):
            self._ask_for_stacks(member)

    def _ask_for_stacks(self, member: Member) -> None:
        size = member.log_path.stat().st_size if member.log_path.exists() else 0
        member.zygote.signal(member.number, signal.SIGUSR1)
        deadline_s = time.monotonic() + 0.5
        while time.monotonic() < deadline_s and not member.ended:
            self._pump(0.05)
            if member.log_path.exists() and member.log_path.stat().st_size > size:
                break

    def stop(self) -> None:
        """End all workers; nothing is left running when this returns."""
        if self._stopped:
            return
        self._stopped = True
        try:
            self._end_gently()
        finally:
            # Also when a second Ctrl-C cuts the patience short.
            self._end_at_once()
            for member in self._members.values():
                member.line.close()
            self._selector.close()

    def _end_gently(self) -> None:
        if not self._has_failed:
            # Told to all before the first is asked to leave: whoever sees it gone then knows that nothing went wrong.
            self.declare_over()
        for member in self._members.values():
            with contextlib.suppress(OSError):
                member.line.shutdown(socket.SHUT_WR)
            if not member.returned:
                member.zygote.signal(member.number, signal.SIGTERM)
        deadline_s = time.monotonic() + self._limits.grace_s
        while time.monotonic() < deadline_s and any(self._may_yet_end(member) for member in self._members.values()):
            self._pump(0.02)

    def _may_yet_end(self, member: Member) -> bool:
        return not member.ended and member.process_state() not in {"T", "t"}

    def _end_at_once(self) -> None:
        self._kill_members()
        for zygote in self._zygotes:
            zygote.resume()
        self._pump_until_ended(_KILL_S)
        for zygote in self._zygotes:
            if any(not member.ended for member in self._members.values() if member.zygote is zygote):
                zygote.kill()  # it does not do as it is told; its workers die with it
            else:
                zygote.sweep(timeout_s=_KILL_S)
        self._pump_until_ended(_KILL_S)
        self._kill_members()

    def _kill_members(self) -> None:
        for member in self._members.values():
            member.zygote.signal(member.number, signal.SIGKILL, group=True)

    def _pump_until_ended(self, patience_s: float) -> None:
        deadline_s = time.monotonic() + patience_s
        while time.monotonic() < deadline_s and not all(member.ended for member in self._members.values()):
            self._pump(0.02)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()


def _count_oom_kills() -> int:
    """How often the kernel killed a process of this machine for lack of memory since it started."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        name, _, count = line.partition(" ")
        if name == "oom_kill":
            return int(count)
    return 0
