"""Freeze, amend, run, crash, edit and judge in any order: the verdict is what a simple model of the rules says.

The machine drives the real lock, store, ledger and judge; runs are made up. An edit either leaves hashes as they were,
and every verdict is TAMPERED, or makes them good again: then a head that was kept outside shows it, and without one
the verdict says `unanchored`. In the lock the change that was sealed again shows it too, unless it is the mark's own.

To look longer: `MIXGPU_EXAMPLES=2000 pytest tests/negative/test_state_machine.py`.
"""

import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from msgspec.structs import replace

from pytest_mixgpu.errors import LedgerError, LockError
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Lock, amend, broken_seals, freeze
from pytest_mixgpu.records.store import RECORD_NAME, RunStore
from tests.marks.lock_parts import as_schema_2, resealed
from tests.negative.one_mark import (
    LOCK_EDITS,
    NUM_PLANNED,
    bindings,
    evidence_of,
    ledger_lines,
    made_run,
    moment,
    rate_mark,
    rebuild_ledger,
    replace_record,
    small_plan,
)
from tests.negative.small_model import Attempt, Change, Model, rate_of
from tests.sample_doctors import as_aborted, as_failed
from tests.sample_timeline import MadeRun
from tests.samples import seal

NUM_EXAMPLES = int(os.environ.get("MIXGPU_EXAMPLES", "0"))
BOUNDS = st.sampled_from([1_000.0, 3_000.0, 100_000.0])
"""Any run meets the first, fast ones the second, none the last."""
SPEEDS = st.sampled_from([1.0, 0.3])
THREE = st.lists(SPEEDS, min_size=NUM_PLANNED, max_size=NUM_PLANNED)
REPEATS = st.integers(0, NUM_PLANNED)
"""One more than are planned."""
PLACES = st.integers(0, 10_000)


