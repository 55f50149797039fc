"""What the judge notes beside a word: how many runs, how sure, disturbed, repeated, amended, unanchored."""

from datetime import timedelta

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.anchored import Outside
from pytest_mixgpu.marks.evidence import LedgerState
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Bindings, Lock, amend
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.records.plan import Disturbance
from pytest_mixgpu.timing.phases import attribute
from tests.judging import e1_marks, make_evidence, with_runs
from tests.sample_doctors import only, with_rounds, with_score, with_settings, with_speed, with_workers
from tests.sample_timeline import MadeRun
from tests.samples import FIRST_MOMENT, as_record, e1_plan, make_runs

SPEEDUP = e1_marks().mark("e1-speedup")
PARITY = e1_marks().mark("e1-parity")
LATER = FIRST_MOMENT + timedelta(days=1)


def test_one_run_is_preliminary_and_has_no_interval() -> None:
    """One run is an observation and says so next to the number."""
    verdict = judge_mark(SPEEDUP, make_evidence())

    assert "preliminary" in verdict.notes
    assert (1, None) == (verdict.n, verdict.interval)
    assert verdict.details[0].startswith("one run is an observation")


def test_interval_on_both_sides_of_the_bound_is_inconclusive() -> None:
    """A median that passes with an interval that does not is told."""
    speeds = {0: 0.70, 1: 0.76, 2: 0.82}
    evidence = make_evidence(
        repeats=3,
        plan=with_runs(e1_plan(), 3),
        doctor=only(lambda run: with_speed(run, speeds[run.header.repeat]), name="fleet"),
    )
    verdict = judge_mark(SPEEDUP, evidence)

    assert ("PASS", True) == (verdict.word, "inconclusive" in verdict.notes)


def test_unfrozen_mark_is_exploratory() -> None:
    """Without a lock, or with one that does not hold the mark."""
    without = judge_mark(SPEEDUP, make_evidence(lock=lambda _: None))
    unlisted = judge_mark(replace(SPEEDUP, id="another"), make_evidence())

    assert ("rehearsal", "exploratory") == without.qualifiers == unlisted.qualifiers
    assert ("PASS", "PASS") == (without.word, unlisted.word)


def believed_for_a_busy_core(run: MadeRun) -> MadeRun:
    """Let each participant close late, on a core that others are said to have had."""
    return run._replace(rounds=tuple(map(closed_late, run.rounds)))


def closed_late(line: RoundLine) -> RoundLine:
    assert line.combine_start_s is not None
    assert line.combine_end_s is not None
    late = tuple(replace(own, close_s=own.close_s + 0.2 + 0.3 * line.round_s) for own in line.stamps)
    segments = tuple(
        attribute(
            own,
            seen,
            last_ready_s=max(one.ready_s for one in line.coordinator),
            combine_start_s=line.combine_start_s,
            combine_end_s=line.combine_end_s,
        ).segments
        for own, seen in zip(late, line.coordinator, strict=True)
    )
    return replace(line, stamps=late, segments=segments, foreign_share=(0.85,) * len(late))


@pytest.mark.parametrize("rehearsal", [True, False], ids=["rehearsal", "experiment"])
def test_a_round_that_is_believed_for_a_busy_core_is_disturbed_under_any_limit(*, rehearsal: bool) -> None:
    """A plan that puts up with 90 % of a core wins nothing by it: the round's length is known no better than that."""
    plan = replace(e1_plan(), disturbance=Disturbance(foreign_share=0.9, drift=0.1))
    doctor = only(believed_for_a_busy_core, name="fleet")
    verdict = judge_mark(SPEEDUP, make_evidence(plan=plan, rehearsal=rehearsal, doctor=doctor))

    assert "disturbed" in verdict.notes
    assert any("others are said to have taken its core" in text for text in (verdict.reason, *verdict.details))
    assert ("PASS" if rehearsal else "UNJUDGED") == verdict.word


def test_what_is_tampered_with_stays_amended() -> None:
    """Amended is shown for ever, whatever the word."""
    broken = replace(LedgerState(), faults=("line 3: it was edited",))
    verdict = judge_mark(SPEEDUP, make_evidence(lock=amend_speedup, ledger=broken))

    assert ("TAMPERED", True) == (verdict.word, "amended" in verdict.notes)
    assert "unanchored" in verdict.notes


def amend_speedup(lock: Lock) -> Lock:
    return amend(
        lock,
        "e1-speedup",
        "the devices changed",
        "2026-11-29T11:00:00+00:00",
        marks=[replace(SPEEDUP, bound=0.6), PARITY],
        claims=lock.claims,
        plan=None,
        bindings=Bindings(plan="", code="", evaluator=""),
    )


