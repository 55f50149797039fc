"""Instruments of one round of a user's own job: from marks in its code to phases, and to the time in which bytes moved.

In a round without instruments every mark is a no-op: no clock is read and no device is waited for, so the official time
is that of the work alone. Used inside workers; imports torch only through the clock of a GPU.
"""

from __future__ import annotations

import contextlib
import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING

from pytest_mixgpu.timing.model import PHASES, Phase, Segment

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_mixgpu.timing.clocks import Clock


class Instruments:
    """What a round is seen with. Whatever no mark names is `compute`.

    Args:
        clock: waits for the device before it is read.
        on: whether marks are taken; else all of them cost nothing.
    """

    def __init__(self, clock: Clock, *, on: bool) -> None:
        self._clock = clock
        self._is_on = on
        self._lock = threading.Lock()
        """Hooks of an autograd engine run in threads of their own."""
        self._began_s = clock.now_s()
        self._marks: list[tuple[float, Phase]] = [(0.0, "compute")]
        self._moves: list[tuple[float, float]] = []

    def enter(self, phase: Phase) -> None:
        """From here on the round is in this phase.

        Raises:
            ValueError: no phase has that name.
        """
        if phase not in PHASES:
            raise ValueError(f"no phase is called {phase!r}: choose from {', '.join(PHASES)}")
        if self._is_on:
            with self._lock:
                self._marks.append((self._now_s(), phase))

    @contextlib.contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """The block is this phase; after it the round is in the phase that it was in before."""
        before = self._marks[-1][1]
        self.enter(phase)
        yield
        self.enter(before)

    def moving(self) -> Callable[[], None]:
        """From here on bytes move, whatever else goes on, until what is returned is called.

        Moves may overlap each other: time in which several go on counts once. The device is not waited for.
        """
        if not self._is_on:
            return _nothing
        start_s = self._clock_s()

        def done() -> None:
            end_s = self._clock_s()
            with self._lock:
                self._moves.append((start_s, end_s))

        return done

    def segments(self, *, end_s: float, close_s: float) -> tuple[Segment, ...]:
        """Return the phases, which add up to the round.

        Args:
            end_s: when the work was done, in seconds since the round began.
            close_s: when the round was over for all; up to there it is `wait`.
        """
        if not self._is_on:
            return ()
        marks = [*((min(at_s, end_s), phase) for at_s, phase in self._marks), (end_s, "wait"), (close_s, "wait")]
        found: list[Segment] = []
        for (start_s, phase), (stop_s, _) in pairwise(marks):
            if stop_s <= start_s:
                continue
            begun_s = found.pop().start_s if found and found[-1].phase == phase else start_s
            found.append(Segment(phase, begun_s, stop_s - begun_s))
        return tuple(found)

    def communication_s(self, *, end_s: float) -> float | None:
        """Return the time in which bytes moved, up to the end of the work; None where no move was marked."""
        if not self._moves:
            return None
        total_s, reached_s = 0.0, 0.0
        for start_s, stop_s in sorted(self._moves):
            begun_s, ended_s = max(start_s, reached_s), min(stop_s, end_s)
            total_s += max(0.0, ended_s - begun_s)
            reached_s = max(reached_s, ended_s)
        return total_s

    def _now_s(self) -> float:
        # Never back behind the mark before it, whichever thread took that.
        return max(self._clock.now_s() - self._began_s, self._marks[-1][0])

    def _clock_s(self) -> float:
        return time.perf_counter() - self._began_s


def _nothing() -> None:
    return None
