"""What makes an experiment wrong on purpose: doctors for runs, plans, locks and witnesses, and the form of a case."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from pytest_mixgpu.devices.model import DeviceFacts, Pool
from pytest_mixgpu.marks.evidence import Evidence, LostRun
from pytest_mixgpu.marks.git import Bringing, GitWitness
from pytest_mixgpu.marks.lock import Lock, amend, freeze
from pytest_mixgpu.marks.lock_file import ChainEntry, seal_of, state_digest
from pytest_mixgpu.marks.model import PassMark, Word
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan, Rehearsal
from pytest_mixgpu.timing.model import Segment
from tests.judging import CLEAN_GIT, e1_marks, freeze_e1, make_evidence
from tests.sample_doctors import (
    Doctor,
    only,
    with_header,
    with_outcome,
    with_rounds,
    with_settings,
    with_speed,
    with_start,
    with_workers,
)
from tests.sample_parts import make_pool
from tests.sample_timeline import MadeRun
from tests.samples import e1_plan

AFTER_FIRST_RUN = "2026-11-29T12:00:01+00:00"


class Case(NamedTuple):
    """One doctored experiment."""

    gate: str
    """The check, or for a mark `<id>`."""
    what: str
    """What was made wrong; the id of the test."""
    make: Callable[[], Evidence]
    word: Word
    says: str
    """Words that reason or details must hold."""
    mark: Callable[[PassMark], PassMark] = lambda mark: mark
    """Makes the mark as it is collected and frozen, where it is not as the suite writes it."""


def doctored(doctor: Doctor, *, name: str = "", leg: str = "", repeats: int = 1) -> Callable[[], Evidence]:
    """Make evidence with some runs doctored."""
    return lambda: make_evidence(doctor=only(doctor, name=name, leg=leg), repeats=repeats)


def planned(change: Callable[[Plan], Plan], *, rehearsal: bool = True) -> Callable[[], Evidence]:
    """Make evidence with a doctored plan, frozen and run as it is."""
    return lambda: make_evidence(plan=change(e1_plan()), rehearsal=rehearsal)


def stand_in(change: Callable[[Rehearsal], Rehearsal]) -> Callable[[Plan], Plan]:
    """Doctor the rehearsal of a plan."""

    def doctor(plan: Plan) -> Plan:
        assert plan.rehearsal is not None
        return replace(plan, rehearsal=change(plan.rehearsal))

    return doctor


def on_another_workload(run: MadeRun) -> MadeRun:
    """Train a user's own recipe, as `--mixgpu-workload` asks for it."""
    recipe = {**run.header.settings.recipe, "name": "letters"}
    return with_settings(run, workload="letters", recipe=recipe)


def at_another_rate(run: MadeRun) -> MadeRun:
    """Train with another optimizer than the recipe that was frozen."""
    optimizer = {"name": "adamw", "learning_rate": 0.002}
    return with_settings(run, recipe={**run.header.settings.recipe, "optimizer": optimizer})


def start_without(field: str, value: object) -> Doctor:
    return lambda run: with_start(run, **{field: value})


def host_without(run: MadeRun) -> MadeRun:
    return with_header(with_start(run, hosts=()), host=replace(run.header.host, kernel=""))


def without_test(run: MadeRun) -> MadeRun:
    return run._replace(evaluations=tuple(one for one in run.evaluations if one.split != "test"))


def tests_as(**changes: object) -> Doctor:
    """Change fields of the score on the test set."""

    def doctor(run: MadeRun) -> MadeRun:
        changed = (replace(one, **changes) if one.split == "test" else one for one in run.evaluations)
        return run._replace(evaluations=tuple(changed))

    return doctor


def test_set_twice(run: MadeRun) -> MadeRun:
    return run._replace(evaluations=(*run.evaluations, *(one for one in run.evaluations if one.split == "test")))


def first_round(**changes: object) -> Doctor:
    """Change fields of the first measured round."""

    def doctor(run: MadeRun) -> MadeRun:
        at = next(place for place, line in enumerate(run.rounds) if not line.warmup)
        rounds = [*run.rounds]
        rounds[at] = replace(rounds[at], **changes)
        return run._replace(rounds=tuple(rounds))

    return doctor


def all_measured(run: MadeRun) -> MadeRun:
    """Present the warm-up as a measured round, in the settings too."""
    settings = run.header.settings
    called = with_settings(run, rounds=settings.rounds + settings.warmup_rounds, warmup_rounds=0)
    return with_rounds(called, warmup=False)


def stretched_compute(run: MadeRun) -> MadeRun:
    """Book waiting as computing: the phases still add up, and no longer follow from the stamps."""
    rounds = []
    for line in run.rounds:
        segments = tuple((Segment("compute", 0.0, own.close_s),) for own in line.stamps)
        rounds.append(replace(line, segments=segments))
    return run._replace(rounds=tuple(rounds))


def short_phases(run: MadeRun) -> MadeRun:
    """Drop the last phase of everybody."""
    return run._replace(
        rounds=tuple(replace(line, segments=tuple(own[:-1] for own in line.segments)) for line in run.rounds)
    )


def longer_rounds(run: MadeRun) -> MadeRun:
    """Claim that each round lasted one percent longer, and keep the stamps."""
    return run._replace(rounds=tuple(replace(line, round_s=1.01 * line.round_s) for line in run.rounds))


