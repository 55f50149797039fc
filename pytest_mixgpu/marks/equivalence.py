"""What a comparison with controls can show: from accuracies to tests and chances. Knows no record; decides nothing.

The rule of parity is: the median distance of the mixed run from the mean of its controls is within a tolerance, or
within the median gap of the controls themselves. The second clause passes the more, the noisier the runs are; how much
more is worked out here for the very rule that is applied.
"""

import math
import statistics
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

STEPS = 2_000
"""Of the integration; the chance is then exact to a tenth of a percent."""
DRAWS = 10_000
"""Of the simulation; its standard error is half a percent at most."""
_SEED = 20261129
_NORMAL = NormalDist()


class Design(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How parity is compared."""

    tolerance: float
    num_controls: int = 2
    num_repeats: int = 1

    @property
    def is_integrated(self) -> bool:
        """Whether the chance is worked out exactly: two controls and an odd number of repeats; else it is simulated."""
        return self.num_controls == 2 and self.num_repeats % 2 == 1


class NonInferiority(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One-sided t test of the claim that the mixed run is worse by the tolerance or more."""

    p: float
    is_shown: bool
    """Whether the claim is refuted at 5 %: then the mixed run is shown not to be worse by as much."""


class Discordance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Two models on the same images: on how many only one of them is right."""

    only_first: int
    only_second: int
    p: float
    """Of McNemar's exact test."""


@lru_cache(maxsize=256)
def pass_chance(design: Design, true_difference: float, deviation: float) -> float:
    """Return how often the rule passes, gap clause included.

    Runs are taken as independent and normal with one standard deviation, and the controls as equal in truth; that
    accuracies come in whole images is left out.

    Args:
        design: tolerance, controls, repeats.
        true_difference: of the mixed run from its controls; its sign does not matter.
        deviation: of one run's accuracy, between runs that differ in nothing but chance; in the tolerance's unit.
    """
    if deviation <= 0:
        return 1.0 if abs(true_difference) <= design.tolerance else 0.0
    if design.is_integrated:
        return _integrated(design, true_difference, deviation)
    return _simulated(design, true_difference, deviation)


def residual_deviation(rows: Sequence[Sequence[Fraction]]) -> float | None:
    """Return how far runs of one seed lie apart by chance: what neither the seed nor the role explains.

    Args:
        rows: one a seed, with an accuracy for each role in the same order; exact, so that no spread is none.

    Returns:
        The standard deviation of one run; None where one seed or one role leaves nothing to tell chance by.
    """
    num_rows, num_columns = len(rows), len(rows[0]) if rows else 0
    if num_rows < 2 or num_columns < 2:
        return None
    by_role = [statistics.mean(column) for column in zip(*rows, strict=True)]
    whole = statistics.mean(by_role)
    squares = sum(
        (value - statistics.mean(row) - mean + whole) ** 2
        for row in rows
        for value, mean in zip(row, by_role, strict=True)
    )
    return math.sqrt(squares / ((num_rows - 1) * (num_columns - 1)))


def non_inferiority(signed: Sequence[float], tolerance: float) -> NonInferiority | None:
    """Test whether differences from the controls show that the truth is not as low as minus the tolerance.

    None for one difference and for differences that are all alike: nothing then says how far they lie apart.
    """
    if len(signed) < 2 or statistics.stdev(signed) == 0:
        return None
    from scipy.stats import ttest_1samp

    p = float(ttest_1samp(list(signed), popmean=-tolerance, alternative="greater").pvalue)
    return NonInferiority(p=p, is_shown=p < 0.05)


def discordance(first: Sequence[int | bool], second: Sequence[int | bool]) -> Discordance:
    """Compare two models image by image.

    Args:
        first: whether the first model was right, an image each.
        second: of the other model, in the same order.

    Raises:
        ValueError: they did not see the same number of images.
    """
    from scipy.stats import binomtest

    pairs = list(zip(first, second, strict=True))
    only_first, only_second = sum(one > two for one, two in pairs), sum(two > one for one, two in pairs)
    num = only_first + only_second
    p = float(binomtest(only_first, num, 0.5).pvalue) if num else 1.0
    return Discordance(only_first=only_first, only_second=only_second, p=p)


def _integrated(design: Design, true_difference: float, deviation: float) -> float:
    """Integrate over the gap of two controls, which tells nothing of their mean.

    The median of an odd number of gaps is at its quantile v with the density of a beta distribution, and the median
    distance lies within a band where more than half of the distances do.
    """
    num, middle = design.num_repeats, design.num_repeats // 2
    of_distance = NormalDist(true_difference, deviation * math.sqrt(1 + 1 / design.num_controls))
    scale = num * math.comb(num - 1, middle)
    chance = 0.0
    for step in range(STEPS):
        v = (step + 0.5) / STEPS
        band = max(design.tolerance, deviation * math.sqrt(2) * _NORMAL.inv_cdf((1 + v) / 2))
        inside = of_distance.cdf(band) - of_distance.cdf(-band)
        chance += scale * (v * (1 - v)) ** middle * _most_of(num, inside)
    return min(1.0, chance / STEPS)


def _most_of(num: int, chance: float) -> float:
    """Chance that more than half of an odd number of things happen, each with this chance."""
    return math.fsum(
        math.comb(num, count) * chance**count * (1 - chance) ** (num - count) for count in range(num // 2 + 1, num + 1)
    )


def _simulated(design: Design, true_difference: float, deviation: float) -> float:
    import numpy as np

    distances, gaps = _noise(design.num_controls, design.num_repeats)
    distance = np.median(np.abs(true_difference + deviation * distances), axis=1)
    band = np.maximum(design.tolerance, deviation * np.median(gaps, axis=1))
    return float(np.mean(distance <= band))


@lru_cache(maxsize=4)
def _noise(num_controls: int, num_repeats: int) -> "tuple[NDArray[np.float64], NDArray[np.float64]]":
    """Draw runs once, with a fixed seed: distances from the mean of the controls, and gaps between these."""
    import numpy as np

    runs = np.random.default_rng(_SEED).normal(size=(DRAWS, num_repeats, num_controls + 1))
    controls = runs[:, :, 1:]
    return runs[:, :, 0] - controls.mean(axis=2), controls.max(axis=2) - controls.min(axis=2)
