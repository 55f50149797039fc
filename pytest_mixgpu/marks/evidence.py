"""What a judge looks at: from plan, lock and records to one `Evidence`. Pure; measures nothing and reads no file.

Which runs count is decided in `gather`; every run that does not is kept, with the field that differs.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pytest_mixgpu.marks.anchored import Outside
from pytest_mixgpu.marks.attested import Attested
from pytest_mixgpu.marks.copies import identical_logs
from pytest_mixgpu.marks.eligible import Superseded, in_force, join
from pytest_mixgpu.marks.git import GitWitness
from pytest_mixgpu.marks.lock import Difference, Lock, broken_seals, compare, lock_digest
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.marks.present import Present, place_of
from pytest_mixgpu.marks.registered import Choice, attempts_said, choose_session, entries_of, registrations
from pytest_mixgpu.marks.soundness import impossible_together
from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.model import Role, RunRecord
from pytest_mixgpu.records.plan import (
    Disturbance,
    EvaluationPlan,
    Plan,
    Prices,
    Rehearsal,
    RolePlan,
    Seeds,
    Workload,
)


class LedgerState(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the ledger says of itself."""

    head: str = ""
    count: int = 0
    faults: tuple[str, ...] = ()
    """What is wrong with the chain."""
    outside: Outside = Outside()
    """What heads that were kept outside the report folder show of it."""
    attested: Attested = Attested()
    """Which of its runs are signed."""
    entries: tuple[LedgerEntry, ...] | None = None
    """What it registered of the suite and closed, in order. None: there is no ledger, and the records say it."""
    notes: tuple[str, ...] = ()
    """What is to be known of it and is no fault."""
    running: tuple[str, ...] = ()
    """Ids of the runs that a living process is writing."""


class LostRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A run that the ledger holds and whose record cannot be read. It is an attempt, and never forgotten."""

    run_id: str
    role: str
    name: str
    repeat: int
    session: str
    rehearsal: bool
    was_closed: bool
    """Whether the ledger holds the digest of its record: then the record was removed or damaged since."""
    faults: tuple[str, ...]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """All that a judge needs to know of one experiment, or of its rehearsal."""

    plan: Plan | None
    plan_digest: str
    lock: Lock | None
    lock_digest: str
    lock_faults: tuple[str, ...]
    """What shows that the lock was edited past its chain."""
    differences: tuple[Difference, ...]
    """Where marks and claims as collected, the plan and the recipes depart from the lock."""
    code_digest: str
    """Of the code as it is now."""
    evaluator_digest: str
    recipe_digests: Mapping[str, str]
    """Of the recipes as they are now, by workload."""
    present: Present | None = None
    """All that the lock binds, as it is now, with what the digests stand for; None: only the digests are known."""
    git: GitWitness | None
    ledger: LedgerState
    session: str
    rehearsal: bool
    runs: tuple[RunRecord, ...]
    """The runs that count, whatever became of them, in the order of their registration."""
    superseded: tuple[Superseded, ...]
    """Runs of this experiment that do not count, each with the field that differs."""
    registered: tuple[LedgerEntry, ...]
    """The ledger's entry of each run of this experiment, in order, whatever became of it."""
    attempts: tuple[RunRecord, ...]
    """All runs of this experiment, superseded ones too: what was tried."""
    impossible: tuple[str, ...] = ()
    """Which of these cannot all have been made, or are copies of each other, a sentence each."""
    departures: tuple[str, ...]
    """Rehearsals only: where this session was told to depart from the plan."""
    said: tuple[str, ...]
    """What stands beside every verdict: which session is judged and which are not, and what is known of the ledger."""
    lost: tuple[LostRun, ...]
    seals: dict[str, tuple[str, ...]]
    """What does not match its seal in a record, by run; no entry if all matches."""

    @property
    def roles(self) -> tuple[RolePlan, ...]:
        """The roles of the experiment, or of its rehearsal."""
        stage = staged(self.plan, rehearsal=self.rehearsal)
        return () if stage is None else stage.roles

    @property
    def workload(self) -> Workload | None:
        """What the runs trained and what counts as done; None where nothing in the plan describes what they trained."""
        return workload_of(self.plan, self.runs, rehearsal=self.rehearsal)

    @property
    def undescribed(self) -> str:
        """Why there is no target, in words; empty where the plan describes what the runs trained."""
        if self.plan is None or self.workload is not None:
            return ""
        names = ", ".join(dict.fromkeys(run.header.settings.workload for run in self.runs))
        return f"nothing in the plan describes {names}: there is no target"

    @property
    def evaluation(self) -> EvaluationPlan | None:
        """The one evaluator of all final weights."""
        return evaluation_of(self.plan, rehearsal=self.rehearsal)

    @property
    def prices(self) -> Prices | None:
        """What an hour costs."""
        stage = staged(self.plan, rehearsal=self.rehearsal)
        return None if stage is None else stage.prices

    @property
    def seeds(self) -> Seeds:
        """Number of runs and seed base: as the lock holds them, else as the plan does."""
        return seeds_in_force(self.plan, self.lock, rehearsal=self.rehearsal)

    @property
    def disturbance(self) -> Disturbance:
        """From where on a round or a baseline is disturbed: as the lock holds it, else as the plan does."""
        if self.lock is not None and self.lock.planned is not None:
            return self.lock.planned.disturbance
        return Disturbance() if self.plan is None else self.plan.disturbance

    def named(self, role: Role) -> tuple[RolePlan, ...]:
        """The plan's entries of one role: two controls, say."""
        return tuple(entry for entry in self.roles if entry.role == role)

    def of(self, role: Role, *, name: str = "", leg: str | None = None) -> tuple[RunRecord, ...]:
        """The completed runs of a role that count."""
        return tuple(
            run
            for run in self.runs
            if run.status == "completed"
            and run.header.role == role
            and name in {"", run.header.name}
            and leg in {None, run.header.leg}
        )

    @property
    def is_anchored(self) -> bool:
        """Whether heads that are kept outside vouch for how each of these runs ended."""
        return bool(self.registered) and all(entry.run_id in self.ledger.outside.covered for entry in self.registered)

    @property
    def told_outside(self) -> tuple[str, ...]:
        """What heads and signatures outside show of these runs, and what they cannot."""
        runs = [entry.run_id for entry in self.registered]
        return (*self.ledger.outside.told_of(runs), *self.ledger.attested.told_of(runs))

    @property
    def is_attested(self) -> bool:
        """Whether each of these runs that counts is signed by somebody who may, over a verifier's challenge."""
        return self.ledger.attested.covers([run.id for run in self.runs])

    @property
    def completed(self) -> tuple[RunRecord, ...]:
        """All completed runs that count."""
        return tuple(run for run in self.runs if run.status == "completed")

    @property
    def unfinished(self) -> tuple[RunRecord, ...]:
        """Runs that count and failed, were stopped or never closed."""
        return tuple(run for run in self.runs if run.status != "completed")

    def first_failed(self, *roles: Role) -> str:
        """The id of the first run of these roles that counts and did not complete; empty if there is none."""
        return next((run.id for run in self.unfinished if run.header.role in roles), "")

    def remedy(self, *roles: Role) -> str:
        """What to start so that runs of these roles are made."""
        if self.rehearsal:
            # A stand-in pool that is named by hand is another rehearsal: all of it would be the fleet's.
            return "run again without --gpus"
        pools = dict.fromkeys(entry.pool for entry in self.roles if entry.role in roles)
        return "run with " + " and ".join(f"--gpus={pool}" for pool in pools) if pools else ""


