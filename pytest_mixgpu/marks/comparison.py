"""Is a bound met: from a measured number and a bound to yes or no, the same on every machine. Standard library only.

Binary fractions carry noise: 0.7 times 3 is 2.0999999999999996. Shares are therefore multiplied as the decimals that a
person wrote, and value and bound are both rounded to 12 significant digits before they are compared. That is a
thousandth of a nanosecond in a second, far below what any clock tells apart; it is no slack, only the end of the noise.
Counts of images never pass through here as fractions: they are compared as integers.
"""

from decimal import ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction

from pytest_mixgpu.marks.model import Comparator

SIGNIFICANT_DIGITS = 12
_CONTEXT = Context(prec=SIGNIFICANT_DIGITS, rounding=ROUND_HALF_EVEN)
_EXACT = Context(prec=60)


def meets(value: float, comparator: Comparator, bound: float) -> bool:
    """Say whether a value meets a bound. Equal meets it.

    Args:
        value: finite, or infinite for an attempt that never ended.
        comparator: `within` compares a distance, which is never negative.
        bound: finite.

    Raises:
        ValueError: the value is not a number.
    """
    found, limit = _settled(value), _settled(bound)
    if found.is_nan() or limit.is_nan():
        raise ValueError("not a number is neither above nor below a bound")
    return found >= limit if comparator == "at_least" else found <= limit


def exceeds(value: float, limit: float) -> bool:
    """Say whether a value lies above a limit, beyond the noise of binary fractions."""
    return _settled(value) > _settled(limit)


def share_of(share: float, whole: float) -> float:
    """Multiply as a person would: 0.70 of 16 is 11.2, 0.7 of 3 is 2.1."""
    return float(_EXACT.multiply(Decimal(repr(share)), Decimal(repr(whole))))


def reaches(num_correct: int, num_total: int, target: float) -> bool:
    """Say whether a share of whole counts reaches a target, in exact arithmetic."""
    return num_total > 0 and Fraction(num_correct, num_total) >= Fraction(repr(target))


def _settled(value: float) -> Decimal:
    return _CONTEXT.create_decimal(repr(float(value)))
