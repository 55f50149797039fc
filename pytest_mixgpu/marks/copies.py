"""Are runs what they are said to be, runs of their own: from records to a sentence for each copy. Pure.

Whoever copies a run changes its id, its seed and its moments. What nobody makes up afresh is what no two runs share:
nanoseconds of rounds, losses to their last digit, which images were right. Clocks give nine digits, so equal timings
are one measurement, also where they were shifted, scaled or rounded since.
"""

import math
import statistics
from collections import Counter
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import chain, combinations, pairwise
from typing import NamedTuple

from pytest_mixgpu.records.model import RunRecord

SAME_TO_S = 1e-9
"""Timings closer than a clock can tell apart are one."""
JITTER_SHARE = 1e-4
"""Two runs whose rounds agree to this share of their own scatter did not scatter apart: one was computed."""
CHANCE = 1e-9
"""A chance below which agreement is none."""
MIN_ROUNDS = 3
"""Of fewer nothing is said where they are not equal to the nanosecond."""
MIN_LOSSES = 3
"""Different losses that must be equal to the last digit under different seeds."""
MIN_WRONG = 20
"""So many images wrong, and the same ones, are no coincidence; of fewer, all models may miss the same few."""


def copies(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return which of several records show one run under two names, or results under a seed that did not give them."""
    found: dict[tuple[str, str], str] = {}
    for one, two, text in chain(
        _same_print(runs, "nonce", lambda run: run.header.nonce),
        _same_rounds(runs),
        _same_print(runs, "processes", _processes),
        _computed_rounds(runs),
        _same_results(runs),
    ):
        found.setdefault((one.id, two.id), f"runs {one.id} and {two.id} {text}: one of them is a copy")
    return (*found.values(), *_two_boots(runs))


def identical_logs(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Say which runs left the same log, byte by byte. It can be honest: a warning may be all that was ever said."""
    seen: dict[str, tuple[str, str]] = {}
    found = []
    for run in runs:
        for name, digest in sorted({} if run.outcome is None else run.outcome.files.items()):
            if not name.endswith(".log") or digest == _EMPTY:
                continue
            other = seen.setdefault(digest, (run.id, name))
            if other[0] != run.id:
                found.append(f"{name} of run {run.id} is byte by byte {other[1]} of run {other[0]}")
    return tuple(found)


_EMPTY = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
"""SHA-256 of nothing: what a worker wrote that had nothing to say."""

_HALF = 0.51
"""How far rounding moves a value, as a share of its last digit."""

_Pair = tuple[RunRecord, RunRecord, str]


def _same_print(runs: Sequence[RunRecord], name: str, print_of: Callable[[RunRecord], Hashable]) -> Iterator[_Pair]:
    """Yield runs that share what is drawn anew for each."""
    seen: dict[Hashable, RunRecord] = {}
    for run in runs:
        value = print_of(run)
        other = run if value is None else seen.setdefault(value, run)
        if other is not run:
            yield other, run, f"have the same {name}"


def _processes(run: RunRecord) -> Hashable:
    if run.start is None:
        return None
    workers = tuple((worker.host, worker.pid) for worker in run.start.workers)
    return run.header.host.boot_id, run.start.started_at, workers


def _same_rounds(runs: Sequence[RunRecord]) -> Iterator[_Pair]:
    """Yield runs of which half the rounds or more are the same to the nanosecond, in whatever order."""
    owners: dict[Hashable, list[int]] = {}
    sizes = []
    for place, run in enumerate(runs):
        stamps = {
            tuple(round(value, 9) for value in _stamps(run, number, at))
            for number, line in enumerate(run.rounds)
            for at in range(len(line.stamps))
        }
        sizes.append(len(stamps))
        for stamped in stamps:
            owners.setdefault(stamped, []).append(place)
    shared = Counter((one, two) for places in owners.values() for one, two in combinations(places, 2))
    for (one, two), count in sorted(shared.items()):
        if 2 * count >= min(sizes[one], sizes[two]):
            yield runs[one], runs[two], "have the same raw timings"


def _computed_rounds(runs: Sequence[RunRecord]) -> Iterator[_Pair]:
    """Yield runs whose rounds are those of another, shifted or scaled by a constant, or rounded."""
    timed = [(run, _rows(run)) for run in runs]
    for (one, ours), (two, theirs) in combinations(timed, 2):
        if len(ours) == len(theirs) and any(map(_is_computed, ours, theirs)):
            yield one, two, "have raw timings that are the same but for a constant or for rounding"


def _stamps(run: RunRecord, number: int, at: int) -> tuple[float, ...]:
    own = run.rounds[number].stamps[at]
    return tuple(value for name in own.__struct_fields__ if (value := getattr(own, name)) is not None)


class _Row(NamedTuple):
    """Times of one run, with what each comparison needs of them alone."""

    times_s: Sequence[float]
    scatter_s: float
    grid_s: float
    is_finite: bool


def _rows(run: RunRecord) -> list[_Row]:
    """The times of a run that scatter by themselves, round by round: computing of each participant, and the round."""
    if not run.rounds:
        return []
    width = min(len(line.stamps) for line in run.rounds)
    rows = [[line.stamps[at].compute_end_s for line in run.rounds] for at in range(width)]
    return [_row(times_s) for times_s in (*rows, [line.round_s for line in run.rounds])]


def _row(times_s: Sequence[float]) -> _Row:
    if not all(map(math.isfinite, times_s)):
        return _Row(times_s, scatter_s=0.0, grid_s=SAME_TO_S, is_finite=False)
    return _Row(times_s, scatter_s=_scatter(times_s), grid_s=_grid_s(times_s), is_finite=True)


def _is_computed(ours: _Row, theirs: _Row) -> bool:
    pairs = list(zip(ours.times_s, theirs.times_s, strict=False))
    scatter_s = min(ours.scatter_s, theirs.scatter_s)
    if len(pairs) < MIN_ROUNDS or not (ours.is_finite and theirs.is_finite and scatter_s > 0):
        return False
    allowed_s = max(_HALF * ours.grid_s, _HALF * theirs.grid_s, JITTER_SHARE * scatter_s)
    by_chance = 2 * allowed_s / scatter_s
    return any(_is_agreement(pairs, *line, allowed_s, by_chance) for line in _lines(pairs))


def _is_agreement(  # noqa: PLR0913, PLR0917 - a line and what may lie beside it
    pairs: Sequence[tuple[float, float]],
    slope: float,
    shift_s: float,
    num_fitted: int,
    allowed_s: float,
    by_chance: float,
) -> bool:
    """Say whether too many rounds lie on one line for that to be chance; what was fitted agrees with some of them."""
    count = sum(abs(y - slope * x - shift_s) <= allowed_s * max(1.0, abs(slope)) for x, y in pairs)
    free = count - num_fitted
    if 2 * count < len(pairs) or count < MIN_ROUNDS or by_chance >= 1:
        return False
    return math.comb(len(pairs), count) * by_chance**free < CHANCE


def _lines(pairs: Sequence[tuple[float, float]]) -> Iterator[tuple[float, float, int]]:
    """Yield slope, shift and number of fitted constants by which one of two runs may have been made from the other."""
    yield 1.0, 0.0, 0
    yield 1.0, statistics.median(y - x for x, y in pairs), 1
    ratios = [y / x for x, y in pairs if x > 0]
    if ratios:
        yield statistics.median(ratios), 0.0, 1
    steps = [(y - v) / (x - u) for (u, v), (x, y) in pairwise(pairs) if x != u]
    if steps:
        slope = statistics.median(steps)
        yield slope, statistics.median(y - slope * x for x, y in pairs), 2


def _scatter(row: Sequence[float]) -> float:
    """The median distance from the median, which a slow first round does not touch."""
    middle = statistics.median(row)
    return statistics.median(abs(value - middle) for value in row)


def _grid_s(values: Sequence[float]) -> float:
    """The decimal to which values were rounded; that of a clock where they were not."""
    for digits in range(1, 9):
        if all(abs(value * 10**digits - round(value * 10**digits)) < 1e-3 for value in values):
            return 10.0**-digits
    return SAME_TO_S


def _same_results(runs: Sequence[RunRecord]) -> Iterator[_Pair]:
    """Yield runs with the results of another under a seed of their own."""
    seen: dict[Hashable, RunRecord] = {}
    for run in runs:
        for name, value in _results(run):
            other = seen.setdefault((name, value), run)
            if other.header.seed != run.header.seed:
                yield other, run, f"have different seeds and the same {name}"


def _results(run: RunRecord) -> Iterator[tuple[str, Hashable]]:
    losses = tuple(loss for line in run.rounds for loss in line.train_loss)
    if len({loss for loss in losses if loss is not None}) >= MIN_LOSSES:
        yield "training losses", losses
    scores = tuple((line.split, line.loss) for line in run.evaluations)
    if len({loss for _, loss in scores if loss is not None}) >= MIN_LOSSES:
        yield "losses on held-out data", scores
    test = run.test
    if test is not None and min(test.num_correct, test.num_total - test.num_correct) >= MIN_WRONG:
        yield "predictions", (test.num_total, test.correct_bits.lower())


def _two_boots(runs: Sequence[RunRecord]) -> Iterator[str]:
    """A session does not outlive the host that it runs on."""
    seen: dict[tuple[str, str], RunRecord] = {}
    for run in runs:
        boot = run.header.host.boot_id
        if boot is None:
            continue
        other = seen.setdefault((run.header.session, run.header.host.host), run)
        if other.header.host.boot_id != boot:
            yield (
                f"runs {other.id} and {run.id} are of one session, and {run.header.host.host} was booted between them: "
                "one of them is of another"
            )
