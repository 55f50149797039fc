"""Combination: from the participants' updates to the new model, with the same bits every time. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 1 << 16
"""Values worked on at a time: 256 KiB, so that sums stay in the cache of one core."""


def combine(model: NDArray[np.float32], updates: Sequence[NDArray[np.float32]], num_samples: Sequence[int]) -> None:
    """Add the sample-weighted mean of the updates to the model, in place.

    The sum runs in the order of participants, whoever came first, one rounding an operation: equal inputs give equal
    bits on every machine.

    Args:
        model: the model that the round started from, flat.
        updates: what each participant changed, flat, in the order of participants.
        num_samples: how many training samples stand behind each update.

    Raises:
        ValueError: shapes differ, or no sample stands behind the round.
    """
    import numpy as np

    total = sum(num_samples)
    if total <= 0 or len(updates) != len(num_samples) or any(u.shape != model.shape for u in updates):
        raise ValueError(
            f"cannot combine {len(updates)} updates of {[u.shape for u in updates]} values with {list(num_samples)} "
            f"samples into a model of {model.shape}: one update and one positive count a participant is expected"
        )
    weights = [np.float32(count / total) for count in num_samples]
    mean = np.empty(min(_CHUNK, model.size), dtype=np.float32)
    part = np.empty_like(mean)
    for start in range(0, model.size, _CHUNK):
        stretch = slice(start, min(start + _CHUNK, model.size))
        size = stretch.stop - start
        np.multiply(updates[0][stretch], weights[0], out=mean[:size])
        for update, weight in zip(updates[1:], weights[1:], strict=True):
            np.multiply(update[stretch], weight, out=part[:size])
            np.add(mean[:size], part[:size], out=mean[:size])
        np.add(model[stretch], mean[:size], out=model[stretch])
