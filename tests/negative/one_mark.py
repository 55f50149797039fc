"""An experiment of one mark and one role in a report folder, small enough to be made hundreds of times.

Beside it: how somebody edits lock and ledger and makes their hashes good again.
"""

import json
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence, gather
from pytest_mixgpu.marks.lock import Bindings, Lock, lock_digest
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.records.plan_file import plan_digest
from pytest_mixgpu.records.store import RECORD_NAME, RunStore
from tests.judging import CLEAN_GIT
from tests.sample_timeline import MadeRun
from tests.samples import FIRST_MOMENT, e1_digests, e1_plan, make_run, recipe_digests

NUM_PLANNED = 3
Line = dict[str, Any]


@cache
def small_plan() -> Plan:
    """Plan three short runs of a fleet on two cores, and nothing else."""
    plan = e1_plan()
    assert plan.rehearsal is not None
    fleet = next(role for role in plan.rehearsal.roles if role.role == "fleet")
    settings = replace(plan.rehearsal.settings, rounds=2, evaluate_every=0)
    return replace(
        plan,
        workload=replace(plan.rehearsal.workload, target=0.9),
        settings=settings,
        evaluation=plan.rehearsal.evaluation or plan.evaluation,
        seeds=replace(plan.seeds, runs=NUM_PLANNED),
        roles=(fleet,),
        rehearsal=None,
    )


def rate_mark(bound: float, *, id_: str = "rate") -> PassMark:
    """Ask for so many samples a second."""
    return PassMark(id=id_, metric="samples_per_s", comparator="at_least", bound=bound, unit="samples/s")


def bindings() -> Bindings:
    """Return what the lock is bound to."""
    digests = e1_digests(small_plan())
    return Bindings(
        plan=digests.plan, code=digests.code, evaluator=digests.evaluator, recipes=recipe_digests(small_plan())
    )


def moment(number: int) -> datetime:
    """Return a moment that is later for every number."""
    return FIRST_MOMENT + timedelta(minutes=number)


def made_run(number: int, *, repeat: int, lock: Lock | None, speed: float) -> MadeRun:
    """Make the run that the session of this number makes."""
    plan = small_plan()
    return make_run(
        repeat=repeat,
        rehearsal=False,
        plan=plan,
        digests=e1_digests(plan, lock=lock_digest(lock)),
        session=f"session-{number}",
        at=moment(number),
        speed=speed,
    )


def evidence_of(folder: Path, lock: Lock | None, marks: Sequence[PassMark]) -> Evidence:
    """Gather what a session would that judges this folder."""
    plan = small_plan()
    stored, digests = read_runs((folder,), plan.id), e1_digests(plan)
    return gather(
        plan,
        lock,
        stored.records,
        session="",
        rehearsal=False,
        plan_digest=plan_digest(plan),
        code_digest=digests.code,
        evaluator_digest=digests.evaluator,
        recipe_digests=recipe_digests(plan),
        marks=marks,
        witness=CLEAN_GIT,
        ledger=stored.ledger,
        lost=stored.lost,
        seals=stored.seals,
    )


LOCK_EDITS: dict[str, Callable[[Lock], Lock]] = {
    "bound": lambda lock: replace(lock, marks=tuple(replace(mark, bound=mark.bound / 2) for mark in lock.marks)),
    "least runs": lambda lock: replace(lock, marks=tuple(replace(mark, least_runs=2) for mark in lock.marks)),
    "a mark gone": lambda lock: replace(lock, marks=lock.marks[1:]),
    "code": lambda lock: replace(lock, bindings=replace(lock.bindings, code="00" * 32)),
    "frozen at": lambda lock: replace(lock, frozen_at=moment(-1000).isoformat()),
    "reason": lambda lock: replace(lock, chain=(*lock.chain[:-1], replace(lock.chain[-1], why="another"))),
    "a change gone": lambda lock: replace(lock, chain=lock.chain[:-1]),
}


def ledger_lines(store: RunStore) -> list[bytes]:
    """Return the whole lines of a ledger; what a killed writer left after them is none."""
    raw = store.ledger.path.read_bytes() if store.ledger.path.exists() else b""
    return [line for line in raw.splitlines(keepends=True) if line.endswith(b"\n")]


def rebuild_ledger(store: RunStore, change: Callable[[list[Line]], list[Line]]) -> None:
    """Write the ledger anew with other lines and a chain that is whole."""
    lines = [json.loads(raw) for raw in store.ledger.path.read_bytes().splitlines()]
    prev, written = "0" * 64, b""
    for n, line in enumerate(change(lines)):
        raw = json.dumps({**line, "n": n, "prev": prev}, separators=(",", ":")).encode()
        prev, written = sha256(raw).hexdigest(), written + raw + b"\n"
    store.ledger.path.write_bytes(written)


def replace_record(store: RunStore, run: MadeRun) -> None:
    """Put other numbers in the place of a closed run, its record's digest and the ledger made good again."""
    run_id = run.header.run_id
    path = store.folder / "runs" / run_id / RECORD_NAME
    before = store.read(run_id)
    assert before.outcome is not None
    assert run.outcome is not None
    lines = [*run.lines(), replace(run.outcome, files=before.outcome.files)]
    path.write_bytes(b"".join(encode(line) + b"\n" for line in lines))
    digest = sha256(path.read_bytes()).hexdigest()

    def closes(line: Line) -> Line:
        is_meant = line["event"] == "close" and line["run_id"] == run_id
        return {**line, "record_digest": digest} if is_meant else line

    rebuild_ledger(store, lambda ledger: [closes(line) for line in ledger])
