"""How far runs lie apart: from values of runs to median, range and interval. The unit is the run, never the round.

scipy is imported where it is needed; one run has no interval.
"""

import math
import statistics
from collections.abc import Sequence

import msgspec

CONFIDENCE = 0.95


class Spread(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the values of several runs say together."""

    n: int
    median: float
    low: float
    high: float
    interval: tuple[float, float] | None = None
    """95 % interval; None for one run, or where a value is not finite."""
    method: str = ""


def spread_of(values: Sequence[float]) -> Spread:
    """Summarise the values of runs.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no run, no spread")
    interval, method = _interval(sorted(values))
    return Spread(
        n=len(values),
        median=statistics.median(values),
        low=min(values),
        high=max(values),
        interval=interval,
        method=method,
    )


def share_covered_by_range(n: int) -> float:
    """Chance that the range of n runs covers the true median: 0.75 for 3, over 0.95 from 6 on."""
    return 0.0 if n < 1 else 1 - 0.5 ** (n - 1)


def resolvable_difference(values: Sequence[float]) -> float | None:
    """Return the half width of the 95 % interval of the mean: a smaller difference is not told apart.

    None for one run.
    """
    if len(values) < 2 or not all(math.isfinite(value) for value in values):
        return None
    return _student_factor(len(values)) * statistics.stdev(values) / math.sqrt(len(values))


def binomial_error_points(num_correct: int, num_total: int) -> float:
    """Return the standard error of one accuracy, in percentage points, from the size of the test set alone."""
    share = num_correct / num_total
    return 100 * math.sqrt(share * (1 - share) / num_total)


def straddles(interval: tuple[float, float] | None, bound: float) -> bool:
    """Say whether an interval holds values on both sides of a bound."""
    return interval is not None and interval[0] < bound < interval[1]


def _interval(ordered: Sequence[float]) -> tuple[tuple[float, float] | None, str]:
    """Choose the interval: by order statistics where there are enough runs, else Student's over the mean."""
    n = len(ordered)
    if n < 2 or not all(math.isfinite(value) for value in ordered):
        return None, ""
    rank = _order_rank(n)
    if rank is not None:
        return (ordered[rank], ordered[n - 1 - rank]), f"95 % interval of the median by order statistics, {n} runs"
    mean, half = statistics.fmean(ordered), resolvable_difference(ordered)
    if half is None:
        return None, ""
    return (mean - half, mean + half), f"95 % Student interval of the mean, {n} runs, spread taken as normal"


def _order_rank(n: int) -> int | None:
    """Return the largest rank whose two order statistics still cover the median with 95 %; None where none does."""
    from scipy.stats import binom

    ranks = [rank for rank in range(n // 2) if 1 - 2 * float(binom.cdf(rank, n, 0.5)) >= CONFIDENCE]
    return max(ranks) if ranks else None


def _student_factor(n: int) -> float:
    from scipy.stats import t

    return float(t.ppf(0.5 + CONFIDENCE / 2, n - 1))
