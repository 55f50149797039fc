"""The workers of one run as the supervisor sees them: messages in and out, faults, a clean stop. Imports no torch."""

import contextlib
import selectors
import signal
import socket
import time
from collections import deque
from pathlib import Path
from typing import Self

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.board import Status
from pytest_mixgpu.launch.frames import encode
from pytest_mixgpu.launch.member import Member
from pytest_mixgpu.launch.nursery import Zygote, read_tail
from pytest_mixgpu.launch.protocol import Limits, Message, Task
from pytest_mixgpu.launch.requests import Fork
from pytest_mixgpu.launch.supervise import CERTAIN, Cause, Sight, find_cause, find_silent, is_anybody_at_work

_TICK_S = 0.2
_SETTLE_S = 0.5
"""How long other workers' ends are waited for after the first sign of trouble, so that the first cause is seen."""
_KILL_S = 5.0
"""How long an end by SIGKILL may take."""


class LocalCrew:
    """Workers that were forked on this machine; one thread speaks to them.

    Args:
        limits: how long silence is borne.
        asked_s: when the workers were asked for, on CLOCK_MONOTONIC.
    """

    def __init__(self, *, limits: Limits, asked_s: float) -> None:
        self._limits = limits
        self._asked_s = asked_s
        self._members: dict[str, Member] = {}
        self._received: deque[tuple[str, Message]] = deque()
        self._selector = selectors.DefaultSelector()
        self._zygotes: set[Zygote] = set()
        self._last_tick_s = self._awake_s = asked_s
        self._last_look_s = self._last_work_s = asked_s
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
            deadline_s = time.monotonic() + _SETTLE_S
            while not (self._stopped or member.returned) and time.monotonic() < deadline_s:
                self._watch()  # it knows the reason, or will in a moment
            raise self._error(Cause(worker=worker, reason="has ended and cannot be spoken to", rank=CERTAIN))
        member.outgoing += encode("message", message)
        member.write()
        if time.monotonic() - self._last_look_s > _TICK_S:
            self._watch(wait_s=0.0)  # who only speaks must hear of a failure too
        while member.outgoing:
            self._watch()

    def receive(self, *, timeout_s: float | None = None) -> tuple[str, Message]:
        """Wait for the next word of any worker: its name and what it said.

        Raises:
            RunFailedError: a worker raised, was killed, stopped giving signs of life, or made no progress; or nothing
                was said for `timeout_s`; or all have returned.
        """
        began_s = time.monotonic()
        left_s = float("inf") if timeout_s is None else timeout_s
        while not self._received:
            self._watch(wait_s=max(0.0, min(_TICK_S, left_s)), listening_since_s=began_s)
            if self._received:
                break
            if timeout_s is not None and (left_s := began_s + timeout_s - time.monotonic()) <= 0:
                raise self._error(find_silent(self._sights(), timeout_s=timeout_s))
            if all(member.returned for member in self._members.values()):
                last = next(reversed(self._members))
                raise self._error(Cause(worker=last, reason="returned, as all did; no more will be said", rank=CERTAIN))
        return self._received.popleft()

    def _watch(self, *, wait_s: float = _TICK_S, listening_since_s: float | None = None) -> None:
        """Move bytes for one tick and raise when a worker is at fault."""
        self._pump(wait_s)
        now_s = time.monotonic()
        if self._received and now_s - self._last_look_s < _TICK_S:
            return  # looking at everybody at every word would cost a measured round
        self._last_look_s = now_s
        # The cause may show a moment after its consequence, and the last word of a worker after its end.
        settled_s = time.monotonic() + _SETTLE_S
        while (cause := self._trouble(listening_since_s)) is not None:
            if cause.rank <= CERTAIN or time.monotonic() > settled_s:
                raise self._error(cause)
            self._pump(0.02)

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

    def _sights(self) -> list[Sight]:
        now_s = time.monotonic()
        look_closely = any(member.failure is not None for member in self._members.values())
        return [
            member.sight(now_s=now_s, awake_s=self._awake_s, asked_s=self._asked_s, look_closely=look_closely)
            for member in self._members.values()
        ]

    def _trouble(self, listening_since_s: float | None) -> Cause | None:
        since_s = max(listening_since_s or float("inf"), self._awake_s)
        now_s, sights = time.monotonic(), self._sights()
        if is_anybody_at_work(sights):
            self._last_work_s = now_s
        return find_cause(
            sights,
            self._limits,
            listening_s=max(0.0, now_s - since_s),
            all_waited_s=now_s - max(self._last_work_s, self._awake_s),
        )

    def _error(self, cause: Cause) -> RunFailedError:
        self._has_failed = True
        member = self._members[cause.worker]
        device, status = member.task.device, member.board.read()
        where = f" on {device.kind} {device.id}" if device is not None else ""
        host = device.host if device is not None else socket.gethostname()
        phase = status.phase if status is not None else "start"
        at_round = f" of round {status.round_index}" if status is not None and status.round_index is not None else ""
        if member.greeted and not member.returned and self._may_yet_end(member):
            self._ask_for_stacks(member)
        num_oom_kills = _count_oom_kills() - self._num_oom_kills
        memory = f" (the kernel killed {num_oom_kills} process(es) for lack of memory)" if num_oom_kills else ""
        return RunFailedError(
            f"{cause.worker}{where} (host {host}) {cause.reason}{memory}; in phase {phase}{at_round};"
            f" log: {member.log_path}",
            worker=cause.worker,
            log_tail=read_tail(member.log_path, start_bytes=member.log_start_bytes),
            log_path=str(member.log_path),
            phase=phase,
            round_index=status.round_index if status is not None else None,
        )

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
            for member in self._members.values():
                member.board.declare_over()
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
