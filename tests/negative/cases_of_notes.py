"""Notes, qualifiers, metrics and broken seals, each beside the same experiment without what brings it about."""

from collections.abc import Callable
from typing import NamedTuple

from msgspec.structs import replace

from pytest_mixgpu.marks.anchored import Outside
from pytest_mixgpu.marks.attested import Attested
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.evidence import Evidence, LedgerState
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Contents
from pytest_mixgpu.marks.model import Note, PassMark, Qualifier, Verdict
from pytest_mixgpu.marks.present import Present
from pytest_mixgpu.marks.stated import judge_value
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Rehearsal
from tests.judging import e1_marks, make_evidence, with_runs
from tests.negative.doctoring import LOST, amended, busy_cores, looser, no_git, one_mark_late, planned, stand_in
from tests.sample_doctors import Doctor, only, with_digests, with_score, with_speed, with_workers
from tests.samples import FIRST_MOMENT, as_record, e1_plan, make_runs

SPEEDUP, PARITY = e1_marks().mark("e1-speedup"), e1_marks().mark("e1-parity")
NUMBER = PassMark(id="latency", metric="latency", comparator="at_most", bound=2.0, unit="s")

Judged = Callable[[], Verdict]


class NoteCase(NamedTuple):
    """A note or a qualifier, the experiment that brings it about, and one that does not."""

    note: Note | Qualifier
    shown: Judged
    not_shown: Judged


def speedup(evidence: Callable[[], Evidence] = make_evidence) -> Judged:
    return lambda: judge_mark(SPEEDUP, evidence())


def fleet(doctor: Doctor) -> Callable[[], Evidence]:
    return lambda: make_evidence(doctor=only(doctor, name="fleet"))


def three(speeds: tuple[float, float, float]) -> Callable[[], Evidence]:
    """Run three repeats, with a fleet of these speeds."""
    doctor = only(lambda run: with_speed(run, speeds[run.header.repeat]), name="fleet")
    return lambda: make_evidence(plan=with_runs(e1_plan(), 3), repeats=3, doctor=doctor)


def other_code() -> Evidence:
    return make_evidence(rehearsal=False, doctor=lambda run: with_digests(run, code="ee" * 32))


def all_kept_outside() -> Evidence:
    runs = [entry.run_id for entry in make_evidence().registered]
    return make_evidence(ledger=LedgerState(head="aa", count=3, outside=Outside(covered=tuple(runs))))


def all_signed() -> Evidence:
    attested = Attested(accepted={run.id: "signed by a host" for run in make_evidence().runs})
    return make_evidence(ledger=LedgerState(head="aa", count=3, attested=attested))


def made_again() -> Evidence:
    """Make a control again in a later session, with the very result that it had."""

    def again(records: list[RunRecord]) -> list[RunRecord]:
        later = make_runs(names=("control-a",), digests=records[0].header.digests, at=FIRST_MOMENT.replace(year=2027))
        return [*records, *(as_record(with_speed(run, 1.001)) for run in later)]

    return make_evidence(records=again)


NOTE_CASES = (
    NoteCase("preliminary", speedup(), speedup(three((1.0, 1.01, 0.99)))),
    NoteCase("inconclusive", speedup(three((0.70, 0.76, 0.82))), speedup(three((1.0, 1.01, 0.99)))),
    NoteCase("disturbed", speedup(fleet(busy_cores)), speedup()),
    NoteCase("amended", speedup(lambda: make_evidence(lock=amended)), speedup()),
    NoteCase("code-changed", speedup(other_code), speedup(lambda: make_evidence(rehearsal=False))),
    NoteCase("unanchored", speedup(), speedup(all_kept_outside)),
    NoteCase("unattested", speedup(), speedup(all_signed)),
    NoteCase("committed-late", speedup(lambda: make_evidence(git=one_mark_late())), speedup()),
    NoteCase("unwitnessed", speedup(lambda: make_evidence(git=no_git("shallow"))), speedup()),
    NoteCase("mixed-environments", speedup(fleet(lambda run: with_workers(run, torch="9.9"))), speedup()),
    NoteCase(
        "deterministic-repeat", lambda: judge_mark(PARITY, made_again()), lambda: judge_mark(PARITY, make_evidence())
    ),
    NoteCase("self-reported", lambda: judge_value(NUMBER, 1.0), speedup()),
    NoteCase("value-stated", lambda: judge_value(NUMBER, 1.0), speedup()),
    NoteCase("devices-stated", lambda: judge_value(NUMBER, 1.0, devices=("a40",)), lambda: judge_value(NUMBER, 1.0)),
)
QUALIFIER_CASES = (
    NoteCase("rehearsal", speedup(), speedup(lambda: make_evidence(rehearsal=False))),
    NoteCase("exploratory", speedup(lambda: make_evidence(lock=lambda _: None)), speedup()),
)
NOT_MADE_YET = frozenset({"emulated"})
"""No flag brings it about in this version; a case is due with the first that does."""


