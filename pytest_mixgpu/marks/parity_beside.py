"""What stands beside a verdict on parity: from the runs behind it to sentences, in order of weight. Decides nothing."""

import statistics
from collections.abc import Collection, Iterator, Sequence
from fractions import Fraction

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.comparison import meets
from pytest_mixgpu.marks.equivalence import Design, discordance, non_inferiority, pass_chance, residual_deviation
from pytest_mixgpu.marks.measurement import Measurement
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.marks.statistics import student_interval
from pytest_mixgpu.marks.timings import accuracy_points
from pytest_mixgpu.records.bits import decode_bits
from pytest_mixgpu.records.model import RunRecord

ASSUMED_SHARES = (0.4, 1.0, 1.4)
"""Standard deviations to assume where none was seen, as shares of the tolerance: 0.2, 0.5 and 0.7 of 0.5 points."""
SEEN = "seen between runs, beyond what seed and role explain"


def beside_parity(mark: PassMark, found: Measurement, counted: Collection[int]) -> tuple[str, ...]:
    """Say by which clause parity passed, and what so many runs can show at all; nothing for other marks.

    Args:
        mark: that is judged.
        found: what its metric found.
        counted: the repeats whose values count.
    """
    if mark.of != "controls" or not counted:
        return ()
    repeats = [_runs_of(found, index) for index in sorted(counted)]
    signed = [found.signed[index] for index in sorted(counted) if index in found.signed]
    if not signed or any(not one for one in repeats):
        return ()
    said = [_clause(mark, found, counted), *_paired(mark, signed)]
    said += _chances(mark, repeats)
    said += _image_by_image(repeats)
    return tuple(said)


def accuracy_rows(found: Measurement, counted: Collection[int]) -> list[list[Fraction]]:
    """Return the accuracies of mixed run and controls in points, a row each repeat; none where one has no score."""
    repeats = [_runs_of(found, index) for index in sorted(counted)]
    return _accuracies(repeats) if all(repeats) else []


def chances_in_words(design: Design, deviation: float) -> str:
    """Say how often the rule passes at true differences of nothing, the tolerance and twice the tolerance."""
    differences = (0.0, design.tolerance, 2 * design.tolerance)
    shares = [100 * pass_chance(design, difference, deviation) for difference in differences]
    chances = [f"{difference:g} in {share:.0f} %" for difference, share in zip(differences, shares, strict=True)]
    return f"a true difference of {', of '.join(chances)} of such experiments"


def _runs_of(found: Measurement, index: int) -> tuple[RunRecord, ...]:
    """The mixed run of a repeat and its controls, in this order; nothing where one has no score."""
    mine = [run for run in found.runs if run.header.repeat == index]
    ordered = [
        *(run for run in mine if run.header.role == "mixed"),
        *sorted((run for run in mine if run.header.role == "control"), key=lambda run: run.header.name),
    ]
    return () if any(run.test is None or run.test.num_total < 1 for run in ordered) else tuple(ordered)


def _accuracies(repeats: Sequence[Sequence[RunRecord]]) -> list[list[Fraction]]:
    return [[accuracy_points(run.test) for run in runs if run.test is not None] for runs in repeats]


def _clause(mark: PassMark, found: Measurement, counted: Collection[int]) -> str:
    value = statistics.median(found.values[index] for index in counted)
    gap = statistics.median(found.own_gaps[index] for index in counted)
    by_tolerance, by_gap = meets(value, "within", mark.bound), meets(value, "within", gap)
    where = f"a distance of {value:.3g} {mark.unit}; tolerance {mark.bound:g}, the controls' own gap {gap:.3g}"
    if by_tolerance:
        return f"the clause of the tolerance passes: {where}"
    return f"{'only the clause of the own gap' if by_gap else 'neither clause'} passes: {where}"


def _paired(mark: PassMark, signed: Sequence[float]) -> Iterator[str]:
    """The differences of runs under one seed, with their sign: interval and test against the tolerance."""
    unit = mark.unit
    interval = student_interval(signed)
    if interval is None:
        why = "one pair of seeds" if len(signed) == 1 else f"{len(signed)} differences that are all alike"
        yield f"mixed minus controls, paired by seed: no interval and no test against the tolerance, from {why}"
        return
    yield (
        f"mixed minus controls, paired by seed: {statistics.fmean(signed):+.3g} {unit} on average, 95 % t interval "
        f"{interval[0]:+.3g} to {interval[1]:+.3g} ({len(signed)} pairs)"
    )
    test = non_inferiority(signed, mark.bound)
    if test is not None:
        state = "shown" if test.is_shown else "not shown"
        yield f"{state} not to be worse by {mark.bound:g} {unit} or more (one-sided t test, p = {test.p:.2g})"


def _chances(mark: PassMark, repeats: Sequence[Sequence[RunRecord]]) -> Iterator[str]:
    """How often the rule passes, at the spread that was seen, or at stated ones where none was."""
    if mark.bound <= 0:
        return
    design = Design(tolerance=mark.bound, num_controls=len(repeats[0]) - 1, num_repeats=len(repeats))
    many = "1 repeat" if design.num_repeats == 1 else f"{design.num_repeats} repeats"
    seen = residual_deviation(_accuracies(repeats))
    for deviation in (seen,) if seen else (share * mark.bound for share in ASSUMED_SHARES):
        yield (
            f"at a standard deviation of {deviation:.2g} {mark.unit} ({SEEN if seen else 'assumed'}) this rule passes "
            f"{chances_in_words(design, deviation)} ({many}, {design.num_controls} controls)"
        )
    yield "the clause of the controls' own gap passes the more, the noisier runs are"


def _image_by_image(repeats: Sequence[Sequence[RunRecord]]) -> Iterator[str]:
    """McNemar's test of the mixed model with each control: about these weights and images, not about seeds."""
    for mixed, *controls in repeats:
        mine = _right_images(mixed)
        found = []
        for control in controls:
            theirs = _right_images(control)
            if not mine or len(mine) != len(theirs):
                continue
            pair = discordance(mine, theirs)
            found.append(
                f"{mixed.header.name} {pair.only_first}, {control.header.name} {pair.only_second} "
                f"(McNemar, exact, p = {pair.p:.2g})"
            )
        if found:
            label = f"repeat {mixed.header.repeat}: " if len(repeats) > 1 else ""
            yield (
                f"{label}these two models, this test set, and no part of the spread between seeds: "
                f"images that only one of the two got right, {'; '.join(found)}"
            )


def _right_images(run: RunRecord) -> Sequence[bool]:
    """Whether each test image was right; nothing where the bits cannot be read, which makes the mark VOID elsewhere."""
    if run.test is None:
        return ()
    try:
        return decode_bits(run.test.correct_bits, run.test.num_total)
    except RecordError:
        return ()
