"""Whole experiments before the judge: `make_evidence` joins made-up runs, a lock and a git witness."""

import importlib.util
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence, LedgerState, LostRun, gather
from pytest_mixgpu.marks.git import GitWitness
from pytest_mixgpu.marks.lock import Bindings, Lock, freeze, lock_digest
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.marks.parse import parse_claim, parse_passmark
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import plan_digest
from tests.sample_doctors import Doctor
from tests.samples import as_record, e1_digests, e1_plan, make_runs, recipe_digests

E1_SUITE = Path(__file__).parent.parent / "suites" / "e1" / "test_e1.py"
FROZEN_AT = "2026-11-29T10:00:00+00:00"
COMMITTED_AT = "2026-11-29T10:05:00+00:00"
LEDGER = LedgerState(head="1e" * 32, count=17)
CLEAN_GIT = GitWitness(
    commit="c0" * 20,
    author_date=COMMITTED_AT,
    committer_date=COMMITTED_AT,
    head="c1" * 20,
    ancestor=True,
    clean=True,
    first_run_at="2026-11-29T12:00:00.000+00:00",
    before_first_run=True,
)


class SuiteMarks(NamedTuple):
    """What the tests of a suite carry."""

    marks: tuple[PassMark, ...]
    claims: tuple[Claim, ...]
    by_test: dict[str, tuple[PassMark | Claim, ...]]

    def mark(self, id_: str) -> PassMark:
        return next(mark for mark in self.marks if mark.id == id_)

    def claim(self, id_: str) -> Claim:
        return next(claim for claim in self.claims if claim.id == id_)


@cache
def e1_marks() -> SuiteMarks:
    """Return the marks and claims of our own suite, as its tests carry them."""
    spec = importlib.util.spec_from_file_location("e1_suite_under_test", E1_SUITE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    by_test: dict[str, tuple[PassMark | Claim, ...]] = {}
    for name, test in vars(module).items():
        if name.startswith("test_"):
            by_test[name] = tuple(
                parse_passmark(one.args, one.kwargs, name)
                if one.name == "passmark"
                else parse_claim(one.args, one.kwargs, name)
                for one in test.pytestmark
            )
    everything = [one for found in by_test.values() for one in found]
    return SuiteMarks(
        marks=tuple(one for one in everything if isinstance(one, PassMark)),
        claims=tuple(one for one in everything if isinstance(one, Claim)),
        by_test=by_test,
    )


def freeze_e1(plan: Plan, *, marks: Sequence[PassMark] | None = None, now: str = FROZEN_AT) -> Lock:
    """Freeze our own suite's marks and claims with a plan."""
    suite, digests = e1_marks(), e1_digests(plan)
    bindings = Bindings(plan=digests.plan, code=digests.code, evaluator=digests.evaluator, recipes=recipe_digests(plan))
    marks = suite.marks if marks is None else marks
    return freeze(None, marks, suite.claims, suite=plan.id, plan=plan, bindings=bindings, now=now)


def make_evidence(
    *,
    doctor: Doctor | None = None,
    plan: Plan | None = None,
    lock: Callable[[Lock], Lock | None] = lambda lock: lock,
    records: Callable[[list[RunRecord]], list[RunRecord]] = lambda records: records,
    git: GitWitness | None = CLEAN_GIT,
    ledger: LedgerState = LEDGER,
    lost: Sequence[LostRun] = (),
    seals: dict[str, tuple[str, ...]] | None = None,
    marks: Sequence[PassMark] | None = None,
    rehearsal: bool = True,
    repeats: int = 1,
    names: Sequence[str] = (),
    plan_now: Plan | None = None,
    recipes_now: dict[str, str] | None = None,
) -> Evidence:
    """Make all runs of E1 under a lock of the plan, sealed after the doctor was there, and gather them.

    Args:
        doctor: changes a run before it is sealed.
        plan: E1's own if not said. The lock is frozen with it, so that a doctored plan agrees with its lock.
        lock: changes the lock; the runs were made under what it returns.
        records: changes the list of records.
        git: what git says of the lock.
        ledger: what the ledger says of itself.
        lost: registered runs without a readable record.
        seals: what does not match its seal, by run.
        marks: as collected; those of the suite if not said.
        rehearsal: whether the stand-in of the plan is run.
        repeats: how many runs of each role.
        names: only the roles with these names.
        plan_now: what the plan says when it is judged, if it was changed after the runs.
        recipes_now: digests of recipes that were changed after the freeze, by workload.
    """
    plan = plan or e1_plan()
    frozen = lock(freeze_e1(plan))
    digests = e1_digests(plan, lock=lock_digest(frozen))
    made = make_runs(plan=plan, digests=digests, doctor=doctor, rehearsal=rehearsal, repeats=repeats, names=names)
    suite = e1_marks()
    return gather(
        plan_now or plan,
        frozen,
        records([as_record(run) for run in made]),
        session="session-1",
        rehearsal=rehearsal,
        plan_digest=plan_digest(plan_now or plan),
        code_digest=digests.code,
        evaluator_digest=digests.evaluator,
        recipe_digests=recipe_digests(plan) | (recipes_now or {}),
        marks=suite.marks if marks is None else marks,
        claims=suite.claims,
        witness=git,
        ledger=ledger,
        lost=lost,
        seals=seals,
    )


def with_runs(plan: Plan, runs: int) -> Plan:
    """Plan this many runs of each role, in the experiment and in its rehearsal."""
    assert plan.rehearsal is not None
    stand_in = replace(plan.rehearsal, seeds=replace(plan.rehearsal.seeds, runs=runs))
    return replace(plan, seeds=replace(plan.seeds, runs=runs), rehearsal=stand_in)


def with_prices(plan: Plan) -> Plan:
    """Give the experiment itself the prices that it leaves open."""
    assert plan.prices is not None
    return replace(plan, prices=replace(plan.prices, device_hour={"a40": 0.4, "rtx4090": 0.5, "mi300x": 2.0}))
