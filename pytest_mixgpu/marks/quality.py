"""Metrics of quality: from evidence to accuracy and parity, repeat by repeat, on whole counts. Judges no bound."""

import statistics
from collections.abc import Sequence
from fractions import Fraction

from pytest_mixgpu.marks.compare import control_differences, evaluator_differences, kernels_of
from pytest_mixgpu.marks.eligible import canonical_pool
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.measurement import Blemish, Measurement, wrong_runs
from pytest_mixgpu.marks.pairing import Paired, Repeat, Slot, pair_any
from pytest_mixgpu.marks.statistics import binomial_error_points
from pytest_mixgpu.marks.timings import accuracy_points, reached_target, score_text
from pytest_mixgpu.records.model import RunRecord

MIN_CONTROLS = 2
"""One control has no gap of its own, and its mean is itself."""


def parity(evidence: Evidence) -> Measurement:
    """Distance of the mixed run's accuracy from the mean of its controls, in percentage points."""
    mixed_plan, control_plans = evidence.named("mixed"), evidence.named("control")
    if len(mixed_plan) != 1 or len(control_plans) < MIN_CONTROLS:
        too_few = (
            f"the plan names {len(mixed_plan)} mixed runs and {len(control_plans)} controls, one and two are needed"
        )
        return Measurement(lacking=(too_few,))
    mixed: Slot = (mixed_plan[0].name, "")
    controls: tuple[Slot, ...] = tuple((plan.name, "") for plan in control_plans)
    paired = pair_any(evidence, (mixed, *controls))
    values: dict[int, float] = {}
    signed: dict[int, float] = {}
    gaps: dict[int, float] = {}
    unfit: list[Blemish] = []
    lacking = list(paired.lacking)
    for repeat in paired.repeats:
        run, others = repeat.runs[mixed], [repeat.runs[slot] for slot in controls]
        unfit += [
            Blemish(repeat=repeat.index, sentence=text, run_id=id_)
            for text, id_ in _parity_faults(evidence, run, others)
        ]
        unfit += _failed_controls(evidence, repeat, others)
        scores = [one.test for one in (run, *others)]
        points = [accuracy_points(score) for score in scores if score is not None and score.num_total > 0]
        if len(points) != len(scores):
            lacking.append(f"repeat {repeat.index} has a run without a score on the test set")
            continue
        difference = difference_points(points[0], points[1:])
        values[repeat.index], signed[repeat.index] = float(abs(difference)), float(difference)
        gaps[repeat.index] = float(max(points[1:]) - min(points[1:]))
    identical = _identical(paired)
    return Measurement(
        values={index: value for index, value in values.items() if index not in identical},
        signed=signed,
        own_gaps=gaps,
        runs=paired.runs,
        lost=paired.lost,
        beyond=paired.beyond,
        wrong=wrong_runs(evidence, paired.runs),
        unfit=tuple(unfit),
        untargeted=evidence.undescribed,
        lacking=tuple(lacking),
        identical=(*identical.values(), *_made_again(paired)),
        details=_parity_details(evidence, paired, mixed, controls),
        pool=next((run.header.pool.spec for run in evidence.of("mixed")), canonical_pool(mixed_plan[0].pool)),
    )


def fleet_accuracy(evidence: Evidence) -> Measurement:
    """The fleet's share of the test set that was right."""
    fleets = evidence.named("fleet")
    if len(fleets) != 1:
        return Measurement(lacking=("the plan names no fleet",))
    slot: Slot = (fleets[0].name, "")
    paired = pair_any(evidence, (slot,))
    scores = {repeat.index: repeat.runs[slot].test for repeat in paired.repeats}
    identical = _identical(paired)
    values = {
        index: float(accuracy_points(score) / 100)
        for index, score in scores.items()
        if score is not None and index not in identical and score.num_total > 0
    }
    lacking = [f"repeat {index} has no score on the test set" for index, score in scores.items() if score is None]
    faults = [
        Blemish(repeat=repeat.index, sentence=text, run_id=repeat.runs[slot].id)
        for repeat in paired.repeats
        for text in evaluator_differences(repeat.runs[slot], evidence.evaluation)
    ]
    return Measurement(
        values=values,
        runs=paired.runs,
        lost=paired.lost,
        beyond=paired.beyond,
        wrong=wrong_runs(evidence, paired.runs),
        unfit=tuple(faults),
        lacking=(*paired.lacking, *lacking),
        identical=(*identical.values(), *_made_again(paired)),
        pool=next((run.header.pool.spec for run in evidence.of("fleet")), canonical_pool(fleets[0].pool)),
    )


def difference_points(mixed: Fraction, controls: Sequence[Fraction]) -> Fraction:
    """Return how far a mixed run's accuracy lies above the mean of its controls, exactly."""
    return mixed - sum(controls, Fraction(0)) / len(controls)


