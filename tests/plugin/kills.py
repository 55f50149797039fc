"""Sessions that are killed at some moment, and what they leave: shared by a test and by `benchmarks/soak.py`."""

import os
import re
import signal
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, NamedTuple

import msgspec
import psutil
import pytest
from filelock import FileLock, Timeout

from pytest_mixgpu.devices.holder import Holder
from pytest_mixgpu.devices.lease import lease_folder
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.chain import LedgerEntry
from tests.plugin.bench import TIMEOUT_S, Bench
from tests.plugin.tiny_recipe import add_tiny, train_tiny
from tests.samples import E1_PLAN
from tests.stored_faults import faults_of

if TYPE_CHECKING:
    import subprocess

SUITE = "killed"
FAMILY = "MIXGPU_KILLED_FAMILY"
"""A variable that every process of a session inherits, by which those that are left over are found."""

PATIENCE_S = 30.0

ENDED = "ended by itself"

TESTS = '''
import pytest


@pytest.mark.claim("counted", checks=["attempts-counted"])
def test_control(claim, runs):
    """Every registered run is accounted for."""
    claim.judge(runs.of("control"))
'''


STAGES = ("before registering", "while running", "after the close")
"""A session's stages: the first ends when its run is registered, the second when the run is closed."""

WEIGHTS = (3, 5, 2)
"""How many of ten kills fall into each stage."""


class Moment(NamedTuple):
    """When a session is killed."""

    stage: int
    share: float
    """How much of the stage is over by then."""

    def __str__(self) -> str:
        """Say it in words."""
        return f"{self.share:.0%} of the time {STAGES[self.stage]}"


class Death(NamedTuple):
    """What one killed session left."""

    moment: Moment
    place: str
    """How far it was: `before registering`, `while running`, `after the close`, or that nobody had to kill it."""


def one_run_suite(folder: Path, *, rounds: int = 20) -> Bench:
    """Lay out a suite of one run that takes about a second, frozen and committed."""
    bench = Bench.new(folder)
    add_tiny(bench)
    before, start, rehearsal = E1_PLAN.read_text("utf-8").partition("[rehearsal]")
    for name, value in (("round_steps", "4"), ("rounds", str(rounds)), ("target", "0.01")):
        rehearsal = re.sub(rf"^{name} = .*$", f"{name} = {value}", rehearsal, flags=re.MULTILINE)
    settings, *roles = train_tiny(rehearsal).split("[[rehearsal.roles]]")
    prices = roles[-1][roles[-1].index("[rehearsal.prices]") :]
    (control,) = [role for role in roles if 'name = "control-a"' in role]
    plan = before.replace('id = "e1"', f'id = "{SUITE}"') + start + settings
    bench.write("benchmark.toml", f"{plan}[[rehearsal.roles]]{control}{prices}")
    bench.write("test_killed.py", TESTS)
    bench.freeze()
    return bench