def fewer_samples(run: MadeRun) -> MadeRun:
    """Do half the work and say so in the rounds only."""
    rounds = tuple(replace(line, samples=tuple(each // 2 for each in line.samples)) for line in run.rounds)
    return run._replace(rounds=rounds)


def busy_cores(run: MadeRun) -> MadeRun:
    return first_round(foreign_share=(0.4,) * len(run.rounds[0].participants))(run)


def beside_another(run: MadeRun) -> MadeRun:
    """Let the host say where its GPUs are plugged in, and one participant run elsewhere."""
    host = run.header.host
    facts = tuple(DeviceFacts(device_id=device.id, near_cores="0-15") for device in run.header.pool.devices)
    moved = with_workers(with_header(run, host=replace(host, devices=facts)), cores=tuple(range(8)), memory_nodes="0")
    workers = moved.start.workers if moved.start else ()
    return with_start(moved, workers=(replace(workers[0], cores=(15, 16)), *workers[1:]))


def memory_elsewhere(run: MadeRun) -> MadeRun:
    """Put each device on a node, and all memory on another one."""
    devices = tuple(replace(device, numa_node=1) for device in run.header.pool.devices)
    return with_workers(with_header(run, pool=Pool(devices=devices)), memory_nodes="0")


def no_links(run: MadeRun) -> MadeRun:
    return with_start(run, links=run.start.links[:-1] if run.start else ())


def on_fifteen(run: MadeRun) -> MadeRun:
    """Leave one of sixteen devices out."""
    smaller = with_header(run, pool=make_pool("a40:15"))
    return with_speed(with_settings(smaller, shares=(22,) * 5 + (21,) * 10), 1.0)


def other_shares(run: MadeRun) -> MadeRun:
    """Split the same work otherwise, and run it so."""
    return with_speed(with_settings(run, shares=(140, 100), split="speed"), 1.0)


def without_span(name: str) -> Doctor:
    def doctor(run: MadeRun) -> MadeRun:
        assert run.outcome is not None
        return with_outcome(run, spans=tuple(span for span in run.outcome.spans if span.name != name))

    return doctor


def amended(lock: Lock) -> Lock:
    """Amend the judge, which changes no number."""
    bindings = replace(lock.bindings, judge="bb" * 32)
    suite = e1_marks()
    return amend(
        lock, "judge", "devices changed", "2026-11-29T11:00:00+00:00", marks=suite.marks, claims=suite.claims,
        plan=e1_plan(), bindings=bindings,
    )  # fmt: skip


def amended_without_what_was_there(lock: Lock) -> Lock:
    """Amend the judge as schema 2 would have written it, and blank what was there: schema 3 finds that by itself."""
    longer = replace(amended(lock), schema=2)
    chain: list[ChainEntry] = []
    for entry, what in zip(longer.chain, (replace(lock, schema=2), longer), strict=True):
        was = " " if entry.event == "amend" else ""
        previous = chain[-1].seal if chain else ""
        old = replace(entry, was=was, parts=None, state=state_digest(what), previous=previous)
        chain.append(replace(old, seal=seal_of(old)))
    return replace(longer, chain=tuple(chain))


def frozen_late(at: str) -> Lock:
    """Freeze a mark that the suite had from the first run on later than all others."""
    suite, plan = e1_marks(), e1_plan()
    first = freeze_e1(plan, marks=[mark for mark in suite.marks if mark.id != "e1-speedup"])
    return freeze(first, suite.marks, suite.claims, suite=plan.id, plan=plan, bindings=first.bindings, now=at)


def looser(lock: Lock) -> Lock:
    """Lower the bound by hand."""
    return replace(lock, marks=tuple(replace(mark, bound=0.1) for mark in lock.marks))


def no_git(problem: str) -> GitWitness:
    messages = {
        "no-repository": ("there is no git repository here (an archive holds no history)", "judge in a clone"),
        "shallow": ("this is a shallow clone", "git fetch --unshallow"),
        "partial": ("this is a partial clone", "git fetch --refetch --no-filter"),
        "slow": ("git rev-list gave no answer within 20 s", "git gc"),
        "uncommitted": ("passmarks.lock differs from what is committed", "git commit passmarks.lock"),
    }
    message, remedy = messages[problem]
    return replace(CLEAN_GIT, problem=problem, message=message, remedy=remedy, commit="", ancestor=False)


def late_commit() -> GitWitness:
    return replace(CLEAN_GIT, committer_date=AFTER_FIRST_RUN, before_first_run=False)


def one_mark_late(*, elsewhere: bool = False) -> GitWitness:
    """The lock as a whole is said to be in time; one mark's own value came later, as a squash may leave it."""
    early = Bringing(commit="c2" * 20, author_date=CLEAN_GIT.author_date, committer_date=CLEAN_GIT.committer_date)
    late = replace(early, id="e1-speedup", commit="c3" * 20, committer_date=AFTER_FIRST_RUN)
    return replace(CLEAN_GIT, marks=(replace(late, elsewhere=replace(early, ancestor=False) if elsewhere else None),))


def one_mark_cut_off() -> GitWitness:
    """What decides one mark is not in this clone."""
    one = Bringing(id="e1-parity", problem="shallow", message="its history is cut off", remedy="git fetch --unshallow")
    return replace(CLEAN_GIT, marks=(one,))


def same_nonce(records: list[RunRecord]) -> list[RunRecord]:
    first = records[0].header.nonce
    return [replace(run, header=replace(run.header, nonce=first)) for run in records]


LOST = LostRun(
    run_id="gone",
    role="fleet",
    name="fleet",
    repeat=0,
    session="session-1",
    rehearsal=True,
    was_closed=False,
    faults=("record.jsonl: no such file",),
)


def freeze_some() -> Lock:
    """Freeze without the mark that compares with controls."""
    return freeze_e1(e1_plan(), marks=[mark for mark in e1_marks().marks if mark.of != "controls"])