def mixture_faults(mixed: RunRecord) -> list[str]:
    """Return why a mixed run was not a mixture; a kind that computes like the machine's own is not a second kind."""
    kinds = sorted(mixed.header.pool.kinds)
    if len(kinds) < 2:
        return [f"run {mixed.id} is no mixture: all its devices are {mixed.header.pool.spec}"]
    faults = []
    cpu_kinds = sorted({device.kind for device in mixed.devices if device.vendor == "cpu"})
    capabilities = {kind: {capability for capability, _ in kernels_of(mixed, kind)} for kind in cpu_kinds}
    for number, kind in enumerate(cpu_kinds):
        if not capabilities[kind] or None in capabilities[kind]:
            faults.append(f"run {mixed.id}: which instruction set {kind} computed with is not recorded")
        faults += [
            f"run {mixed.id} is no mixture: {other} and {kind} both computed with {_names(capabilities[kind])}"
            for other in cpu_kinds[:number]
            if capabilities[other] & capabilities[kind]
        ]
    return faults


def _parity_faults(evidence: Evidence, mixed: RunRecord, controls: Sequence[RunRecord]) -> list[tuple[str, str]]:
    faults = [(text, run.id) for run in (mixed, *controls) for text in evaluator_differences(run, evidence.evaluation)]
    faults += [(text, mixed.id) for text in mixture_faults(mixed)]
    for control in controls:
        if len(control.header.pool.kinds) != 1:
            faults.append(
                (
                    f"{control.header.name} is no control: its hardware is not uniform, {control.header.pool.spec}",
                    control.id,
                )
            )
        faults += [(text, control.id) for text in control_differences(control, mixed)]
        if (
            control.test is not None
            and mixed.test is not None
            and control.test.weights_digest == mixed.test.weights_digest
        ):
            text = f"{mixed.header.name} ended with the weights of {control.header.name}, bit by bit: nothing was mixed"
            faults.append((text, mixed.id))
    twins = [
        (one, two)
        for number, one in enumerate(controls)
        for two in controls[number + 1 :]
        if set(one.header.pool.kinds) != set(two.header.pool.kinds)
        and one.test is not None
        and two.test is not None
        and one.test.weights_digest == two.test.weights_digest
    ]
    faults += [
        (
            f"{one.header.name} and {two.header.name} ended with the same weights: their kinds compute alike",
            two.id,
        )
        for one, two in twins
    ]
    return faults


def _failed_controls(evidence: Evidence, repeat: Repeat, controls: Sequence[RunRecord]) -> list[Blemish]:
    if evidence.workload is None:
        return []
    target = evidence.workload.target
    return [
        Blemish(
            repeat=repeat.index,
            sentence=f"{run.header.name} did not pass itself: {score_text(run.test)}, the target is {100 * target:g} %",
            run_id=run.id,
        )
        for run in controls
        if run.test is not None and not reached_target(run, target)
    ]


def _identical(paired: Paired) -> dict[int, str]:
    """Find repeats that are bit by bit an earlier one with the same seed: one observation, not two."""
    found: dict[int, str] = {}
    seen: dict[object, int] = {}
    for repeat in paired.repeats:
        scored = [(slot, _result(run)) for slot, run in sorted(repeat.runs.items()) if run.test]
        first = seen.setdefault(tuple(scored), repeat.index)
        if first != repeat.index:
            found[repeat.index] = f"repeat {repeat.index} is bit by bit repeat {first}: one observation"
    return found


def _made_again(paired: Paired) -> tuple[str, ...]:
    """Find runs of one role and seed that were made again and came out alike: they confirm a run, and add none."""
    first = {(run.header.name, _result(run)): run.id for run in paired.runs if run.test is not None}
    return tuple(
        f"run {run.id} is bit by bit run {first[again]}, made again: one observation"
        for run in paired.beyond
        if (again := (run.header.name, _result(run))) in first
    )


def _result(run: RunRecord) -> tuple[object, ...]:
    """What two runs must share to be one observation: seed, kinds and final weights."""
    return run.header.seed, run.header.pool.spec, None if run.test is None else run.test.weights_digest


def _parity_details(evidence: Evidence, paired: Paired, mixed: Slot, controls: Sequence[Slot]) -> tuple[str, ...]:
    said: list[str] = []
    signed: list[float] = []
    for repeat in paired.repeats:
        tests = {slot: run.test for slot, run in repeat.runs.items()}
        label = f"repeat {repeat.index}: " if len(paired.repeats) > 1 else ""
        scores = [f"{slot[0]} {score_text(test)}" for slot in (mixed, *controls) if (test := tests[slot]) is not None]
        said.append(label + "; ".join(scores))
        mine = tests[mixed]
        others = [accuracy_points(test) for slot in controls if (test := tests[slot]) is not None]
        if mine is None or not others:
            continue
        signed.append(float(difference_points(accuracy_points(mine), others)))
        if label == "":
            said.append(
                f"one image is {100 / mine.num_total:.2f} points; an accuracy has a standard error of "
                f"{binomial_error_points(mine.num_correct, mine.num_total):.2f} points from the test set's size alone"
            )
    if signed:
        said.append(f"mixed minus controls, with its sign: {statistics.median(signed):+.2f} points")
    if evidence.workload is not None and evidence.workload.says_nothing_about:
        said.append(f"says nothing about {evidence.workload.says_nothing_about}")
    return tuple(said)


def _names(capabilities: set[str | None]) -> str:
    return ", ".join(sorted(str(capability) for capability in capabilities))
