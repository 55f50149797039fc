"""The rules of judging in a few lines, for one mark and one role: what the real judge must say after any history."""

import math
import statistics
from typing import NamedTuple

from pytest_mixgpu.marks.timings import samples_per_s
from tests.negative.one_mark import NUM_PLANNED
from tests.sample_timeline import MadeRun
from tests.samples import as_record


class Attempt:
    """What the model keeps of one run.

    Args:
        run: as it was made.
        version: the state of the lock that it was made under; None without a lock.
    """

    def __init__(self, run: MadeRun, *, version: int | None) -> None:
        self.id = run.header.run_id
        self.number = int(run.header.session.removeprefix("session-"))
        self.repeat = run.header.repeat
        self.version = version
        self.status = "aborted" if run.outcome is None else run.outcome.status
        self.is_shown = any(not line.warmup for line in run.rounds)
        self.value = rate_of(run)


class Change(NamedTuple):
    """What the model keeps of one change of the lock."""

    event: str
    is_of_mark: bool
    """Whether it names the mark that is judged."""
    bound: float
    """Of that mark, as the change left it."""


class Model:
    """What is known of lock and runs."""

    def __init__(self) -> None:
        self.runs: list[Attempt] = []
        self.versions: list[int] = []
        """The states that the lock had, today's last; none without a lock."""
        self.place = 0
        """From which of them on the mark is as it is."""
        self.is_amended = False
        self.changes: list[Change] = []
        """The lock's chain, without what binds an older lock."""
        self.is_old = False
        """Whether the last change was written by schema 2, which seals no part by itself."""

    @property
    def closed(self) -> list[Attempt]:
        """The runs that were closed, however they ended."""
        return [run for run in self.runs if run.status != "aborted"]

    @property
    def completed(self) -> list[Attempt]:
        """The runs that completed."""
        return [run for run in self.runs if run.status == "completed"]

    def add(self, run: MadeRun) -> None:
        """Take a run that was made under today's lock."""
        self.runs.append(Attempt(run, version=self.versions[-1] if self.versions else None))

    def tells_an_edit(self, bound: float) -> bool:
        """Say whether the chain tells an edit of the bound, with marker and last change made to fit.

        A change of another mark cannot leave this one otherwise, and an amendment cannot leave it the same.
        """
        last = self.changes[-1]
        if self.is_old or bound == last.bound or (last.event == "freeze" and last.is_of_mark):
            return False
        return not last.is_of_mark or bound == self.changes[-2].bound

    def word(self, bound: float) -> str:
        """What is said of a mark that asks for at least this much, if every seal holds."""
        unfinished = [run for run in self._counting() if run.status != "completed"]
        values = [run.value for run in self.observed().values()]
        if not values:
            return "VOID" if unfinished else "UNJUDGED"
        num_lost = sum(run.is_shown for run in unfinished)
        is_met = statistics.median(values) >= bound
        if is_met != (statistics.median([*values, *[-math.inf] * num_lost]) >= bound):
            return "UNJUDGED"
        if len(values) < NUM_PLANNED:
            return "UNJUDGED"
        return "PASS" if is_met else "FAIL"

    def observed(self) -> dict[int, Attempt]:
        """The first run of each repeat that completed, by repeat: no later one takes its place."""
        found: dict[int, Attempt] = {}
        for run in self._counting():
            if run.status == "completed":
                found.setdefault(run.repeat, run)
        return dict(sorted(found.items()))

    def _counting(self) -> list[Attempt]:
        """Runs under a lock in which the mark was as it is now, of repeats that are planned."""
        valid: list[int | None] = [*self.versions[self.place :]] or [None]
        return [run for run in self.runs if run.version in valid and run.repeat < NUM_PLANNED]


def rate_of(run: MadeRun) -> float:
    """The run's samples a second; none is as good as zero."""
    return samples_per_s(as_record(run)) or 0.0
