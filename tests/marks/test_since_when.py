"""Since when runs count: a lock that grows keeps the runs of what it held before; an amendment drops them for good."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.evidence import Evidence, LedgerState, gather
from pytest_mixgpu.marks.git import Bringing
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Lock, amend, freeze, lock_digest
from pytest_mixgpu.marks.lock_chain import extend
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.registered import entries_of
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan_file import plan_digest
from tests.judging import CLEAN_GIT, e1_marks, freeze_e1, make_evidence
from tests.sample_doctors import with_speed
from tests.samples import FIRST_MOMENT, as_record, e1_digests, e1_plan, make_runs

PLAN = e1_plan()
SPEEDUP, PARITY = e1_marks().mark("e1-speedup"), e1_marks().mark("e1-parity")
NEW = PassMark(id="e1-rate", metric="samples_per_s", comparator="at_least", bound=1.0, unit="samples/s")
LATER = "2026-11-30T00:00:00+00:00"


def add_rate(lock: Lock) -> Lock:
    return freeze(
        lock,
        [*lock.marks, NEW],
        lock.claims,
        suite="e1",
        plan=PLAN,
        bindings=lock.bindings,
        now=LATER,
    )


def amend_speedup(lock: Lock) -> Lock:
    marks = [replace(SPEEDUP, bound=0.6), PARITY]
    return amend(
        lock, SPEEDUP.id, "too strict", LATER, marks=marks, claims=lock.claims, plan=None, bindings=lock.bindings
    )


def amend_code(lock: Lock) -> Lock:
    bindings = replace(lock.bindings, code="ab" * 32)
    return amend(
        lock, "code", "a fault in timing", LATER, marks=lock.marks, claims=lock.claims, plan=None, bindings=bindings
    )


def runs_under(lock: Lock | None, *, factor: float = 1.0, days: int = 0) -> list[RunRecord]:
    digests = e1_digests(PLAN, lock=lock_digest(lock))
    made = make_runs(
        digests=digests,
        rehearsal=False,
        session=f"session-{days}",
        at=FIRST_MOMENT + timedelta(days=days),
        doctor=lambda run: with_speed(run, factor if run.header.name == "fleet" else 1 + days / 1000),
    )
    return [as_record(run) for run in made]


def evidence_under(lock: Lock, records: list[RunRecord]) -> Evidence:
    return gather(
        PLAN,
        lock,
        records,
        session="",
        rehearsal=False,
        plan_digest=plan_digest(PLAN),
        code_digest=e1_digests(PLAN).code,
        evaluator_digest=e1_digests(PLAN).evaluator,
        witness=CLEAN_GIT,
        ledger=LedgerState(entries=entries_of(records)),
    )


def test_a_mark_that_is_added_takes_no_run_from_the_others() -> None:
    """A bad run is not washed away by freezing one mark more; the new mark has no run yet."""
    lock = freeze_e1(PLAN)
    evidence = evidence_under(add_rate(lock), runs_under(lock, factor=0.4))

    assert "FAIL" == judge_mark(SPEEDUP, evidence).word
    assert "UNJUDGED" == judge_mark(NEW, evidence).word
    assert any("expected one since e1-rate was frozen at" in text for text in judge_mark(NEW, evidence).details)


def test_a_mark_that_is_added_is_judged_on_runs_since() -> None:
    """The first completed run of each repeat since its own freeze, while the others keep theirs."""
    lock = freeze_e1(PLAN)
    grown = add_rate(lock)
    evidence = evidence_under(grown, [*runs_under(lock, factor=0.4), *runs_under(grown, days=2)])

    assert ("FAIL", "PASS") == (judge_mark(SPEEDUP, evidence).word, judge_mark(NEW, evidence).word)


@pytest.mark.parametrize(("change", "parity"), [(amend_speedup, "PASS"), (amend_code, "UNJUDGED")])
def test_an_amendment_drops_the_runs_of_what_it_concerns(change: object, parity: str) -> None:
    """One of a mark drops that mark's, one of a binding everybody's; it is noted for ever."""
    assert callable(change)
    lock = freeze_e1(PLAN)
    changed = change(lock)
    evidence = evidence_under(changed, runs_under(lock))
    speed = judge_mark(replace(SPEEDUP, bound=changed.mark(SPEEDUP.id).bound), evidence)

    assert ("UNJUDGED", parity) == (speed.word, judge_mark(PARITY, evidence).word)
    assert "amended" in speed.notes

    again = evidence_under(changed, [*runs_under(lock), *runs_under(changed, days=2)])

    assert "amended" in judge_mark(replace(SPEEDUP, bound=changed.mark(SPEEDUP.id).bound), again).notes


def test_runs_before_the_freeze_are_seen_though_they_do_not_count() -> None:
    """A lock that was thrown away and frozen anew came after runs that somebody saw."""
    lock = freeze_e1(PLAN, now="2026-11-30T10:00:00+00:00")
    thrown_away = extend(freeze_e1(PLAN), event="freeze", ids=("x",), at="2026-11-29T11:00:00+00:00", why="", was="")
    evidence = evidence_under(lock, [*runs_under(thrown_away), *runs_under(lock, days=2)])
    finding = CHECKS["frozen-before-first-run"].look(evidence)

    assert any("after the first run to be judged by it (2026-11-29T12:00:00" in text for text in finding.missing)
    assert "these runs cannot be made to count; a new report folder" in finding.remedy
    assert "after the first run" in CHECKS["committed-before-first-run"].look(
        replace(evidence, git=replace(CLEAN_GIT, committer_date="2026-11-30T10:00:00+00:00"))
    ).missing[0]  # fmt: skip


def test_a_grown_lock_was_in_time_where_each_mark_was() -> None:
    """The commit of the first state witnesses what it held; the later one, what it added."""
    lock = freeze_e1(PLAN)
    grown = add_rate(lock)
    evidence = evidence_under(grown, runs_under(lock))
    ids = [id_ for id_ in grown.ids if id_ != NEW.id]
    early = Bringing(commit="c1" * 20, author_date=CLEAN_GIT.author_date, committer_date=CLEAN_GIT.committer_date)
    marks = tuple(replace(early, id=id_) for id_ in ids)
    git = replace(CLEAN_GIT, commit="c2" * 20, author_date=LATER, committer_date=LATER, marks=marks)

    for check in ("frozen-before-first-run", "committed-before-first-run"):
        assert () == CHECKS[check].look(replace(evidence, git=git)).missing


@pytest.mark.parametrize(
    ("rehearsal", "says"),
    [(True, "git commit passmarks.lock, then run again without --gpus"), (False, "cannot be made to count")],
)
def test_committing_late_helps_no_run_that_exists(rehearsal: bool, says: str) -> None:  # noqa: FBT001
    """`before the first run` is said only where there is none."""
    problem = replace(CLEAN_GIT, problem="uncommitted", message="it differs", remedy="git commit passmarks.lock")
    with_runs = make_evidence(git=problem, rehearsal=rehearsal)
    without = make_evidence(git=problem, rehearsal=rehearsal, records=lambda _: [])
    remedies = [CHECKS["committed-before-first-run"].look(one).remedy for one in (with_runs, without)]

    assert says in remedies[0]
    assert "before the first run" not in remedies[0]
    assert "git commit passmarks.lock, before the first run" == remedies[1]


def test_bindings_of_another_lock_are_none_of_this_one() -> None:
    """Digests of earlier states come from the chain alone."""
    other = freeze_e1(PLAN, now="2026-11-29T09:00:00+00:00")
    evidence = evidence_under(freeze_e1(PLAN), runs_under(other))

    assert {"lock"} == {one.field for one in evidence.superseded}
    assert () == evidence.runs


def test_counts_agree_in_number() -> None:
    """One of a thing is one, in words too."""
    one_mark = freeze_e1(PLAN, marks=[SPEEDUP])
    finding = CHECKS["marks-frozen"].look(make_evidence(lock=lambda _: one_mark, marks=[SPEEDUP]))
    wait = judge_claim(e1_marks().claim("e1-wait"), make_evidence())

    assert finding.stated[0].startswith("1 mark and 10 claims stand in the lock")
    assert "its one check holds" == wait.reason
