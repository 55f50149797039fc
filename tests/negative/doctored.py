"""Doctored experiments: one thing made wrong on purpose, everything sealed again, and what the judge must say of it.

A case names the check or the rule that must notice, the word, and words of the reason. `CHECK_CASES` are for claims,
`MARK_CASES` for pass marks.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence, LedgerState, LostRun
from pytest_mixgpu.marks.git import GitWitness
from pytest_mixgpu.marks.lock import Lock
from pytest_mixgpu.marks.lock_file import extend, seal_of
from pytest_mixgpu.marks.model import Word
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan, Prices, Rehearsal, RolePlan
from pytest_mixgpu.timing.model import Segment
from tests.judging import CLEAN_GIT, make_evidence, with_prices, with_runs
from tests.sample_timeline import MadeRun
from tests.samples import (
    Doctor,
    as_aborted,
    as_failed,
    e1_plan,
    only,
    with_digests,
    with_header,
    with_outcome,
    with_rounds,
    with_score,
    with_settings,
    with_speed,
    with_start,
    with_workers,
)


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


def no_links(run: MadeRun) -> MadeRun:
    return with_start(run, links=run.start.links[:-1] if run.start else ())


def other_shares(run: MadeRun) -> MadeRun:
    """Split the same work otherwise, and run it so."""
    return with_speed(with_settings(run, shares=(120, 80)), 1.0)


def without_span(name: str) -> Doctor:
    def doctor(run: MadeRun) -> MadeRun:
        assert run.outcome is not None
        return with_outcome(run, spans=tuple(span for span in run.outcome.spans if span.name != name))

    return doctor


def amended(lock: Lock, **changes: str) -> Lock:
    """Amend the plan in the chain, with the entry doctored and its seal made to fit."""
    longer = extend(lock, event="amend", ids=("plan",), at="2026-11-29T11:00:00+00:00", why="devices changed", was="{}")
    entry = replace(longer.chain[-1], **changes)
    return replace(longer, chain=(*longer.chain[:-1], replace(entry, seal=seal_of(entry))))


def refrozen(lock: Lock, at: str) -> Lock:
    """Freeze again later."""
    return extend(lock, event="freeze", ids=("e1-speedup",), at=at, why="added", was="")


def looser(lock: Lock) -> Lock:
    """Lower the bound by hand."""
    return replace(lock, marks=tuple(replace(mark, bound=0.1) for mark in lock.marks))


def no_git(problem: str) -> GitWitness:
    messages = {
        "no-repository": ("there is no git repository here (an archive holds no history)", "judge in a clone"),
        "shallow": ("this is a shallow clone", "git fetch --unshallow"),
        "uncommitted": ("passmarks.lock differs from what is committed", "git commit passmarks.lock"),
    }
    message, remedy = messages[problem]
    return replace(CLEAN_GIT, problem=problem, message=message, remedy=remedy, commit="", ancestor=False)


def late_commit() -> GitWitness:
    return replace(CLEAN_GIT, committer_date="2026-11-29T12:00:01+00:00", before_first_run=False)


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

CHECK_CASES = (
    Case("question-asked", "no-question", planned(lambda plan: replace(plan, question=" ")), "FAIL", "no question"),
    Case("marks-frozen", "no-lock", lambda: make_evidence(lock=lambda _: None), "FAIL", "there is no lock"),
    Case(
        "marks-frozen",
        "one-mark-not-frozen",
        lambda: make_evidence(lock=lambda _: _freeze_some()),
        "FAIL",
        "e1-parity: found a mark in a test",
    ),
    Case(
        "frozen-before-first-run",
        "frozen-after-the-first-run",
        lambda: make_evidence(lock=lambda lock: refrozen(lock, "2026-11-29T12:00:01+00:00")),
        "FAIL",
        "after the first run that it is to judge",
    ),
    *(
        Case(
            "committed-before-first-run",
            problem,
            partial(make_evidence, git=no_git(problem)),
            "UNJUDGED",
            "git cannot witness the lock",
        )
        for problem in ("no-repository", "shallow", "uncommitted")
    ),
    Case(
        "committed-before-first-run",
        "committed-after-the-first-run",
        lambda: make_evidence(git=late_commit()),
        "FAIL",
        "after the first run that counts",
    ),
    Case(
        "amendments-explained",
        "amended-without-what-was-there",
        lambda: make_evidence(lock=lambda lock: amended(lock, was=" ")),
        "FAIL",
        "lacks its date, its reason or what was there before",
    ),
    Case(
        "workload-described",
        "no-number-of-parameters",
        doctored(start_without("num_parameters", 0), name="fleet"),
        "FAIL",
        "number of parameters",
    ),
    Case(
        "splits-held-apart",
        "no-validation-split",
        doctored(start_without("data_counts", {"train": 1347, "test": 450})),
        "FAIL",
        "does not count the samples of validation",
    ),
    Case("splits-held-apart", "test-set-twice", doctored(test_set_twice, name="mixed"), "FAIL", "test set 2 times"),
    Case("done-by-quality", "no-score", doctored(without_test, name="fleet"), "FAIL", "no score on the test set"),
    Case(
        "done-by-quality",
        "count-and-bits-disagree",
        doctored(tests_as(num_correct=450), name="mixed"),
        "FAIL",
        "its bits per image say 440",
    ),
    Case(
        "one-evaluator",
        "another-evaluator",
        doctored(tests_as(evaluator_digest="ab" * 32), name="control-b"),
        "FAIL",
        "an evaluator that its header does not name",
    ),
    Case("one-evaluator", "another-device", doctored(tests_as(device="cuda:0"), name="mixed"), "FAIL", "cuda:0"),
    Case(
        "one-data-set",
        "other-bytes",
        doctored(start_without("data_digest", "cd" * 32), name="fleet"),
        "FAIL",
        "data is cdcdcdcdcdcd…",
    ),
    Case(
        "limits-stated",
        "no-limits",
        planned(stand_in(lambda it: replace(it, workload=replace(it.workload, says_nothing_about="")))),
        "FAIL",
        "say nothing about",
    ),
    Case(
        "baseline-named",
        "not-described",
        planned(lambda plan: replace(plan, baseline=replace(plan.baseline, description=""))),
        "FAIL",
        "does not describe its baseline",
    ),
    Case(
        "baseline-brackets-fleet",
        "no-baseline-after",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.leg != "after"]),
        "FAIL",
        "lacks a completed run of baseline (after)",
    ),
    Case(
        "baseline-brackets-fleet",
        "baseline-of-one-device",
        planned(stand_in(lambda it: replace(it, roles=tuple(replace(role, num_devices=1) for role in it.roles)))),
        "FAIL",
        "taken on one device of the fleet",
    ),
    Case(
        "baseline-same-code-and-data",
        "another-batch-size",
        doctored(lambda run: with_settings(run, number_format="bfloat16"), name="baseline", leg="before"),
        "FAIL",
        "differs from fleet in number_format: bfloat16, not float32",
    ),
    Case(
        "baseline-with-exchange-beside",
        "not-measured",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.leg != "with-exchange"]),
        "FAIL",
        "the baseline with an exchange was not recorded",
    ),
    Case(
        "usual-tool-beside",
        "not-run",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.role != "reference"]),
        "FAIL",
        "the usual tool was not recorded",
    ),
    Case(
        "not-compared-stated",
        "not-said",
        planned(lambda plan: replace(plan, baseline=replace(plan.baseline, not_compared=()))),
        "FAIL",
        "comparisons were not made",
    ),
    Case(
        "devices-named",
        "no-worker-on-a-device",
        doctored(lambda run: with_start(run, workers=run.start.workers[1:] if run.start else ()), name="fleet"),
        "FAIL",
        "no worker says that it ran on cpu:laptop:0",
    ),
    Case(
        "hosts-named",
        "host-not-described",
        doctored(host_without, name="mixed"),
        "FAIL",
        "host laptop is not described",
    ),
    Case(
        "coordinator-placed",
        "not-said",
        doctored(lambda run: with_header(run, coordinator=""), name="fleet"),
        "FAIL",
        "does not say where its coordinator stood",
    ),
    Case("links-measured", "one-link-missing", doctored(no_links, name="fleet"), "FAIL", "the link of participant 1"),
    Case(
        "versions-recorded", "no-torch", doctored(lambda run: with_workers(run, torch=None)), "FAIL", "version of torch"
    ),
    Case(
        "formats-recorded",
        "evaluated-in-no-format",
        doctored(tests_as(number_format=""), name="mixed"),
        "FAIL",
        "number format of its evaluation",
    ),
    Case(
        "settings-recorded",
        "no-recipe",
        doctored(lambda run: with_settings(run, recipe={}), name="fleet"),
        "FAIL",
        "does not record its recipe",
    ),
    Case(
        "kernels-recorded",
        "no-instruction-set",
        doctored(lambda run: with_workers(run, cpu_capability=None), name="fleet"),
        "FAIL",
        "which kernels computed on cpu",
    ),
    Case(
        "seeds-recorded",
        "another-seed",
        doctored(lambda run: with_header(run, seed=7), name="mixed"),
        "FAIL",
        "has seed 7",
    ),
    Case("warm-up-apart", "no-warm-up", doctored(all_measured, name="fleet"), "FAIL", "has no warm-up round"),
    Case("phases-add-up", "phase-dropped", doctored(short_phases, name="fleet"), "VOID", "add up to"),
    Case(
        "phases-add-up",
        "waiting-booked-as-compute",
        doctored(stretched_compute, name="fleet"),
        "VOID",
        "its stamps give",
    ),
    Case("work-fixed", "half-the-work", doctored(fewer_samples, name="fleet"), "FAIL", "processed 3200 samples"),
    Case(
        "single-rounds-stated",
        "single-round-unsaid",
        planned(stand_in(lambda it: replace(it, roles=tuple(replace(role, rounds=1) for role in it.roles)))),
        "FAIL",
        "is a single round",
    ),
    Case(
        "tolerance-frozen",
        "no-tolerance",
        lambda: make_evidence(lock=lambda _: _freeze_some()),
        "FAIL",
        "no tolerance was set before",
    ),
    Case(
        "controls-uniform",
        "mixed-control",
        planned(stand_in(lambda it: replace(it, roles=tuple(_mixed_control(role) for role in it.roles)))),
        "FAIL",
        "not uniform",
    ),
    Case(
        "controls-same-schedule",
        "other-shares",
        doctored(other_shares, name="control-a"),
        "VOID",
        "differs from mixed in shares",
    ),
    Case(
        "controls-passed",
        "control-below-target",
        doctored(lambda run: with_score(run, 427), name="control-b"),
        "VOID",
        "94.89 %",
    ),
    Case(
        "mixture-is-one",
        "same-instruction-set",
        doctored(lambda run: with_workers(run, cpu_capability="AVX512"), name="mixed"),
        "VOID",
        "both computed with AVX512",
    ),
    Case("lease-to-release-timed", "no-setup", doctored(without_span("setup"), name="fleet"), "FAIL", "time of setup"),
    Case(
        "lease-to-release-timed",
        "lease-shorter-than-its-spans",
        doctored(lambda run: with_outcome(run, leased_s=1.0), name="fleet"),
        "FAIL",
        "after the lease, which was held for 1.000 s",
    ),
    Case(
        "cost-items-listed",
        "negative-price",
        planned(stand_in(lambda it: replace(it, prices=_free(it)))),
        "FAIL",
        "no amount",
    ),
    Case(
        "prices-sourced",
        "no-prices",
        planned(stand_in(lambda it: replace(it, prices=None))),
        "FAIL",
        "no prices are stated",
    ),
    Case(
        "prices-sourced",
        "device-without-price",
        planned(lambda plan: plan, rehearsal=False),
        "FAIL",
        "hour of a40 is not stated",
    ),
    Case(
        "cost-per-result",
        "no-run-met-the-target",
        doctored(lambda run: with_score(run, 100)),
        "UNJUDGED",
        "no result to divide the cost by",
    ),
    Case("planned-runs-stated", "no-plan", lambda: replace(make_evidence(), plan=None), "FAIL", "there is no plan"),
    Case(
        "planned-runs-made",
        "no-mixed-run",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.role != "mixed"]),
        "UNJUDGED",
        "mixed: 0 of 1 planned runs",
    ),
    Case("attempts-counted", "a-run-twice", lambda: make_evidence(records=same_nonce), "VOID", "one of them is a copy"),
    Case(
        "attempts-counted",
        "a-run-gone",
        lambda: make_evidence(lost=(LOST,)),
        "FAIL",
        "run gone is registered and cannot be read",
    ),
    Case(
        "spread-stated",
        "nothing-behind-a-number",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.role != "mixed"]),
        "UNJUDGED",
        "there is no run behind parity",
    ),
    Case(
        "wait-stated",
        "out-of-scope-without-a-reason",
        planned(lambda plan: replace(plan, wait=replace(plan.wait, reason=""))),
        "FAIL",
        "without a reason",
    ),
)


def _freeze_some() -> Lock:
    """Freeze without the mark that compares with controls."""
    from tests.judging import e1_marks, freeze_e1

    return freeze_e1(e1_plan(), marks=[mark for mark in e1_marks().marks if mark.of != "controls"])


def _mixed_control(role: RolePlan) -> RolePlan:
    return replace(role, pool="cpu:1,cpu-portable:1") if role.name == "control-a" else role


def _free(it: Rehearsal) -> Prices:
    assert it.prices is not None
    return replace(it.prices, device_hour={"cpu": -0.04, "cpu-portable": 0.04})


MARK_CASES = (
    Case(
        "e1-speedup",
        "slow-fleet",
        doctored(lambda run: with_speed(run, 0.5), name="fleet"),
        "FAIL",
        "is not at least 1.4 x",
    ),
    Case(
        "e1-speedup",
        "above-the-ideal",
        doctored(lambda run: with_speed(run, 1.5), name="fleet"),
        "VOID",
        "is above the ideal 2",
    ),
    Case(
        "e1-speedup",
        "baseline-claimed-longer",
        doctored(longer_rounds, name="baseline"),
        "VOID",
        "is said to have lasted",
    ),
    Case(
        "e1-speedup",
        "fleet-below-target",
        doctored(lambda run: with_score(run, 400), name="fleet"),
        "VOID",
        "not good enough",
    ),
    Case(
        "e1-speedup",
        "fleet-never-finished",
        doctored(without_test, name="fleet"),
        "VOID",
        "opened the test set 0 times",
    ),
    Case("e1-speedup", "phase-dropped", doctored(short_phases, name="fleet"), "VOID", "add up to"),
    Case(
        "e1-speedup",
        "phases-not-from-stamps",
        doctored(stretched_compute, name="fleet"),
        "VOID",
        "not those that its stamps give",
    ),
    Case("e1-speedup", "half-the-work", doctored(fewer_samples, name="fleet"), "VOID", "processed 3200 samples"),
    Case(
        "e1-speedup",
        "baseline-in-another-format",
        doctored(lambda run: with_settings(run, number_format="bfloat16"), name="baseline"),
        "VOID",
        "differs from fleet in number_format",
    ),
    Case(
        "e1-speedup",
        "nothing-exchanged",
        doctored(lambda run: with_rounds(run, sent_bytes=(0, 0)), name="fleet"),
        "VOID",
        "exchanged 0 bytes",
    ),
    Case(
        "e1-speedup",
        "rounds-longer-than-training",
        doctored(without_span("training"), name="fleet"),
        "VOID",
        "training lasted 0.000 s",
    ),
    Case(
        "e1-speedup",
        "baseline-after-the-fleet-only",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.leg != "before"]),
        "UNJUDGED",
        "lacks a completed run of baseline (before)",
    ),
    Case("e1-speedup", "copied-run", lambda: make_evidence(records=same_nonce), "VOID", "one of them is a copy"),
    Case(
        "e1-speedup",
        "fleet-failed",
        doctored(lambda run: as_failed(run, after_rounds=3), name="fleet"),
        "VOID",
        "fleet failed: participant-1 was killed by SIGKILL",
    ),
    Case(
        "e1-speedup",
        "fleet-aborted",
        doctored(lambda run: as_aborted(run, after_rounds=3), name="fleet"),
        "VOID",
        "never closed",
    ),
    Case(
        "e1-speedup",
        "other-code",
        doctored(lambda run: with_digests(run, code="ee" * 32), name="fleet"),
        "UNJUDGED",
        "lacks a completed run of fleet",
    ),
    Case("e1-speedup", "nothing-ran", lambda: make_evidence(records=lambda _: []), "UNJUDGED", "there is no run of"),
    Case("e1-speedup", "bound-lowered-in-the-lock", lambda: make_evidence(lock=looser), "TAMPERED", "edited by hand"),
    Case(
        "e1-speedup",
        "broken-ledger",
        lambda: make_evidence(ledger=LedgerState(faults=("line 3",))),
        "TAMPERED",
        "line 3",
    ),
    Case(
        "e1-speedup",
        "plan-changed-afterwards",
        lambda: make_evidence(plan_now=replace(e1_plan(), question="Is it fast?")),
        "TAMPERED",
        "plan: found",
    ),
    Case("e1-speedup", "record-changed", lambda: _broken_seal("fleet"), "TAMPERED", "was changed after it was closed"),
    Case(
        "e1-speedup",
        "closed-record-gone",
        lambda: make_evidence(lost=(replace(LOST, was_closed=True),)),
        "TAMPERED",
        "cannot be read any more",
    ),
    Case(
        "e1-parity",
        "mixed-run-worse",
        doctored(lambda run: with_score(run, 430), name="mixed"),
        "FAIL",
        "is not within 0.5",
    ),
    Case(
        "e1-parity",
        "control-below-target",
        doctored(lambda run: with_score(run, 427), name="control-a"),
        "VOID",
        "did not pass itself",
    ),
    Case(
        "e1-parity",
        "control-with-another-seed",
        doctored(lambda run: with_header(run, seed=7), name="control-a"),
        "VOID",
        "differs from mixed in seed",
    ),
    Case(
        "e1-parity",
        "control-with-other-shares",
        doctored(other_shares, name="control-a"),
        "VOID",
        "differs from mixed in shares",
    ),
    Case(
        "e1-parity",
        "control-with-other-kernels",
        doctored(lambda run: with_workers(run, cpu_capability="AVX2"), name="control-a"),
        "VOID",
        "differs from mixed in kernels of cpu",
    ),
    Case(
        "e1-parity",
        "no-mixture",
        doctored(lambda run: with_workers(run, cpu_capability="DEFAULT"), name="mixed"),
        "VOID",
        "both computed with DEFAULT",
    ),
    Case(
        "e1-parity",
        "scored-elsewhere",
        doctored(tests_as(device="cuda:0"), name="mixed"),
        "VOID",
        "was scored with device cuda:0",
    ),
    Case(
        "e1-parity",
        "bits-disagree",
        doctored(tests_as(num_correct=439), name="mixed"),
        "VOID",
        "its bits per image say 440",
    ),
    Case("e1-parity", "test-set-twice", doctored(test_set_twice, name="mixed"), "VOID", "opened the test set 2 times"),
    Case(
        "e1-parity",
        "same-weights-as-a-control",
        doctored(tests_as(weights_digest="77" * 32)),
        "VOID",
        "bit by bit: nothing was mixed",
    ),
    Case(
        "e1-parity",
        "mixed-run-stopped",
        doctored(lambda run: with_outcome(as_failed(run, after_rounds=3), status="stopped"), name="mixed"),
        "VOID",
        "mixed stopped",
    ),
    Case(
        "e1-parity",
        "one-control-missing",
        lambda: make_evidence(records=lambda runs: [run for run in runs if run.header.name != "control-b"]),
        "UNJUDGED",
        "lacks a completed run of control-b",
    ),
    Case(
        "e1-parity", "tolerance-widened-in-the-lock", lambda: make_evidence(lock=looser), "TAMPERED", "edited by hand"
    ),
    Case(
        "e1-parity",
        "too-few-runs",
        lambda: make_evidence(plan=with_prices(with_runs(e1_plan(), 3)), rehearsal=False, repeats=2),
        "UNJUDGED",
        "2 of 3 planned runs were made",
    ),
)


def _broken_seal(name: str) -> Evidence:
    run_id = next(run.id for run in make_evidence().runs if run.header.name == name)
    return make_evidence(seals={run_id: (f"run {run_id}: the record was changed after it was closed",)})


__all__ = ["CHECK_CASES", "MARK_CASES", "Case", "busy_cores"]
