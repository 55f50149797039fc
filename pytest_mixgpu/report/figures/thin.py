"""What is drawn of very much: which items stand for all, and how many go into one cell. Pure arithmetic."""

from collections.abc import Sequence
from itertools import pairwise


def spread_indices(count: int, limit: int) -> list[int]:
    """Return at most `limit` of `count` indices, evenly spread, first and last among them."""
    if count <= limit:
        return list(range(count))
    if limit < 2:
        return [0][:limit]
    return sorted({round(place * (count - 1) / (limit - 1)) for place in range(limit)})


def telling_indices(values: Sequence[float], limit: int) -> list[int]:
    """Return at most `limit` indices that show how values are spread, the smallest and the largest among them.

    They are evenly spread over the ranks and come in the order of the values' places.
    """
    by_rank = sorted(range(len(values)), key=lambda index: (values[index], index))
    return sorted(by_rank[rank] for rank in spread_indices(len(values), limit))


def bins(count: int, limit: int) -> list[range]:
    """Part `count` neighbours into at most `limit` groups whose sizes differ by one at most."""
    num = min(count, limit)
    edges = [round(place * count / num) for place in range(num + 1)] if num else []
    return [range(left, right) for left, right in pairwise(edges)]
