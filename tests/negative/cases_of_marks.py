"""Doctored experiments for pass marks: what must not pass, and what the judge says of it."""

from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence, LedgerState
from tests.judging import make_evidence, with_prices, with_runs
from tests.negative.doctoring import (
    LOST,
    Case,
    at_another_rate,
    busy_cores,
    doctored,
    fewer_samples,
    longer_rounds,
    looser,
    on_another_workload,
    other_shares,
    same_nonce,
    short_phases,
    stretched_compute,
    test_set_twice,
    tests_as,
    without_span,
    without_test,
)
from tests.sample_doctors import (
    as_aborted,
    as_failed,
    only,
    with_digests,
    with_header,
    with_outcome,
    with_rounds,
    with_score,
    with_settings,
    with_speed,
    with_workers,
)
from tests.samples import e1_plan


def _broken_seal(name: str) -> Evidence:
    run_id = next(run.id for run in make_evidence().runs if run.header.name == name)
    return make_evidence(seals={run_id: (f"run {run_id}: the record was changed after it was closed",)})


CASES_OF_MARKS = (
    Case(
        "e1-speedup",
        "others-at-work",
        lambda: make_evidence(rehearsal=False, doctor=only(busy_cores, name="fleet")),
        "UNJUDGED",
        "other processes took 40 % of a core in a round of fleet",
    ),
    Case(
        "e1-speedup",
        "baseline-drifted",
        lambda: make_evidence(
            rehearsal=False, doctor=only(lambda run: with_speed(run, 1.12), name="baseline", leg="after")
        ),
        "UNJUDGED",
        "the frozen limit is 10 %",
    ),
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
        "above-the-ideal-by-noise",
        lambda: make_evidence(
            rehearsal=False, doctor=only(lambda run: with_speed(run, 0.5), name="baseline", leg="before")
        ),
        "UNJUDGED",
        "by less than the baseline's own spread",
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
    Case("e1-speedup", "half-the-work", doctored(fewer_samples, name="fleet"), "VOID", "processed 3840 samples"),
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
        'question: benchmark.toml has "Is it fast?", passmarks.lock has "Do 16 GPUs',
    ),
    Case(
        "e1-speedup",
        "recipe-changed-afterwards",
        lambda: make_evidence(recipes_now={"digits-vit": "ab" * 32}),
        "TAMPERED",
        "recipes.digits-vit: digits-vit.toml has abababababab…",
    ),
    Case(
        "e1-speedup",
        "another-recipe-than-was-frozen",
        lambda: make_evidence(rehearsal=False, doctor=only(at_another_rate, name="fleet")),
        "UNJUDGED",
        "lacks a completed run of fleet",
    ),
    Case("e1-speedup", "record-changed", lambda: _broken_seal("fleet"), "TAMPERED", "was changed after it was closed"),
    Case(
        "e1-speedup",
        "closed-record-gone",
        lambda: make_evidence(lost=(replace(LOST, was_closed=True),)),
        "TAMPERED",
        "cannot be read any more",
    ),
    *(
        Case(mark, "workload-without-a-target", doctored(on_another_workload), "UNJUDGED", "there is no target")
        for mark in ("e1-speedup", "e1-parity")
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
        doctored(lambda run: with_speed(with_header(run, seed=7), 1.0), name="control-a"),
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
        "scored-on-more-threads",
        doctored(tests_as(num_threads=16)),
        "VOID",
        "was scored with threads 16, declared is 1",
    ),
    Case(
        "e1-parity",
        "bits-of-another-test-set",
        doctored(tests_as(correct_bits="ff"), name="mixed"),
        "VOID",
        "its bits per image cannot be read",
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
