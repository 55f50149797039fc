"""How far runs lie apart: from values of runs to median, range, interval and what they could have shown.

The unit is the run, never the round. One run has no interval, and neither have a few runs that are all alike: how far
runs lie apart is then not known. scipy is imported where it is needed.
"""

import math
import statistics
from collections.abc import Sequence
from functools import cache

import msgspec

CONFIDENCE = 0.95
POWER = 0.80
LEVEL_IN_WORDS = "two-sided at 95 % with a power of 80 %, t test, spread taken as normal"
"""What `resolvable` means."""
BOOTSTRAP_RUNS = 6
"""From here on ratios are resampled: a bootstrap of 3, 4 or 5 runs covers the truth in 74, 87 and 93 % of cases
instead of 95 (simulated), one of 6 in 94 %."""
RESAMPLES = 9_999
_SEED = 20261129


class Spread(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the values of several runs say together."""

    n: int
    median: float
    low: float
    high: float
    interval: tuple[float, float] | None = None
    """95 % interval. An end is infinite where an attempt that never ended leaves that side open."""
    method: str = ""
    """How the interval was made, or why there is none."""
    resolvable: float | None = None
    """The smallest difference that so many runs, so far apart, could have shown; see `LEVEL_IN_WORDS`."""


def spread_of(values: Sequence[float], *, is_ratio: bool = False) -> Spread:
    """Summarise the values of runs.

    Args:
        values: one a run, in any order.
        is_ratio: whether a value is one duration over another: then it is the logarithm that is spread evenly.

    Raises:
        ValueError: there is no value.
    """
    if not values:
        raise ValueError("no run, no spread")
    ordered = sorted(values)
    use_logs = is_ratio and ordered[0] > 0 and math.isfinite(ordered[-1])
    interval, method = _interval_of_ratio(ordered) if use_logs else _interval(ordered)
    return Spread(
        n=len(values),
        median=statistics.median(values),
        low=ordered[0],
        high=ordered[-1],
        interval=interval,
        method=method,
        resolvable=_resolvable_ratio(ordered) if use_logs else resolvable_difference(ordered),
    )


def share_covered_by_range(n: int) -> float:
    """Chance that the range of n runs covers the true median: 0.75 for 3, over 0.95 from 6 on."""
    return 0.0 if n < 1 else 1 - 0.5 ** (n - 1)


def resolvable_difference(values: Sequence[float]) -> float | None:
    """Return the smallest true difference that so many runs, so far apart, would have shown in four cases of five.

    None for one run, and for runs that are all alike.
    """
    if len(values) < 2 or not all(math.isfinite(value) for value in values):
        return None
    deviation = statistics.stdev(values)
    return resolvable_in_deviations(len(values)) * deviation if deviation > 0 else None


@cache
def resolvable_in_deviations(n: int, *, one_sided: bool = False) -> float:
    """Return the difference that a t test on n runs finds with a power of 80 %, in standard deviations of one run.

    From the noncentral t distribution: 11.5 for two runs, 3.3 for three, 1.0 for ten, tested to both sides.

    Args:
        n: two or more.
        one_sided: whether the test looks to one side only, with all of its 5 %.

    Raises:
        ValueError: one run resolves nothing.
    """
    if n < 2:
        raise ValueError(f"{n} runs resolve nothing")
    from scipy.special import nctdtrinc

    # That a test finds it on the other side, which a two-sided power would add, has a chance below 1e-6.
    return float(nctdtrinc(n - 1, 1 - POWER, student_factor(n, one_sided=one_sided))) / math.sqrt(n)


@cache
def student_factor(n: int, *, one_sided: bool = False) -> float:
    """Return how many standard errors the 95 % interval of a mean of n runs reaches: to each side, or to one alone."""
    from scipy.stats import t

    return float(t.ppf(CONFIDENCE if one_sided else 0.5 + CONFIDENCE / 2, n - 1))


def binomial_error_points(num_correct: int, num_total: int) -> float:
    """Return the standard error of one accuracy, in percentage points, from the size of the test set alone."""
    share = num_correct / num_total
    return 100 * math.sqrt(share * (1 - share) / num_total)


def straddles(interval: tuple[float, float] | None, bound: float) -> bool:
    """Say whether an interval holds values on both sides of a bound."""
    return interval is not None and interval[0] < bound < interval[1]


def student_interval(values: Sequence[float]) -> tuple[float, float] | None:
    """Return the 95 % interval of the mean; None for one run and for runs that are all alike."""
    if len(values) < 2 or not all(math.isfinite(value) for value in values):
        return None
    deviation = statistics.stdev(values)
    if deviation == 0:
        return None
    mean, half = statistics.fmean(values), student_factor(len(values)) * deviation / math.sqrt(len(values))
    return mean - half, mean + half


def _interval(ordered: Sequence[float]) -> tuple[tuple[float, float] | None, str]:
    """Choose the interval: by order statistics where there are enough runs, else Student's over the mean."""
    n = len(ordered)
    rank = order_rank(n)
    if rank is not None and not any(math.isnan(value) for value in ordered):
        return (ordered[rank], ordered[n - 1 - rank]), f"95 % interval of the median by order statistics, {n} runs"
    interval = student_interval(ordered)
    return interval, f"95 % Student interval of the mean, {n} runs, spread taken as normal" if interval else _why_none(
        ordered
    )


def _interval_of_ratio(ordered: Sequence[float]) -> tuple[tuple[float, float] | None, str]:
    """Make the interval on the logarithm: by resampling where there are enough runs, else Student's."""
    n = len(ordered)
    logs = [math.log(value) for value in ordered]
    if n >= BOOTSTRAP_RUNS and logs[0] == logs[-1]:
        return _interval(ordered)
    if n >= BOOTSTRAP_RUNS:
        low, high = _resampled(logs)
        # No resample leaves the range; the logarithm's rounding must not either.
        interval = (max(math.exp(low), ordered[0]), min(math.exp(high), ordered[-1]))
        return interval, f"95 % bootstrap of the median log-ratio, {n} runs, {RESAMPLES:,} resamples, percentiles"
    found = student_interval(logs)
    if found is None:
        return None, _why_none(ordered)
    method = f"95 % Student interval of the mean log-ratio, {n} runs; under {BOOTSTRAP_RUNS} are too few to resample"
    return (math.exp(found[0]), math.exp(found[1])), method


def _resampled(logs: Sequence[float]) -> tuple[float, float]:
    """Resample runs, with a fixed seed: the same records give the same interval everywhere."""
    import numpy as np
    from scipy.stats import bootstrap

    found = bootstrap(
        (np.asarray(logs),),
        np.median,
        confidence_level=CONFIDENCE,
        n_resamples=RESAMPLES,
        # Corrected for bias (BCa) the interval of a median is no better at any number of runs, and can be undefined.
        method="percentile",
        random_state=np.random.default_rng(_SEED),
    ).confidence_interval
    return float(found.low), float(found.high)


def _resolvable_ratio(ordered: Sequence[float]) -> float | None:
    """Return the smallest difference from the median ratio that could have been shown, worked out on logarithms."""
    share = resolvable_difference([math.log(value) for value in ordered])
    return None if share is None else statistics.median(ordered) * math.expm1(min(share, 700.0))


def _why_none(values: Sequence[float]) -> str:
    if len(values) == 1:
        return "no interval: one run"
    if not all(math.isfinite(value) for value in values):
        return "no interval: an attempt never ended"
    return f"no interval: {len(values)} runs that are all alike do not say how far runs lie apart"


@cache
def order_rank(n: int) -> int | None:
    """Return the largest rank whose two order statistics still cover the median with 95 %; None where none does."""
    if n < 2:
        return None
    from scipy.stats import binom

    ranks = [rank for rank in range(n // 2) if 1 - 2 * float(binom.cdf(rank, n, 0.5)) >= CONFIDENCE]
    return max(ranks) if ranks else None
