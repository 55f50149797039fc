"""Summaries: from values to their middle and their range. Imports nothing heavy and knows no threshold."""

import math
import statistics
from collections.abc import Iterable

import msgspec


class Summary(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many values there were, the middle one, and how far apart they lay."""

    n: int
    median_s: float
    low_s: float
    high_s: float

    @property
    def spread(self) -> float:
        """Range over median, as a share; 0 where the median is 0."""
        return (self.high_s - self.low_s) / self.median_s if self.median_s else 0.0


def summarise(values: Iterable[float]) -> Summary:
    """Summarise durations.

    Raises:
        ValueError: there is no value, or one is not a finite number: nothing was measured.
    """
    kept = tuple(values)
    if not kept:
        raise ValueError("nothing to summarise: there is no value")
    for value in kept:
        if not math.isfinite(value):
            raise ValueError(f"cannot summarise {value!r}: expected finite numbers")
    return Summary(n=len(kept), median_s=statistics.median(kept), low_s=min(kept), high_s=max(kept))