def test_amended_mark_is_noted_for_ever() -> None:
    """With its date, its reason and what it was; other marks are not."""
    evidence = make_evidence(lock=amend_speedup)
    speed, parity = judge_mark(replace(SPEEDUP, bound=0.6), evidence), judge_mark(PARITY, evidence)

    assert ("PASS", True, False) == (speed.word, "amended" in speed.notes, "amended" in parity.notes)
    assert "2026-11-29T11:00:00+00:00: e1-speedup amended: the devices changed" in speed.amendments[0]
    assert '"bound":0.7' in speed.amendments[0]


@pytest.mark.parametrize("is_anchored", [True, False])
def test_ledger_without_a_head_outside_is_unanchored(is_anchored: bool) -> None:  # noqa: FBT001
    """A chain alone shows accidents only."""
    runs = tuple(entry.run_id for entry in make_evidence().registered)
    outside = Outside(covered=runs if is_anchored else runs[:-1])
    evidence = make_evidence(ledger=LedgerState(head="aa", count=3, outside=outside))
    verdict = judge_mark(SPEEDUP, evidence)

    assert is_anchored is not ("unanchored" in verdict.notes)
    assert ("aa", 3) == (verdict.ledger_head, verdict.ledger_count)


def busy(run: MadeRun) -> MadeRun:
    return with_rounds(run, foreign_share=tuple(0.4 for _ in run.rounds[0].participants))


def test_disturbed_rehearsal_is_noted() -> None:
    """Rehearsals are no evidence: they judge what they saw, and say that somebody else was at work."""
    verdict = judge_mark(SPEEDUP, make_evidence(doctor=only(busy, name="fleet")))

    assert ("PASS", True) == (verdict.word, "disturbed" in verdict.notes)
    assert any("other processes took 40 % of a core" in text for text in verdict.details)


def test_disturbed_experiment_counts_as_the_worst_value() -> None:
    """A pass that rests on a disturbed run alone is unjudged; a fail stays one."""
    slow = only(lambda run: with_speed(run, 0.5), name="fleet")
    good = make_evidence(doctor=only(busy, name="fleet"), rehearsal=False)
    bad = make_evidence(doctor=lambda run: only(busy, name="fleet")(slow(run)), rehearsal=False)

    assert ("UNJUDGED", "FAIL") == (judge_mark(SPEEDUP, good).word, judge_mark(SPEEDUP, bad).word)
    assert "40 % of a core" in judge_mark(SPEEDUP, good).reason


@pytest.mark.parametrize(("mark", "name"), [(SPEEDUP, "fleet"), (SPEEDUP, "baseline"), (PARITY, "mixed")])
def test_foreign_share_that_is_not_known_is_said_to_be_unknown(mark: PassMark, name: str) -> None:
    """Unknown is not zero, beside whichever mark and run."""
    verdict = judge_mark(mark, make_evidence(doctor=only(lambda run: with_rounds(run, foreign_share=()), name=name)))

    assert "disturbed" not in verdict.notes
    assert any(text.startswith("disturbed: unknown;") and f"{name} (" in text for text in verdict.details)


def test_foreign_share_of_gpus_is_not_asked_for() -> None:
    """It is one of cores."""
    verdict = judge_mark(SPEEDUP, make_evidence(rehearsal=False))

    assert not any("what other processes took of the cores" in text for text in verdict.details)


def held_up(run: MadeRun) -> MadeRun:
    """Let workers have four fifths of the CPU time that they computed for: a stop signal, or a container's quota."""
    rounds = tuple(
        replace(line, compute_cpu_s=tuple(0.8 * own.compute_end_s for own in line.stamps)) for line in run.rounds
    )
    return run._replace(rounds=rounds)


@pytest.mark.parametrize("name", ["fleet", "baseline"])
def test_worker_that_was_held_up_is_disturbed(name: str) -> None:
    """No other process need have taken its core."""
    verdict = judge_mark(SPEEDUP, make_evidence(doctor=only(held_up, name=name)))

    assert ("PASS", True) == (verdict.word, "disturbed" in verdict.notes)
    assert any("a worker was held up for 20 % of its computing in a round of" in text for text in verdict.details)


def test_worker_on_several_threads_may_have_more_cpu_time_than_passed() -> None:
    """What one of its threads lacked, the sum does not show: nothing is said."""
    verdict = judge_mark(SPEEDUP, make_evidence(doctor=lambda run: held_up(with_settings(run, num_threads=2))))

    assert "disturbed" not in verdict.notes


