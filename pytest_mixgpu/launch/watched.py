"""What every crew does alike: waits for words, looks at its workers, names who is to blame. Imports no torch.

A launcher adds how bytes move and what is seen of a worker; limits and blame are the same wherever workers run.
"""

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Sequence
from pathlib import Path

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.board import Status
from pytest_mixgpu.launch.protocol import Limits, Message, Task
from pytest_mixgpu.launch.supervise import CERTAIN, Cause, Sight, find_cause, find_silent, is_anybody_at_work

TICK_S = 0.2
SETTLE_S = 0.5
"""How long other workers' ends are waited for after the first sign of trouble, so that the first cause is seen."""


def run_failed(  # noqa: PLR0913 - each is a part of where it happened
    cause: Cause,
    task: Task,
    *,
    host: str,
    status: Status | None,
    memory: str,
    log_path: Path,
    log_tail: str,
) -> RunFailedError:
    """Say who is to blame, on which device and host, in which phase and round.

    Args:
        cause: the worker, and why.
        task: what it was started with.
        host: where it ran, if it has no device that says so.
        status: what it last said of itself.
        memory: what the kernel killed meanwhile, as a clause.
        log_path: of its output, on the supervisor's host.
        log_tail: the end of that.
    """
    device = task.device
    where = f" on {device.kind} {device.id}" if device is not None else ""
    phase = cause.phase or (status.phase if status is not None else "start")
    round_index = status.round_index if status is not None else None
    at_round = f" of round {round_index}" if round_index is not None else ""
    return RunFailedError(
        f"{cause.worker}{where} (host {device.host if device is not None else host}) {cause.reason}{memory};"
        f" in phase {phase}{at_round}; log: {log_path}",
        worker=cause.worker,
        log_tail=log_tail,
        log_path=str(log_path),
        phase=phase,
        round_index=round_index,
    )


class WatchedCrew(ABC):
    """The part of a crew that listens and judges.

    Args:
        limits: how long silence is borne.
        asked_s: when the workers were asked for, on CLOCK_MONOTONIC.
    """

    def __init__(self, *, limits: Limits, asked_s: float) -> None:
        self._limits = limits
        self._asked_s = asked_s
        self._received: deque[tuple[str, Message]] = deque()
        self._last_tick_s = self._awake_s = asked_s
        self._last_look_s = self._last_work_s = asked_s

    def receive(self, *, timeout_s: float | None = None) -> tuple[str, Message]:
        """Wait for the next word of any worker: its name and what it said.

        Raises:
            RunFailedError: a worker raised, was killed, stopped giving signs of life, or made no progress; or nothing
                was said for `timeout_s`; or all have returned.
        """
        began_s = time.monotonic()
        left_s = float("inf") if timeout_s is None else timeout_s
        while not self._received:
            self._watch(wait_s=max(0.0, min(TICK_S, left_s)), listening_since_s=began_s)
            if self._received:
                break
            if timeout_s is not None and (left_s := began_s + timeout_s - time.monotonic()) <= 0:
                raise self._error(find_silent(self._sights(), timeout_s=timeout_s))
            if self._have_all_returned():
                last = self._names()[-1]
                raise self._error(Cause(worker=last, reason="returned, as all did; no more will be said", rank=CERTAIN))
        return self._received.popleft()

    def _watch(self, *, wait_s: float = TICK_S, listening_since_s: float | None = None) -> None:
        """Move bytes for one tick and raise when a worker is at fault."""
        self._pump(wait_s)
        now_s = time.monotonic()
        if self._received and now_s - self._last_look_s < TICK_S:
            return  # looking at everybody at every word would cost a measured round
        self._last_look_s = now_s
        # The cause may show a moment after its consequence, and the last word of a worker after its end.
        began_s = time.monotonic()
        while (cause := self._trouble(listening_since_s)) is not None:
            if cause.rank <= CERTAIN or time.monotonic() - began_s > self._settle_s():
                raise self._error(cause)
            self._pump(0.02)

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

    @abstractmethod
    def _pump(self, wait_s: float) -> None:
        """Move bytes for at most this long; what was said goes to `_received`."""

    @abstractmethod
    def _sights(self) -> list[Sight]:
        """What is seen of each worker now."""

    @abstractmethod
    def _error(self, cause: Cause) -> RunFailedError:
        """Say what happened, to whom and where."""

    @abstractmethod
    def _names(self) -> Sequence[str]:
        """All workers, in the order in which they were asked for."""

    @abstractmethod
    def _have_all_returned(self) -> bool:
        """Whether every entry came to its end."""

    def _settle_s(self) -> float:
        return SETTLE_S