class Team(RuleBasedStateMachine):
    """People with a suite, a report folder and an editor."""

    def __init__(self) -> None:
        super().__init__()
        self._home = Path(tempfile.mkdtemp(prefix="mixgpu-team-"))
        self.store = RunStore(self._home / "reports")
        self.lock: Lock | None = None
        self.marker = rate_mark(1_000.0)
        self.model = Model()
        self.damage = ""
        """`lock`, `ledger` or `run`: what was edited and not sealed again."""
        self._lock_before: Lock | None = None
        self.heads: dict[tuple[str, int], bool] = {}
        """Heads that were kept outside, and whether the ledger was written anew before them."""
        self._states: dict[tuple[float, ...], int] = {}
        self._changed_at = 0
        self._now = 0

    def teardown(self) -> None:
        shutil.rmtree(self._home)

    def _tick(self) -> int:
        self._now += 1
        return self._now

    @property
    def _is_departed(self) -> bool:
        frozen = None if self.lock is None else self.lock.mark("rate")
        return self.lock is not None and frozen != self.marker

    # What honest people do.

    @initialize(bound=BOUNDS, frozen_by=st.sampled_from([None, 2, 3]), is_run=st.booleans(), speeds=THREE)
    def begin(self, *, bound: float, frozen_by: int | None, is_run: bool, speeds: list[float]) -> None:
        """Begin with nothing, or where something can be judged already, under a lock of this schema or an older one."""
        self.marker = rate_mark(bound)
        if frozen_by:
            self.freeze_marks()
        if frozen_by == 2:
            assert self.lock is not None
            self.lock, self.model.is_old = as_schema_2(self.lock), True
        if is_run:
            self.run_what_is_planned(speeds)

    @precondition(lambda self: self.lock is None)
    @rule()
    def freeze_marks(self) -> None:
        """Freeze the mark as it is written."""
        self.lock = self._frozen(None, with_other=False)
        self._note_change("freeze", from_nothing=True)

    @precondition(lambda self: self.lock is not None and not self.damage and len(self.lock.marks) == 1)
    @rule()
    def freeze_another(self) -> None:
        """Add a mark: runs that were made before count for the first one as before."""
        if self._is_departed:
            with pytest.raises(LockError, match="not changed by freezing again"):
                self._frozen(self.lock, with_other=True)
            return
        self.lock = self._frozen(self.lock, with_other=True)
        self._note_change("freeze", is_of_mark=False)

    @rule(bound=BOUNDS)
    def edit_marker(self, bound: float) -> None:
        """Write another bound, or the same one, into the test."""
        self.marker = rate_mark(bound)

    @precondition(lambda self: self.lock is not None)
    @rule(bound=st.none() | BOUNDS)
    def amend_mark(self, bound: float | None) -> None:
        """Amend to what the test says: with nothing to amend, or on a lock that was edited by hand, it is refused."""
        self.marker = self.marker if bound is None else rate_mark(bound)
        if self.damage == "lock" or not self._is_departed:
            with pytest.raises(LockError):
                self._amended()
            return
        if self.damage:
            return
        self.lock = self._amended()
        self._note_change("amend")
        self.model.place, self.model.is_amended = len(self.model.versions) - 1, True

    @precondition(lambda self: self.damage in {"", "ledger"})
    @rule(repeat=REPEATS, speed=SPEEDS)
    def run_to_the_end(self, repeat: int, speed: float) -> None:
        """Make a run that completes; on a broken ledger none is registered."""
        if self.damage:
            with pytest.raises(LedgerError):
                seal(self.store, [self._made(repeat, speed)])
            return
        self._add(self._made(repeat, speed))

    @precondition(lambda self: not self.damage)
    @rule(speeds=THREE)
    def run_what_is_planned(self, speeds: list[float]) -> None:
        """Make all runs that are planned, whether they were made before or not."""
        for repeat, speed in enumerate(speeds):
            self._add(self._made(repeat, speed))

    @precondition(lambda self: not self.damage)
    @rule(repeats=st.lists(REPEATS, min_size=1, max_size=3), after_rounds=st.integers(0, 3), is_closed=st.booleans())
    def run_and_end_early(self, *, repeats: list[int], after_rounds: int, is_closed: bool) -> None:
        """Make runs that fail and are closed, or that crash and never close."""
        end = as_failed if is_closed else as_aborted
        for repeat in repeats:
            self._add(end(self._made(repeat, 1.0), after_rounds=after_rounds))

    @precondition(lambda self: not self.damage and self.model.runs)
    @rule(kept=st.integers(0, 40))
    def crash_while_the_ledger_is_written(self, kept: int) -> None:
        """Leave the first bytes of an entry that belongs there: no run is lost by it, and the next one repairs it."""
        reading = self.store.ledger.read()
        if reading.torn:
            return
        entry = f'{{"n":{reading.count},"prev":"{reading.head}","at":"2026-11-30T12:00:00.000+00:00",'.encode()
        self.store.ledger.path.write_bytes(self.store.ledger.path.read_bytes() + entry[: 1 + kept])

    @precondition(lambda self: not self.damage and self.model.runs)
    @rule()
    def keep_the_head_outside(self) -> None:
        """Commit the ledger's head, say."""
        reading = self.store.ledger.read()
        self.heads.setdefault((reading.head, reading.count), False)

    @precondition(lambda self: self.damage)
    @rule()
    def restore(self) -> None:
        """Put back what was edited."""
        if self.damage == "lock":
            self.lock = self._lock_before
        else:
            shutil.rmtree(self.store.folder)
            (self._home / "before").rename(self.store.folder)
        self.damage = ""

    # What somebody edits, and leaves the hashes as they were.

    @precondition(lambda self: self.lock is not None and not self.damage)
    @rule(edit=st.sampled_from(sorted(LOCK_EDITS)))
    def edit_lock(self, edit: str) -> None:
        """Change one field of the lock."""
        assert self.lock is not None
        self._lock_before, self.lock, self.damage = self.lock, LOCK_EDITS[edit](self.lock), "lock"

    @precondition(lambda self: not self.damage and self.model.closed)
    @rule(which=PLACES, what=st.sampled_from(["record", "log", "folder", "one file more"]) | PLACES)
    def edit_run(self, which: int, what: str | int) -> None:
        """Take a file of a closed run away, put one there, or change one byte of its record."""
        self._back_up("run")
        record = self._path_of(which)
        if isinstance(what, int):
            raw = bytearray(record.read_bytes())
            raw[what % len(raw)] ^= 1
            record.write_bytes(raw)
        elif what == "record":
            record.unlink()
        elif what == "folder":
            shutil.rmtree(record.parent)
        elif what == "log":
            next(record.parent.rglob("*.log")).unlink()
        else:
            (record.parent / "more.txt").write_text("more\n")

    @precondition(lambda self: not self.damage and len(ledger_lines(self.store)) > 1)
    @rule(which=PLACES, how=st.sampled_from(["dropped", "doubled", "moved"]) | PLACES)
    def edit_ledger(self, which: int, how: str | int) -> None:
        """Change a digit of a line, drop it, write it twice, or let it change places with the next.

        The last line stays: only a head that was kept outside seals it.
        """
        self._back_up("ledger")
        lines = ledger_lines(self.store)
        number = which % (len(lines) - 1)
        if isinstance(how, int):
            line = bytearray(lines[number])
            digits = [place for place, byte in enumerate(line) if chr(byte).isdigit()]
            line[digits[how % len(digits)]] ^= 1
            lines[number] = bytes(line)
        elif how == "dropped":
            del lines[number]
        elif how == "doubled":
            lines.insert(number, lines[number])
        else:
            lines[number], lines[number + 1] = lines[number + 1], lines[number]
        self._write_lines(lines)

    # What somebody edits, and makes all hashes good again.

    @precondition(lambda self: self.lock is not None and not self.damage)
    @rule(bound=BOUNDS)
    def edit_and_seal_the_lock(self, bound: float) -> None:
        """Change the bound in marker and lock, and seal the last change anew.

        A change that does not name the mark tells it. One that does tells what it told before and no more; runs that
        were made under it count no more.
        """
        assert self.lock is not None
        others = tuple(mark for mark in self.lock.marks if mark.id != "rate")
        self._lock_before, self.marker = self.lock, rate_mark(bound)
        self.lock = resealed(replace(self.lock, marks=(*others, rate_mark(bound))))
        if self.model.tells_an_edit(bound):
            self.damage = "lock"
            return
        self.model.changes[-1] = self.model.changes[-1]._replace(bound=bound)
        self.model.versions[-1] = self._version(self.model.versions[:-1])

    @precondition(lambda self: self.lock is not None and not self.damage)
    @rule()
    def write_the_lock_anew(self) -> None:
        """Freeze from nothing, as if nothing had been frozen or amended: no run that was made counts any more."""
        self.lock = self._frozen(None, with_other=False)
        self._note_change("freeze", from_nothing=True)
        self.model.is_amended = False

    @precondition(lambda self: not self.damage and self.model.runs)
    @rule(which=PLACES)
    def hide_a_run(self, which: int) -> None:
        """Take a run out of the ledger and the folder, and write the chain anew."""
        hidden = self.model.runs.pop(which % len(self.model.runs))
        self._rewrite(lambda: self._drop(hidden))
        shutil.rmtree(self.store.folder / "runs" / hidden.id)

    @precondition(lambda self: not self.damage and self.model.completed)
    @rule(which=PLACES, speed=SPEEDS)
    def replace_the_numbers(self, which: int, speed: float) -> None:
        """Put the record of a faster or slower run in the place of one, and write the chain anew."""
        mine = self.model.completed[which % len(self.model.completed)]
        header = self.store.read(mine.id).header
        run = made_run(mine.number, repeat=mine.repeat, lock=None, speed=speed * (1 + self._tick() / 10_000))
        run = run._replace(header=header)
        self._rewrite(lambda: replace_record(self.store, run))
        mine.value = rate_of(run)

    # What must hold whatever was done.

    @invariant()
    def verdict_is_the_models(self) -> None:
        """The word follows from the runs that count, each attempt in its place; nothing that was edited is a PASS."""
        evidence = evidence_of(self.store.folder, self.lock, [self.marker])
        verdict = judge_mark(self.marker, evidence)

        is_tampered = bool(self.damage) or self._is_departed
        assert ("TAMPERED" if is_tampered else self.model.word(self.marker.bound)) == verdict.word, verdict
        assert self.model.is_amended == bool(verdict.amendments) or self.damage == "lock"
        if self.damage != "ledger":
            assert [run.id for run in self.model.runs] == [entry.run_id for entry in evidence.registered]
        if is_tampered:
            return
        assert self.model.is_amended == ("amended" in verdict.notes)
        assert {"unanchored", "unattested"} <= set(verdict.notes)
        assert (self.lock is None) == ("exploratory" in verdict.qualifiers)
        assert [run.id for run in self.model.observed().values()] == list(verdict.run_ids)

    @invariant()
    def seals_hold_where_nobody_edited(self) -> None:
        """Chain of the lock, chain of the ledger, and heads outside: each says whether it was written anew."""
        assert (self.damage != "lock") == (self.lock is None or not broken_seals(self.lock))
        assert (self.damage != "ledger") == (not self.store.ledger.verify())
        if self.damage != "ledger":
            for (head, count), is_rewritten in self.heads.items():
                assert is_rewritten == bool(self.store.ledger.verify(head=head, count=count))

    # What the rules are made of.

    def _note_change(self, event: str, *, is_of_mark: bool = True, from_nothing: bool = False) -> None:
        if from_nothing:
            self.model.versions.clear()
            self.model.changes.clear()
            self.model.place = 0
        self.model.changes.append(Change(event, is_of_mark=is_of_mark, bound=self.marker.bound))
        self.model.is_old = False
        self._changed_at = self._tick()
        self.model.versions.append(self._version(self.model.versions))

    def _version(self, before: list[int]) -> int:
        """The number of today's state: whoever puts back what was there has the same one again."""
        return self._states.setdefault((*before, self._changed_at, self.marker.bound), self._tick())

    def _frozen(self, lock: Lock | None, *, with_other: bool) -> Lock:
        marks = [self.marker, *([rate_mark(1.0, id_="other")] if with_other else [])]
        now = moment(self._tick()).isoformat()
        return freeze(lock, marks, [], suite="e1", plan=small_plan(), bindings=bindings(), now=now)

    def _amended(self) -> Lock:
        assert self.lock is not None
        now = moment(self._tick()).isoformat()
        return amend(
            self.lock, "rate", "measured", now, marks=[self.marker], claims=[], plan=small_plan(), bindings=bindings()
        )

    def _made(self, repeat: int, speed: float) -> MadeRun:
        number = self._tick()
        # No two runs take the same time to the last digit: that would be a copy.
        return made_run(number, repeat=repeat, lock=self.lock, speed=speed * (1 + number / 10_000))

    def _add(self, run: MadeRun) -> None:
        seal(self.store, [run])
        self.model.add(run)

    def _path_of(self, which: int) -> Path:
        return self.store.folder / "runs" / self.model.closed[which % len(self.model.closed)].id / RECORD_NAME

    def _back_up(self, damage: str) -> None:
        shutil.copytree(self.store.folder, self._home / "before")
        self.damage = damage

    def _write_lines(self, lines: list[bytes]) -> None:
        self.store.ledger.path.write_bytes(b"".join(lines))

    def _drop(self, hidden: Attempt) -> None:
        rebuild_ledger(self.store, lambda lines: [line for line in lines if line.get("run_id") != hidden.id])

    def _rewrite(self, change: Callable[[], None]) -> None:
        """Write the ledger anew, and note which heads outside it contradicts from now on."""
        self._write_lines(ledger_lines(self.store))
        before = ledger_lines(self.store)
        change()
        after = ledger_lines(self.store)
        same = next((n for n, line in enumerate(before) if after[n : n + 1] != [line]), len(before))
        for (head, count), is_rewritten in self.heads.items():
            self.heads[head, count] = is_rewritten or count > same


Team.TestCase.settings = settings(
    max_examples=NUM_EXAMPLES or 36,
    stateful_step_count=12,
    deadline=None,
    # Shrinking takes minutes: only for whoever looks longer.
    phases=[Phase.explicit, Phase.generate, *([Phase.reuse, Phase.shrink] if NUM_EXAMPLES else [])],
    report_multiple_bugs=False,
    derandomize=not NUM_EXAMPLES,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
TestTeam = Team.TestCase
