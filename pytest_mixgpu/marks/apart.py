"""Do two sessions differ: from the values of runs on either side to a difference, and whether it can be told. Pure.

The unit is the run, and the sides are independent of each other: Welch's interval, spread taken as normal. One run on a
side tells nothing, and neither do runs that are all alike. scipy is imported where it is needed.
"""

import math
import statistics
from collections.abc import Sequence
from typing import Final, Literal

import msgspec

from pytest_mixgpu.marks.statistics import CONFIDENCE, POWER

Answer = Literal["apart", "not told apart", "unknown"]

MAX_VALUES: Final = 10_000
"""More runs than these on a side are no benchmark, and exact arithmetic over them would take long."""


class Apart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far B lies from A. Of ratios and rates of one scale it is a factor, else a difference in the mark's unit."""

    answer: Answer
    is_factor: bool = False
    difference: float | None = None
    """Of the medians: B minus A, or B over A."""
    interval: tuple[float, float] | None = None
    """95 % interval of the difference of the means, or of the ratio of the geometric means."""
    resolvable: float | None = None
    """The smallest difference (or factor above 1) that so many runs, so far apart, would have shown in four of five."""
    why: str = ""
    """How the interval was made, or why there is none."""


def apart(a: Sequence[float], b: Sequence[float], *, is_ratio: bool = False) -> Apart:
    """Compare the runs of two sides.

    Args:
        a: values of runs, one a run.
        b: likewise.
        is_ratio: whether a value is one duration over another: then it is the logarithm that is spread evenly.
    """
    values = (*a, *b)
    if not a or not b:
        return Apart(answer="unknown", why="no value on one side")
    if not all(math.isfinite(value) for value in values) or max(len(a), len(b)) > MAX_VALUES:
        return Apart(answer="unknown", why="values that are not finite, or too many to weigh")
    is_factor = is_ratio and min(values) > 0
    difference = (
        statistics.median(b) / statistics.median(a) if is_factor else statistics.median(b) - statistics.median(a)
    )
    if min(len(a), len(b)) < 2:
        one = "one run on either side" if len(a) == len(b) else "one run on a side"
        return Apart(
            answer="unknown", is_factor=is_factor, difference=difference, why=f"{one}: no difference can be shown"
        )
    here, there = ([math.log(value) for value in side] if is_factor else list(side) for side in (a, b))
    return _welch(here, there, difference, is_factor=is_factor)


def _welch(a: Sequence[float], b: Sequence[float], difference: float, *, is_factor: bool) -> Apart:
    try:
        errors = [statistics.variance(side) / len(side) for side in (a, b)]
        middle = statistics.fmean(b) - statistics.fmean(a)
    except OverflowError:
        return Apart(answer="unknown", why="values too large to weigh")
    total = sum(errors)
    if not all(error > 0 for error in errors) or not math.isfinite(total):
        why = "runs that are all alike do not say how far runs lie apart"
        return Apart(answer="unknown", is_factor=is_factor, difference=difference, why=why)
    freedom = 1 / sum((error / total) ** 2 / (len(side) - 1) for error, side in zip(errors, (a, b), strict=True))
    critical = _student(freedom)
    half = critical * math.sqrt(total)
    interval = (middle - half, middle + half)
    resolvable = _noncentral(freedom, critical) * math.sqrt(total)
    counts = f"{len(a)} and {len(b)} runs"
    method = "of the ratio, on logarithms" if is_factor else "of the difference"
    return Apart(
        answer="not told apart" if interval[0] <= 0 <= interval[1] else "apart",
        is_factor=is_factor,
        difference=difference,
        interval=(_exp(interval[0]), _exp(interval[1])) if is_factor else interval,
        resolvable=_exp(resolvable) if is_factor else resolvable,
        why=f"95 % Welch interval {method}, {counts}, spread taken as normal",
    )


def _student(freedom: float) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + CONFIDENCE / 2, freedom))


def _noncentral(freedom: float, critical: float) -> float:
    """Return the difference, in standard errors, that this test finds with the usual power."""
    from scipy.special import nctdtrinc

    return float(nctdtrinc(freedom, 1 - POWER, critical))


def _exp(value: float) -> float:
    return math.exp(max(-700.0, min(value, 700.0)))