@pytest.mark.parametrize(
    ("factor", "disturbed"), [pytest.param(1.09, False, id="drift-under"), pytest.param(1.12, True, id="drift-over")]
)
def test_baseline_that_drifts_beyond_the_frozen_limit_is_disturbed(factor: float, disturbed: bool) -> None:  # noqa: FBT001
    """Before and after the fleet, the same devices take the same time, or the bracket is noted."""
    evidence = make_evidence(doctor=only(lambda run: with_speed(run, factor), name="baseline", leg="after"))

    assert disturbed is ("disturbed" in judge_mark(SPEEDUP, evidence).notes)


def test_bit_identical_repeats_under_one_seed_are_one_observation() -> None:
    """Counted once, noted, and said."""

    def same(run: MadeRun) -> MadeRun:
        first = with_score(run, 440)
        weights = "ab" if run.header.name == "mixed" else run.header.name
        kept = tuple(replace(one, weights_digest=weights) if one.split == "test" else one for one in first.evaluations)
        header = replace(run.header, seed=e1_plan().rehearsal.seeds.base)  # type: ignore[union-attr]
        return first._replace(evaluations=kept, header=header)

    verdict = judge_mark(PARITY, make_evidence(doctor=same, repeats=2, plan=with_runs(e1_plan(), 2)))

    assert (1, True) == (verdict.n, "deterministic-repeat" in verdict.notes)
    assert any("is bit by bit repeat 0" in text for text in verdict.details)


def test_a_run_that_was_made_again_alike_is_one_observation() -> None:
    """A later session made repeat 0 of a control again, on the same kind: it confirms the first and adds no value."""

    def again(records: list[RunRecord]) -> list[RunRecord]:
        later = make_runs(names=("control-a",), digests=records[0].header.digests, at=LATER)
        return [*records, *(as_record(with_speed(run, 1.001)) for run in later)]

    evidence = make_evidence(records=again)
    verdict = judge_mark(PARITY, evidence)

    assert ("PASS", 1, True) == (verdict.word, verdict.n, "deterministic-repeat" in verdict.notes)
    assert any("made again: one observation" in text for text in verdict.details), verdict
    assert any("repeat 0 had a run of control-a before it" in text for text in verdict.details)


def test_a_run_that_was_made_again_and_came_out_otherwise_is_listed_only() -> None:
    """Another result under the same seed is no repeat; the first still counts, whatever either says."""

    def again(records: list[RunRecord]) -> list[RunRecord]:
        later = make_runs(names=("control-a",), digests=records[0].header.digests, at=LATER, doctor=other_weights)
        return [*records, *(as_record(run) for run in later)]

    verdict = judge_mark(PARITY, make_evidence(records=again))

    assert ("PASS", 1, False) == (verdict.word, verdict.n, "deterministic-repeat" in verdict.notes)
    assert any("repeat 0 had a run of control-a before it" in text for text in verdict.details)


def other_weights(run: MadeRun) -> MadeRun:
    faster = with_speed(run, 1.001)
    tests = (replace(one, weights_digest="cd" * 32) if one.split == "test" else one for one in faster.evaluations)
    return faster._replace(evaluations=tuple(tests))


def test_equal_results_of_two_roles_are_no_repeat() -> None:
    """Fleet and first control are one training under two names here: same seed, kind and shares, so the same bits."""

    def same(run: MadeRun) -> MadeRun:
        if run.header.name not in {"fleet", "control-a"}:
            return run
        tests = (replace(one, weights_digest="ab" * 32) if one.split == "test" else one for one in run.evaluations)
        return run._replace(evaluations=tuple(tests))

    evidence = make_evidence(doctor=same)

    for mark in (SPEEDUP, PARITY):
        verdict = judge_mark(mark, evidence)
        assert ("PASS", False) == (verdict.word, "deterministic-repeat" in verdict.notes)


def test_equal_weights_under_different_seeds_are_a_copy() -> None:
    """A seed that did nothing is no second run."""

    def same(run: MadeRun) -> MadeRun:
        kept = tuple(
            replace(one, weights_digest=run.header.name) if one.split == "test" else one for one in run.evaluations
        )
        return run._replace(evaluations=kept)

    evidence = make_evidence(doctor=same, repeats=2, plan=with_runs(e1_plan(), 2))

    for mark in (PARITY, SPEEDUP):
        verdict = judge_mark(mark, evidence)
        assert ("VOID", True) == (verdict.word, "different seeds and the same weights" in verdict.reason)


def test_versions_that_differ_are_noted_and_named() -> None:
    """Shown and compared, and no reason to drop a run."""
    verdict = judge_mark(
        SPEEDUP, make_evidence(doctor=only(lambda run: with_workers(run, torch="2.13.0"), name="fleet"))
    )

    assert ("PASS", True) == (verdict.word, "mixed-environments" in verdict.notes)
    assert any("2.13.0" in text for text in verdict.details)
