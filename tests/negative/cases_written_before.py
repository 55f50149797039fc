"""Doctored experiments for claims of question, workload and baseline: what was written before, and what it names."""

from functools import partial

from msgspec.structs import replace

from tests.judging import make_evidence
from tests.negative.doctoring import (
    Case,
    amended,
    doctored,
    freeze_some,
    late_commit,
    no_git,
    on_another_workload,
    planned,
    refrozen,
    stand_in,
    start_without,
    test_set_twice,
    tests_as,
    without_test,
)
from tests.sample_doctors import with_settings

BEFORE_CASES: tuple[Case, ...] = (
    Case("question-asked", "no-question", planned(lambda plan: replace(plan, question=" ")), "FAIL", "no question"),
    Case("marks-frozen", "no-lock", lambda: make_evidence(lock=lambda _: None), "FAIL", "there is no lock"),
    Case(
        "marks-frozen",
        "one-mark-not-frozen",
        lambda: make_evidence(lock=lambda _: freeze_some()),
        "FAIL",
        "e1-parity: found a mark in a test",
    ),
    Case(
        "frozen-before-first-run",
        "frozen-after-the-first-run",
        lambda: make_evidence(lock=lambda lock: refrozen(lock, "2026-11-29T12:00:01+00:00")),
        "FAIL",
        "after the first run to be judged by it",
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
        "after the first run that was registered under it",
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
        "workload-described",
        "workload-of-another-name",
        doctored(on_another_workload),
        "FAIL",
        "nothing in the plan describes letters",
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
        "was scored with evaluator abab",
    ),
    Case(
        "one-evaluator",
        "experiments-own-evaluator-in-the-rehearsal",
        doctored(tests_as(num_threads=16), name="mixed"),
        "FAIL",
        "was scored with threads 16, declared is 1",
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
)