class Killer:
    """Kills sessions of one suite, all of which report into one folder, and looks at what is left each time.

    Args:
        bench: a suite of one run.
        family: what `FAMILY` is set to in the environment.
    """

    def __init__(self, bench: Bench, family: str) -> None:
        self._bench = bench
        self._family = family
        self.stages_s: tuple[float, ...] = ()
        """How long each stage of a session takes that nobody kills, as in the last one."""
        self.deaths: list[Death] = []

    def let_live(self) -> None:
        """Run a session to its end: it goes on where those before it were killed."""
        before = self._entries()
        with self._bench.session() as session:
            self.stages_s = self._wait(session, None)
            out, err = session.communicate(timeout=TIMEOUT_S)
        assert session.returncode == 0, f"{out}\n{err}"
        assert ["register", "close"] == [one.event for one in self._grown(before) if one.run_id]
        self._check_whole()

    def moments(self, num_kills: int, noise: Random) -> Iterator[Moment]:
        """Give random moments, one in each of equal parts of each stage, in any order.

        The time until a run is registered depends on who else holds the devices, so each stage has a clock of its own.
        """
        moments = []
        for stage, weight in enumerate(WEIGHTS):
            num_parts = round(num_kills * weight / sum(WEIGHTS))
            moments += [Moment(stage, (part + noise.random()) / num_parts) for part in range(num_parts)]
        noise.shuffle(moments)
        yield from moments

    def kill_at(self, moment: Moment) -> Death:
        """Start a session, kill its pytest, and hold what is left against what must be.

        One that ends before its moment was faster than the last one: the moment comes again, in less time. So it does
        where somebody else held the devices for longer than a session waits.
        """
        while (death := self._killed_at(moment)).place == ENDED:
            continue
        return death

    def _killed_at(self, moment: Moment) -> Death:
        before = self._entries()
        with self._bench.session() as session:
            lasted_s = self._wait(session, moment)
            has_ended = session.poll() is not None
            if session.returncode == 0:
                self.stages_s = lasted_s
            if not has_ended:
                os.kill(session.pid, signal.SIGKILL)
            # Its pipes close when the last process that holds them has ended.
            session.communicate(timeout=TIMEOUT_S)
        self._check_nobody_left()
        _check_leases_free(session.pid)
        was_refused = has_ended and session.returncode == pytest.ExitCode.USAGE_ERROR
        events = [one.event for one in self._grown(before)]
        death = Death(moment, ENDED if was_refused else self._place_of(events, has_ended=has_ended))
        assert not (was_refused and events), events
        self._check_whole()
        self.deaths.append(death)
        return death

    def places(self) -> Counter[str]:
        """Count the deaths by place."""
        return Counter(death.place for death in self.deaths)

    def check_counted(self) -> None:
        """Hold the runs that are counted against the deaths: each that was killed in its run is an aborted one."""
        statuses = Counter(record.status for record in read_runs((self._bench.folder / "reports",), SUITE).records)
        assert self.places()["while running"] == statuses.pop("aborted", 0)
        assert statuses.keys() <= {"completed"}, statuses

    def _wait(self, session: "subprocess.Popen[str]", moment: Moment | None) -> tuple[float, ...]:
        """Wait for a moment, or for the session's end if that is earlier; return how long each stage took."""
        path = self._bench.store().ledger.path
        size_bytes = _size_bytes(path)
        now_s = time.monotonic()
        began_s = [now_s]
        while session.poll() is None:
            now_s = time.monotonic()
            assert now_s - began_s[0] < TIMEOUT_S, "the session did not come to its end"
            # An entry is added at the end of each stage but the last.
            if _size_bytes(path) > size_bytes:
                began_s.append(now_s)
                size_bytes = _size_bytes(path)
            if moment and len(began_s) > moment.stage:
                since_s = now_s - began_s[moment.stage]
                if since_s >= moment.share * self.stages_s[moment.stage]:
                    break
            time.sleep(0.002)
        return tuple(later_s - earlier_s for earlier_s, later_s in pairwise([*began_s, now_s]))

    def _place_of(self, events: Sequence[str], *, has_ended: bool) -> str:
        told = [event for event in events if event not in {"open", "repair"}]
        if has_ended:
            assert ["register", "close"] == told
            return ENDED
        assert told in ([], ["register"], ["register", "close"]), told
        return STAGES[len(told)]

    def _entries(self) -> tuple[LedgerEntry, ...]:
        return self._bench.store().ledger.entries()

    def _grown(self, before: tuple[LedgerEntry, ...]) -> tuple[LedgerEntry, ...]:
        """Return what was added; nothing that was there may be gone."""
        after = self._entries()
        assert before == after[: len(before)]
        return after[len(before) :]

    def _check_whole(self) -> None:
        store = self._bench.store()
        assert () == store.ledger.verify()
        assert () == faults_of(store, SUITE)
        assert not any(run.is_running for run in store.survey(SUITE))

    def _check_nobody_left(self) -> None:
        _, alive = psutil.wait_procs(list(self._living()), timeout=PATIENCE_S)
        left = [process for process in alive if process.is_running() and process.status() != psutil.STATUS_ZOMBIE]
        assert [] == left

    def _living(self) -> Iterator[psutil.Process]:
        for process in psutil.process_iter():
            with suppress(psutil.Error):
                if process.pid != os.getpid() and process.environ().get(FAMILY) == self._family:
                    yield process


def _check_leases_free(pid: int) -> None:
    """Take each lease that a dead process left word of; another session may have been quicker."""
    for word in lease_folder().glob("*.json"):
        deadline_s = time.monotonic() + PATIENCE_S
        while _holder(word) == pid:
            with suppress(Timeout):
                FileLock(word.with_suffix(".lock"), mode=0o666).acquire(timeout=0).lock.release()
                break
            assert time.monotonic() < deadline_s, f"{word.stem} is still leased to {pid}, which is dead"
            time.sleep(0.05)


def _size_bytes(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _holder(word: Path) -> int | None:
    try:
        return msgspec.json.decode(word.read_bytes(), type=Holder).pid
    except (OSError, msgspec.DecodeError):
        return None