class MetricCase(NamedTuple):
    """A mark that an honest rehearsal meets, and a rehearsal that misses it."""

    mark: PassMark
    honest: Callable[[], Evidence]
    missing_it: Callable[[], Evidence]


def dearer(it: Rehearsal) -> Rehearsal:
    assert it.prices is not None
    hours = {kind: 3 * amount for kind, amount in it.prices.device_hour.items()}
    return replace(it, prices=replace(it.prices, device_hour=hours))


def just_met(metric: str, unit: str, *, at_most: bool) -> PassMark:
    """Ask for what an honest rehearsal shows, with a tenth to spare."""
    asked = PassMark(id=metric, metric=metric, comparator="at_most" if at_most else "at_least", bound=0.0, unit=unit)
    value = judge_mark(asked, make_evidence()).value
    assert value is not None
    return replace(asked, bound=value * (1.1 if at_most else 0.9))


def currency() -> str:
    plan = e1_plan()
    assert plan.rehearsal is not None
    assert plan.rehearsal.prices is not None
    return plan.rehearsal.prices.currency


METRIC_CASES: dict[str, Callable[[], MetricCase]] = {
    "speedup": lambda: MetricCase(SPEEDUP, make_evidence, fleet(lambda run: with_speed(run, 0.5))),
    "parity": lambda: MetricCase(
        PARITY, make_evidence, lambda: make_evidence(doctor=only(lambda run: with_score(run, 430), name="mixed"))
    ),
    "accuracy": lambda: MetricCase(
        just_met("accuracy", "share", at_most=False), make_evidence, fleet(lambda run: with_score(run, 390))
    ),
    "samples_per_s": lambda: MetricCase(
        just_met("samples_per_s", "samples/s", at_most=False), make_evidence, fleet(lambda run: with_speed(run, 0.5))
    ),
    "round_s": lambda: MetricCase(
        just_met("round_s", "s", at_most=True), make_evidence, fleet(lambda run: with_speed(run, 0.5))
    ),
    "cost_per_result": lambda: MetricCase(
        just_met("cost_per_result", currency(), at_most=True), make_evidence, planned(stand_in(dearer))
    ),
}


class SealCase(NamedTuple):
    """Something that does not match its seal, and what is said of it."""

    what: str
    judged: Judged
    says: str


def edited_list() -> Verdict:
    """List other files in the lock than its digests stand for."""
    evidence = make_evidence(
        lock=lambda lock: replace(lock, contents=Contents(sources={"pytest_mixgpu/jobs/job.py": "aa" * 32}))
    )
    assert evidence.lock is not None
    present = Present(
        bindings=evidence.lock.bindings, contents=Contents(sources={"pytest_mixgpu/jobs/job.py": "bb" * 32})
    )
    return judge_mark(SPEEDUP, replace(evidence, present=present, lock_faults=()))


def taken_for_a_claim() -> Verdict:
    return judge_mark(replace(SPEEDUP, id=e1_marks().claims[0].id), make_evidence())


def with_ledger(**changes: object) -> Callable[[], Evidence]:
    return lambda: make_evidence(ledger=replace(LedgerState(head="aa", count=3), **changes))


def shorter_claim() -> Verdict:
    claim = next(one for one in e1_marks().claims if len(one.checks) > 1)
    return judge_claim(replace(claim, checks=claim.checks[1:]), make_evidence())


SEAL_CASES = (
    SealCase("lock", speedup(lambda: make_evidence(lock=looser)), "edited by hand"),
    SealCase("ledger", speedup(with_ledger(faults=("line 3 is gone",))), "the ledger is broken: line 3 is gone"),
    SealCase("plan", speedup(lambda: make_evidence(plan_now=replace(e1_plan(), question="Is it?"))), "question"),
    SealCase("mark", lambda: judge_mark(replace(SPEEDUP, bound=0.1), make_evidence()), "e1-speedup.bound"),
    SealCase("claim", shorter_claim, ".checks"),
    SealCase("list-of-sources", edited_list, "the list was edited"),
    SealCase("claim-taken-for-a-mark", taken_for_a_claim, "is frozen as a claim and is none now"),
    SealCase(
        "record",
        speedup(lambda: make_evidence(seals={make_evidence().runs[0].id: ("the record was changed",)})),
        "the record was changed",
    ),
    SealCase("head-outside", speedup(with_ledger(outside=Outside(contradictions=("no such head",)))), "no such head"),
    SealCase("signature", speedup(with_ledger(attested=Attested(faults=("a nonce twice",)))), "a nonce twice"),
    SealCase(
        "record-gone",
        speedup(lambda: make_evidence(lost=(replace(LOST, was_closed=True),))),
        "cannot be read any more",
    ),
)