def staged(plan: Plan | None, *, rehearsal: bool) -> Plan | Rehearsal | None:
    """Return the part of a plan that is carried out: the experiment itself, or its rehearsal."""
    return plan.rehearsal if plan is not None and rehearsal and plan.rehearsal else plan


def workload_of(plan: Plan | None, runs: Sequence[RunRecord], *, rehearsal: bool) -> Workload | None:
    """Return what a plan says of the workload that runs trained; None where it says nothing of it.

    Args:
        plan: as it is now.
        runs: those that count; without any, the plan's or its rehearsal's own workload is meant.
        rehearsal: whether the rehearsal is meant.
    """
    stage = staged(plan, rehearsal=rehearsal)
    if plan is None or stage is None:
        return None
    trained = {run.header.settings.workload for run in runs}
    described = (one for one in (stage.workload, plan.workload) if trained <= {one.recipe})
    return next(described, None)


def evaluation_of(plan: Plan | None, *, rehearsal: bool) -> EvaluationPlan | None:
    """Return the evaluator that a plan declares, for the experiment or for its rehearsal."""
    if plan is None:
        return None
    own = plan.rehearsal.evaluation if rehearsal and plan.rehearsal else None
    return own or plan.evaluation


def seeds_in_force(plan: Plan | None, lock: Lock | None, *, rehearsal: bool) -> Seeds:
    """Return number of runs and seed base: as the lock holds them, else as the plan does."""
    planned = None if lock is None else lock.planned
    if planned is not None:
        if rehearsal and planned.rehearsal_seeds is not None:
            return planned.rehearsal_seeds
        return planned.seeds
    if plan is None:
        return Seeds(base=0)
    return plan.rehearsal.seeds if rehearsal and plan.rehearsal else plan.seeds


