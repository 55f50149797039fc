"""Doctored experiments for claims of place, settings, phases, controls, cost and counts: what the runs recorded."""

from msgspec.structs import replace

from pytest_mixgpu.records.plan import Prices, Rehearsal, RolePlan
from tests.judging import make_evidence
from tests.negative.doctoring import (
    LOST,
    Case,
    all_measured,
    at_another_rate,
    beside_another,
    doctored,
    fewer_samples,
    freeze_some,
    host_without,
    memory_elsewhere,
    no_links,
    on_fifteen,
    other_shares,
    planned,
    same_nonce,
    short_phases,
    stand_in,
    stretched_compute,
    tests_as,
    without_span,
)
from tests.sample_doctors import only, with_header, with_outcome, with_score, with_settings, with_start, with_workers


def _mixed_control(role: RolePlan) -> RolePlan:
    return replace(role, pool="cpu:1,cpu-portable:1") if role.name == "control-a" else role


def _free(it: Rehearsal) -> Prices:
    assert it.prices is not None
    return replace(it.prices, device_hour={"cpu": -0.04, "cpu-portable": 0.04})


RUN_CASES = (
    Case(
        "devices-named",
        "no-worker-on-a-device",
        doctored(lambda run: with_start(run, workers=run.start.workers[1:] if run.start else ()), name="fleet"),
        "FAIL",
        "no worker says that it ran on cpu:laptop:0",
    ),
    Case(
        "devices-named",
        "participant-beside-another-device",
        lambda: make_evidence(rehearsal=False, doctor=only(beside_another, name="fleet")),
        "FAIL",
        "ran on cores 15-16, and its device is next to cores 0-15",
    ),
    Case(
        "devices-named",
        "participant-on-another-core",
        doctored(lambda run: with_workers(run, cores=(7,)), name="fleet"),
        "FAIL",
        "ran on cores 7, and its device is core 0",
    ),
    Case(
        "devices-named",
        "memory-of-another-node",
        doctored(memory_elsewhere, name="fleet"),
        "FAIL",
        "had memory of node 0, and its device is on node 1",
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
        "settings-recorded",
        "fleet-of-another-recipe",
        lambda: make_evidence(rehearsal=False, doctor=only(at_another_rate, name="fleet")),
        "FAIL",
        "does not count: recipe is",
    ),
    Case(
        "settings-recorded",
        "fleet-of-another-seed",
        lambda: make_evidence(rehearsal=False, doctor=only(lambda run: with_header(run, seed=7), name="fleet")),
        "FAIL",
        "seed is 7, expected 20261002",
    ),
    Case(
        "settings-recorded",
        "fleet-of-another-pool",
        lambda: make_evidence(rehearsal=False, doctor=only(on_fifteen, name="fleet")),
        "FAIL",
        "pool is a40:15, expected a40:16",
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
    Case("work-fixed", "half-the-work", doctored(fewer_samples, name="fleet"), "FAIL", "processed 3840 samples"),
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
        lambda: make_evidence(lock=lambda _: freeze_some()),
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
        "lease-to-release-timed",
        "a-run-gone",
        lambda: make_evidence(lost=(LOST,)),
        "FAIL",
        "run gone (fleet) is registered and cannot be read: what it cost is not known",
    ),
    Case(
        "cost-per-result",
        "a-run-gone",
        lambda: make_evidence(lost=(LOST,)),
        "FAIL",
        "cannot be worked out",
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
