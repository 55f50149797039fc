"""How far two clocks stand apart: from messages in both directions to an offset and its uncertainty. Pure arithmetic.

No message arrives before it was sent. So one that A sent and B received bounds A's clock minus B's from below, one
that B sent and A received bounds it from above; the truth lies between the tightest of both.
"""

from collections.abc import Sequence

import msgspec


class Offset(msgspec.Struct, frozen=True, kw_only=True):
    """A's clock minus B's."""

    offset_s: float
    uncertainty_s: float
    """The truth lies within this, either way."""


def bound_offset(*, at_least_s: Sequence[float], at_most_s: Sequence[float]) -> Offset:
    """Take the middle of the tightest bounds.

    Args:
        at_least_s: A's clock at sending minus B's at receiving, a message each.
        at_most_s: A's clock at receiving minus B's at sending, a message each.

    Raises:
        ValueError: no message went in one of the directions.
    """
    if not at_least_s or not at_most_s:
        raise ValueError("an offset needs at least one message in each direction")
    low_s, high_s = max(at_least_s), min(at_most_s)
    # Bounds that cross mean that a clock ran unevenly between the messages: by so much they are unsure.
    return Offset(offset_s=(low_s + high_s) / 2, uncertainty_s=abs(high_s - low_s) / 2)