def gather(  # noqa: PLR0913 - one argument a source of evidence
    plan: Plan | None,
    lock: Lock | None,
    records: Sequence[RunRecord],
    *,
    session: str,
    rehearsal: bool,
    plan_digest: str = "",
    code_digest: str = "",
    evaluator_digest: str = "",
    recipe_digests: Mapping[str, str] = {},
    present: Present | None = None,
    marks: Sequence[PassMark] = (),
    claims: Sequence[Claim] = (),
    witness: GitWitness | None = None,
    ledger: LedgerState | None = None,
    lost: Sequence[LostRun] = (),
    seals: Mapping[str, Sequence[str]] | None = None,
) -> Evidence:
    """Join the runs that belong to one experiment and list the others with the reason.

    Args:
        plan: as it is now.
        lock: as it is now.
        records: all registered runs that can be read, in the order of registration.
        session: this session. A rehearsal is judged on its own session's runs; empty takes the newest whole one.
        rehearsal: whether the rehearsal is judged, or the experiment itself.
        plan_digest: of the plan as it is now.
        code_digest: of the code that produces the number, as it is now.
        evaluator_digest: of the evaluator as it is now.
        recipe_digests: of the recipes as they are now, by workload; each that the lock binds is compared with it.
        present: all that the lock binds, as it is now, with what the digests stand for.
        marks: as collected; each is compared with the lock.
        claims: as collected; each is compared with the lock.
        witness: what git says of the lock.
        ledger: its head, count and faults.
        lost: registered runs whose records cannot be read.
        seals: what does not match its seal in a record, by run id.
    """
    suite = plan.id if plan is not None else (lock.suite if lock is not None else "")
    ledger = ledger or LedgerState()
    entries = entries_of(records) if ledger.entries is None else ledger.entries
    registered = registrations(entries, suite, rehearsal=rehearsal)
    said: tuple[str, ...] = ()
    if rehearsal:
        choice = Choice(session=session) if session else _choose(plan, entries, registered, records)
        session, said = choice.session, choice.said
        registered = tuple(entry for entry in registered if entry.session == session)
    counted = {entry.run_id for entry in registered}
    mine = [run for run in records if run.id in counted]
    # A record that was closed and is gone shows that somebody was at the folder, whichever run it was.
    gone = [
        one
        for one in lost
        if one.was_closed or (one.rehearsal == rehearsal and (not rehearsal or one.session == session))
    ]
    seeds = seeds_in_force(plan, lock, rehearsal=rehearsal)
    conditions = in_force(mine, plan_digest=plan_digest, lock=lock, code_digest=code_digest)
    if rehearsal and mine:
        # A rehearsal may be by another job than the plan's, but by one.
        conditions = msgspec.structs.replace(conditions, job=mine[-1].header.job)
    joined = join(mine, conditions, plan, seeds, rehearsal=rehearsal)
    return Evidence(
        plan=plan,
        plan_digest=plan_digest,
        lock=lock,
        lock_digest=lock_digest(lock),
        lock_faults=() if lock is None else broken_seals(lock),
        differences=()
        if lock is None
        else (
            *_differences(lock, marks, claims, present),
            *departures(lock, plan, plan_digest, recipe_digests, present),
        ),
        code_digest=code_digest,
        evaluator_digest=evaluator_digest,
        recipe_digests=dict(recipe_digests),
        present=present,
        git=witness,
        ledger=ledger,
        session=session,
        rehearsal=rehearsal,
        runs=joined.runs,
        superseded=joined.superseded,
        registered=registered,
        attempts=tuple(mine),
        # Each run is compared with each other one: once for all marks.
        impossible=impossible_together(mine),
        departures=joined.departures,
        said=(*attempts_said(entries, registered, ledger.running), *said, *identical_logs(mine), *ledger.notes),
        lost=tuple(gone),
        seals={run_id: tuple(faults) for run_id, faults in (seals or {}).items() if faults},
    )


def _choose(
    plan: Plan | None, entries: Sequence[LedgerEntry], registered: Sequence[LedgerEntry], records: Sequence[RunRecord]
) -> Choice:
    """Choose the session of a rehearsal that is judged from records."""
    stage = staged(plan, rehearsal=True)
    if plan is None or stage is None:
        return choose_session(entries, registered, records, roles=(), workloads=())
    ids = {entry.run_id for entry in registered}
    return choose_session(
        entries,
        registered,
        [run for run in records if run.id in ids],
        roles=[role.name for role in stage.roles],
        workloads=[one.workload.recipe for one in (stage, plan)],
    )


def departures(
    lock: Lock,
    plan: Plan | None,
    plan_digest: str,
    recipe_digests: Mapping[str, str],
    present: Present | None,
) -> list[Difference]:
    """Return where plan and recipes are not what was frozen."""
    recipes = {} if present is None else present.contents.recipes
    return compare(lock, plan_digest=plan_digest, recipe_digests=recipe_digests, plan=plan, recipes=recipes)


def _differences(
    lock: Lock, marks: Sequence[PassMark], claims: Sequence[Claim], present: Present | None
) -> Iterator[Difference]:
    """Yield where marks and claims as collected are not what was frozen."""
    for mark in marks:
        yield from compare(lock, mark=mark, place=place_of(present, mark.id))
    for claim in claims:
        yield from compare(lock, claim=claim, place=place_of(present, claim.id))
