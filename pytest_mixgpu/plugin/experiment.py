"""One suite's experiment in this session: makes the runs that are missing, gathers the evidence. Imports no pytest."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
from filelock import FileLock

from pytest_mixgpu.errors import MixgpuError, PlanError
from pytest_mixgpu.marks.evidence import gather
from pytest_mixgpu.marks.lock import compare
from pytest_mixgpu.marks.lock_file import digests_since
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.plugin.anchoring import Anchoring
from pytest_mixgpu.plugin.measure import Measurement, digests_in_force, make_runs, recipe_for
from pytest_mixgpu.plugin.outside import with_outside
from pytest_mixgpu.plugin.repeats import first_open_bracket, first_open_repeat
from pytest_mixgpu.plugin.sequence import planned_runs, stage
from pytest_mixgpu.plugin.stored import read_runs, witness_of
from pytest_mixgpu.records.store import RunStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from pathlib import Path

    from pytest_mixgpu.devices.inventory import Inventory
    from pytest_mixgpu.devices.model import Pool
    from pytest_mixgpu.jobs.named import NamedJob
    from pytest_mixgpu.launch.protocol import Launcher
    from pytest_mixgpu.marks.evidence import Evidence
    from pytest_mixgpu.marks.present import Present
    from pytest_mixgpu.plugin.options import Options
    from pytest_mixgpu.plugin.sequence import Staging
    from pytest_mixgpu.plugin.stored import StoredRuns
    from pytest_mixgpu.plugin.suites import Suite
    from pytest_mixgpu.records.ledger import LedgerEntry
    from pytest_mixgpu.records.model import Digests, Role, RunRecord
    from pytest_mixgpu.records.plan import Plan


class Experiment:
    """Makes each group of runs at most once a session, also under xdist, and never again after a failure.

    Args:
        suite: with a plan.
        options: of the session.
        session: its id; the workers of one xdist session share it.
        marks: marks and claims of the suite, as collected.
        present: gives all that the suite's lock binds, as it is now.
        pool: gives the session's pool; asked only where something is measured.
        launcher: gives the launcher, likewise.
        say: takes lines of progress.
        hold: leases devices for a block.
        coordinator: gives the host where updates are combined.
        look: gives what is here now.
    """

    def __init__(  # noqa: PLR0913 - one argument a source
        self,
        suite: Suite,
        *,
        options: Options,
        session: str,
        marks: tuple[PassMark | Claim, ...],
        present: Callable[[], Present],
        pool: Callable[[], Pool],
        launcher: Callable[[], Launcher],
        say: Callable[[str], None],
        hold: Callable[[Pool], AbstractContextManager[Pool]],
        coordinator: Callable[[], str],
        look: Callable[[], Inventory],
    ) -> None:
        if suite.plan is None:
            raise PlanError(f"{suite.plan_path}: there is no plan")
        self._suite = suite
        self._plan: Plan = suite.plan
        self._options = options
        self._session = session
        self._marks = marks
        self._present = present
        self._pool = pool
        self._launcher = launcher
        self._say = say
        self._hold = hold
        self._coordinator = coordinator
        self._look = look
        self._made: set[str] = set()
        self._refused: dict[str, MixgpuError] = {}
        self._stored: tuple[tuple[str, ...], StoredRuns] | None = None
        self._evidence: dict[tuple[bool, tuple[str, ...]], Evidence] = {}

    def preflight(self) -> None:
        """Make sure that packages and files of the workloads are here.

        Raises:
            MixgpuError: something is missing; it says what, and where it was looked for.
        """
        from pytest_mixgpu.jobs.workloads.recipe import check_files

        if self._options.records:
            self._read()
            return
        self._anchoring.check(RunStore(self._options.report))
        self._find_job()
        for staging in self._stagings():
            check_files(recipe_for(staging.workload.recipe, self._suite.folder), self._options.data)

    def evidence(self, roles: tuple[Role, ...]) -> Evidence:
        """Make what is missing for these roles, then gather everything that is known."""
        if not self._options.records:
            self._measure(roles)
        return self._known(rehearsal=self._is_rehearsed(roles))

    def recorded(self) -> Evidence | None:
        """What is known without making any run; None where nothing was ever registered."""
        _, stored = self._read()
        mine = [run for run in stored.registered if run.session == self._session or self._options.records]
        if not mine:
            return None
        return self._known(rehearsal=all(bool(run.rehearsal) for run in mine))

    @property
    def ended_runs(self) -> tuple[RunRecord, ...]:
        """Every registered run that can be read and that no living process is still writing, in order."""
        _, stored = self._read()
        return tuple(record for record in stored.records if record.id not in stored.ledger.running)

    def _read(self) -> tuple[tuple[str, ...], StoredRuns]:
        """The heads of the ledgers and what the folders hold, read again only when a ledger has grown."""
        folders = self._folders
        heads = tuple(RunStore(folder).ledger.head for folder in folders)
        if self._stored is None or self._stored[0] != heads:
            self._stored = (heads, read_runs(folders, self._plan.id, lock=self._suite.lock))
        return self._stored

    def _known(self, *, rehearsal: bool) -> Evidence:
        heads, stored = self._read()
        if (rehearsal, heads) not in self._evidence:
            self._evidence[rehearsal, heads] = self._gather(stored, rehearsal=rehearsal)
        return self._evidence[rehearsal, heads]

    def _gather(self, stored: StoredRuns, *, rehearsal: bool) -> Evidence:
        session = "" if self._options.records else self._session
        digests = self._digests
        evidence = gather(
            self._plan,
            self._suite.lock,
            stored.records,
            session=session,
            rehearsal=rehearsal,
            plan_digest=digests.plan,
            code_digest=digests.code,
            evaluator_digest=digests.evaluator,
            recipe_digests=self._suite.recipe_digests,
            present=None if self._suite.lock is None else self._present(),
            marks=[mark for mark in self._marks if isinstance(mark, PassMark)],
            claims=[mark for mark in self._marks if isinstance(mark, Claim)],
            ledger=with_outside(stored, self._suite, options=self._options, rehearsal=rehearsal),
            lost=stored.lost,
            seals=stored.seals,
        )
        first_runs = [run for run in stored.registered if run.rehearsal == rehearsal]
        if rehearsal:
            first_runs = [run for run in first_runs if run.session == evidence.session]
        witness = witness_of(self._suite.lock_path, first_runs)
        return msgspec.structs.replace(evidence, git=witness)

    def _measure(self, roles: tuple[Role, ...]) -> None:
        if self._departs_from_lock():
            return
        groups = {"speed" if role in {"baseline", "fleet", "reference"} else "parity" for role in roles}
        # The workers of one xdist session take turns: the first one makes the runs, the others read their records.
        turns = self._options.report / ".turns"
        turns.mkdir(parents=True, exist_ok=True)
        with FileLock(str(turns / f"{self._session}-{self._plan.id}.lock")):
            for group in sorted(groups - self._made, reverse=True):
                self._make_once(group)

    def _departs_from_lock(self) -> bool:
        """Whether plan or recipes are not what was frozen: every verdict is TAMPERED then, and runs would be wasted."""
        lock = self._suite.lock
        if lock is None:
            return False
        return bool(compare(lock, plan_digest=self._digests.plan, recipe_digests=self._suite.recipe_digests))

    def _make_once(self, group: str) -> None:
        """Make a group, or refuse it again for the reason that it was refused for before."""
        if group in self._refused:
            raise self._refused[group]
        try:
            self._make_group(group)
        except MixgpuError as error:
            self._refused[group] = error
            raise
        self._made.add(group)

    def _make_group(self, group: str) -> None:
        store = RunStore(self._options.report)
        entries = [entry for entry in store.ledger.entries() if entry.suite == self._plan.id]
        mine = {entry.name for entry in entries if entry.session == self._session}
        for staging in self._stagings():
            num_runs = self._options.runs or staging.seeds.runs
            planned = planned_runs(staging, self._pool(), group=group, num_runs=num_runs)
            names = {run.role.name for run in planned}
            if not planned or not mine.isdisjoint(names):
                continue
            first_repeats = dict.fromkeys(names, 0)
            if not staging.rehearsal:
                first_repeats = self._open_repeats(entries, names, group)
            self._anchoring.check(store)
            make_runs(self._measurement(staging, store), planned, first_repeats=first_repeats)

    def _open_repeats(self, entries: list[LedgerEntry], names: set[str], group: str) -> dict[str, int]:
        """Go on where earlier sessions under the same plan and lock left off; rehearsals start anew each time."""
        lock, plan = self._suite.lock, self._digests.plan
        # Marks that were added since leave earlier runs as they are.
        locks = ("",) if lock is None else digests_since(lock, lock.last_change())
        evidence = [
            entry
            for entry in entries
            if not entry.rehearsal and entry.plan_digest == plan and entry.lock_digest in locks
        ]
        if group == "speed":
            return dict.fromkeys(names, first_open_bracket(evidence))
        return {name: first_open_repeat(evidence, name) for name in names}

    def _measurement(self, staging: Staging, store: RunStore) -> Measurement:
        return Measurement(
            plan=self._plan,
            staging=staging,
            session=self._session,
            store=store,
            launcher=self._launcher(),
            recipe=recipe_for(staging.workload.recipe, self._suite.folder),
            digests=self._digests,
            split=self._options.split or staging.settings.split,
            hold=self._hold,
            coordinator=self._coordinator(),
            look=self._look,
            data_root=self._options.data,
            say=self._say,
            anchoring=self._anchoring,
            job=self._find_job(),
            folder=self._suite.folder,
        )

    def _find_job(self) -> NamedJob | None:
        """The user's own job, imported; None where ours runs.

        Raises:
            PlanError: it is not there, or the flag names another one than the plan.
        """
        from pytest_mixgpu.jobs.named import find_job

        planned, asked = self._plan.own_job, self._options.job
        if planned and asked not in {None, planned}:
            raise PlanError(
                f"--mixgpu-job={asked}: {self._suite.plan_path} names the job {planned}, which makes all its runs; "
                "leave the flag out, or change the plan"
            )
        return find_job(self._job_name, (self._suite.folder, self._options.root)) if self._job_name else None

    @property
    def _job_name(self) -> str:
        return self._options.job or self._plan.own_job

    @property
    def _folders(self) -> tuple[Path, ...]:
        return self._options.records or (self._options.report,)

    @property
    def _anchoring(self) -> Anchoring:
        return Anchoring(
            folder=self._suite.folder,
            suite=self._plan.id,
            lock_digest=self._digests.lock,
            session=self._session,
            options=self._options,
            say=self._say,
        )

    def _stagings(self) -> tuple[Staging, ...]:
        return stage(
            self._plan,
            self._pool(),
            workload=self._options.workload,
            job=self._job_name,
            pool_was_asked=self._options.gpus is not None,
        )

    def _is_rehearsed(self, roles: tuple[Role, ...]) -> bool:
        """Whether the rehearsal is judged: nothing of the experiment itself can be, here or from records."""
        if self._options.records:
            _, stored = self._read()
            return not any(not run.rehearsal and run.role in roles for run in stored.registered)
        stagings = self._stagings()
        real = {role.role for staging in stagings if not staging.rehearsal for role in staging.roles}
        return any(staging.rehearsal for staging in stagings) and not real & set(roles)

    @cached_property
    def _digests(self) -> Digests:
        return digests_in_force(self._suite)
