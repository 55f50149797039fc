"""The state of one session: suites, marks by test, pool, store and launcher, each made when first needed."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

import msgspec
import pytest

from pytest_mixgpu.devices.lease import lease
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.errors import MixgpuError, PlanError
from pytest_mixgpu.launch.filemarks import first_look
from pytest_mixgpu.marks.parse import parse_claim, parse_passmark
from pytest_mixgpu.plugin.cluster import cluster_of, coordinator_host, leave_cluster
from pytest_mixgpu.plugin.holding import SIBLINGS_WAIT_S, Holding
from pytest_mixgpu.plugin.keys import SESSION_ID
from pytest_mixgpu.plugin.preflight import inventory_of, look_again, pool_for_request
from pytest_mixgpu.plugin.progress import Progress
from pytest_mixgpu.plugin.sequence import holds
from pytest_mixgpu.plugin.suites import Suite, suite_folder

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_mixgpu.launch.protocol import Launcher
    from pytest_mixgpu.marks.evidence import Evidence
    from pytest_mixgpu.marks.model import Claim, PassMark
    from pytest_mixgpu.marks.present import Present
    from pytest_mixgpu.plugin.experiment import Experiment
    from pytest_mixgpu.plugin.options import Options
    from pytest_mixgpu.plugin.runs import Runs
    from pytest_mixgpu.records.plan import Plan


NEED_DEVICES = frozenset({"gpus", "runs", "stopwatch"})
"""Fixtures that a test cannot have without devices."""


class MixgpuSession:
    """Made at the first test that is ours; closed with pytest's configuration."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        # Before anything that measures is loaded: what is written from here on is seen.
        first_look()
        self.config = config
        self.options = options
        worker = getattr(config, "workerinput", None)
        self.id: str = worker["mixgpu_session"] if worker else config.stash.setdefault(SESSION_ID, uuid.uuid4().hex)
        self.shares_session = worker is not None
        self._marks: dict[str, tuple[PassMark | Claim, ...]] = {}
        self._suites: dict[Path, Suite] = {}
        self.unreadable: dict[str, str] = {}
        """Tests whose marks cannot be judged as they are written, with the reason; in xdist's workers only."""
        self._items: list[pytest.Item] = []
        self.deselected: list[pytest.Item] = []
        self._pools: dict[Path, Pool] = {}
        self._chosen: dict[str, Pool] = {}
        for text, pool in (worker["mixgpu_pools"] if worker else {}).items():
            self._chosen[text] = msgspec.convert(pool, Pool)
        self._experiments: dict[Path, Experiment] = {}
        self._launcher: Launcher | None = None
        self._progress = Progress(config)
        cluster = cluster_of(config)
        self.holding = Holding(
            wait_s=options.wait_s,
            siblings_wait_s=SIBLINGS_WAIT_S if self.shares_session else 0.0,
            session=self.id,
            folder=options.leases,
            others=lambda: inventory_of(config).devices,
            take=lease if cluster is None else cluster.lease,
            say=self._progress.say,
        )
        self.spoken: dict[str, list[dict[str, object]]] = {}
        """Every verdict that fell in this process, by test, as a report carries it: some plugins drop reports."""
        self.named: list[Suite] = []
        """Suites that the command line names, in xdist's controller, which collects no test."""

    def read_marks(self, items: Sequence[pytest.Item]) -> None:
        """Read the markers of these tests.

        Raises:
            pytest.UsageError: one cannot be judged as it is written, or two tests share an id.
        """
        owners = {self._owner_key(item, mark): item for item in self._items for mark in self._marks[item.nodeid]}
        for item in items:
            try:
                marks = _marks_of(item)
                for mark in marks:
                    _refuse_twin(mark, item, owners.setdefault(self._owner_key(item, mark), item))
                self._marks[item.nodeid] = marks
            except pytest.UsageError as error:
                # A usage error in an xdist worker ends the session without its message: there the test says it.
                if not self.shares_session:
                    raise
                self._marks[item.nodeid] = ()
                self.unreadable[item.nodeid] = str(error)
        self._items.extend(items)

    def _owner_key(self, item: pytest.Item, mark: PassMark | Claim) -> tuple[Path, str]:
        return self.suite_of(item).folder, mark.id

    def remember_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Keep tests that `-k`, `-m` or `--lf` left out: their marks stay unjudged, and that is said."""
        for item in items:
            self._marks[item.nodeid] = _marks_of(item)
        self.deselected.extend(items)

    def marks_of(self, item: pytest.Item) -> tuple[PassMark | Claim, ...]:
        """The marks and claims of a test, in the order in which they stand above it."""
        if item.nodeid not in self._marks:
            self._marks[item.nodeid] = _marks_of(item)
        return self._marks[item.nodeid]

    @property
    def items(self) -> tuple[pytest.Item, ...]:
        """The tests of this session that are ours."""
        return tuple(item for item in self._items if item not in self.deselected)

    def suite_of(self, item: pytest.Item) -> Suite:
        """The suite that a test belongs to."""
        return self.suite_at(suite_folder(item.path, self.config.rootpath))

    def suite_at(self, folder: Path) -> Suite:
        """The suite in that folder."""
        return self._suites.setdefault(folder, Suite(folder))

    def suites(self) -> tuple[Suite, ...]:
        """All suites that tests of this session belong to."""
        named = {suite.folder: suite for suite in self.named if suite.plan is not None or suite.lock is not None}
        return tuple(
            (
                named | {self.suite_of(item).folder: self.suite_of(item) for item in (*self._items, *self.deselected)}
            ).values()
        )

    def preflight(self, items: Sequence[pytest.Item]) -> None:
        """Make sure that plans can be read and that pools and workload files are here.

        Raises:
            pytest.UsageError: something is missing; it says what was found and what to do.
        """
        # In an xdist worker a usage error would break the session off as an internal one: the controller has looked
        # already, and what it could not see fails the tests that ask for it.
        # pytest ends a collection also where a marker was refused: nobody waits for devices to be told of a typo.
        if self.options.runs_no_test or self.shares_session or not self._items:
            return
        looked_at: set[Path] = set()
        for item in items:
            suite = self.suite_of(item)
            needs = NEED_DEVICES & set(getattr(item, "fixturenames", ()))
            try:
                _ = suite.plan, suite.lock
                if "runs" in needs:
                    self._refuse_without_plan(item)
                if suite.folder in looked_at:
                    continue
                if needs or self.options.records:
                    self.preflight_suite(suite)
                    looked_at.add(suite.folder)
                elif self.options.gpus:
                    self.pool_of(suite)
            except MixgpuError as error:
                raise pytest.UsageError(str(error)) from error

    def preflight_suite(self, suite: Suite) -> None:
        """Make sure that pool, packages and files of a suite are here, and that its devices are free.

        Where records are judged, these must be readable, and nothing else is needed.

        Raises:
            MixgpuError: something is missing.
            pytest.UsageError: the pool is missing.
        """
        pool = None if self.options.records else self.pool_of(suite)
        if pool is not None:
            coordinator_host(self.config, self.options)
        if suite.plan is not None:
            self.experiment_of(suite).preflight()
        if pool is None:
            return
        with self.holding.hold(pool, what_for="a look whether it is free"):
            pass

    def evidence_of(self, suite: Suite) -> Evidence | None:
        """What was last judged of a suite's runs in this process; in xdist's controller it is gathered anew."""
        if suite.plan is None:
            return None
        return self.experiment_of(suite).recorded()

    def pool_for(self, item: pytest.Item) -> Pool:
        """The session's pool, as the suite of this test understands it."""
        return self.pool_of(self.suite_of(item))

    def runs_for(self, item: pytest.Item) -> Runs:
        """The `runs` fixture of a test."""
        from pytest_mixgpu.plugin.runs import Runs

        suite = self.suite_of(item)
        self._refuse_without_plan(item)
        return Runs(self.experiment_of(suite))

    def _refuse_without_plan(self, item: pytest.Item) -> None:
        suite = self.suite_of(item)
        if suite.plan is None:
            raise PlanError(
                f"{item.nodeid} asks for `runs`, and there is no plan: write {suite.plan_path} "
                "(README: 'With a plan'), or judge samples of the `stopwatch` fixture instead"
            )

    def experiment_of(self, suite: Suite) -> Experiment:
        """The experiment of a suite, shared by all its tests."""
        if suite.folder not in self._experiments:
            from pytest_mixgpu.plugin.experiment import Experiment

            self._experiments[suite.folder] = Experiment(
                suite,
                options=self.options,
                session=self.id,
                marks=tuple(self.marks_in(suite).values()),
                present=lambda: self.present_of(suite),
                pool=lambda: self.pool_of(suite),
                launcher=lambda: self.launcher,
                say=self._progress.say,
                hold=lambda pool: self.holding.hold(pool, what_for=suite.name),
                coordinator=lambda: coordinator_host(self.config, self.options),
                look=lambda: look_again(self.config),
            )
        return self._experiments[suite.folder]

    def pool_of(self, suite: Suite) -> Pool:
        """The session's pool for a suite."""
        if suite.folder not in self._pools:
            self._pools[suite.folder] = self.pool_named(self.options.gpus, plan=suite.plan)
        return self._pools[suite.folder]

    def pool_named(self, request: str | None, *, plan: Plan | None) -> Pool:
        """The pool of a request; equal requests of one session get the same kinds."""
        text, pool = pool_for_request(
            request, plan=plan, config=self.config, leases=self.options.leases, chosen=self._chosen
        )
        self._chosen[text] = pool
        return pool

    def chosen_pools(self) -> dict[str, object]:
        """The pools chosen so far, by request, as xdist's controller hands them to its workers."""
        return {text: msgspec.to_builtins(pool) for text, pool in self._chosen.items()}

    @property
    def launcher(self) -> Launcher:
        """The launcher of this session, kept between runs."""
        if self._launcher is None:
            from pytest_mixgpu.launch.choice import launcher_named

            self._launcher = launcher_named(self.options.launcher, cluster=cluster_of(self.config))
        return self._launcher

    def stands_in(self, item: pytest.Item, mark: PassMark) -> bool:
        """Whether this session's CPU cores stand in for the pool that a mark names: a rehearsal."""
        if not mark.pool or self.options.records:
            return False
        pool = self.pool_for(item)
        return pool.is_cpu and not holds(pool, mark.pool)

    def marks_in(self, suite: Suite) -> dict[str, PassMark | Claim]:
        """Marks and claims of a suite as its tests now write them."""
        return {
            mark.id: mark
            for item in (*self._items, *self.deselected)
            if self.suite_of(item) == suite
            for mark in self.marks_of(item)
        }

    def present_of(self, suite: Suite, *, data: Mapping[str, str] | None = None) -> Present:
        """All that a suite's lock binds, as it is now. Deselected tests are still written."""
        from pytest_mixgpu.plugin.bound import Place, present_of

        places = {
            mark.id: Place(item.path, item.nodeid.partition("::")[2].partition("[")[0], item.nodeid.partition("[")[0])
            for item in (*self._items, *self.deselected)
            if self.suite_of(item) == suite
            for mark in self.marks_of(item)
        }
        search = tuple(self.config.rootpath / path for path in self.config.getini("pythonpath"))
        return present_of(suite, places, root=self.config.rootpath, search=search, data=data)

    def code_changes(self, suite: Suite, mark: PassMark) -> tuple[str, ...]:
        """What takes durations and judges them and is not the code that the suite's lock names, a sentence each."""
        from pytest_mixgpu.marks.present import code_changes

        if suite.lock is None:
            return ()
        return code_changes(suite.lock, self.present_of(suite), mark.id, parts=("code", "judge"))

    def close(self) -> None:
        """Stop preloaded processes, and leave the cluster."""
        if self._launcher is not None:
            self._launcher.close()
        leave_cluster(self.config)


def _marks_of(item: pytest.Item) -> tuple[PassMark | Claim, ...]:
    found: list[PassMark | Claim] = []
    try:
        for marker in item.iter_markers():
            if marker.name == "passmark":
                found.append(parse_passmark(marker.args, marker.kwargs, item.nodeid))
            elif marker.name == "claim":
                found.append(parse_claim(marker.args, marker.kwargs, item.nodeid))
    except MixgpuError as error:
        raise pytest.UsageError(str(error)) from error
    return tuple(reversed(found))


def _refuse_twin(mark: PassMark | Claim, item: pytest.Item, owner: pytest.Item) -> None:
    if owner is not item:
        is_repeated = item.nodeid.partition("[")[0] == owner.nodeid.partition("[")[0]
        remedy = (
            "one test is judged once: repeats of its runs are asked for by --mixgpu-runs, parameters go into its body"
            if is_repeated
            else "give each mark its own"
        )
        raise pytest.UsageError(f"{item.nodeid}: the id {mark.id!r} is already that of {owner.nodeid}: {remedy}")
