"""Combination: from the participants' updates to the new model, with the same bits every time. Imports no torch."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

_CHUNK = 1 << 16
"""Values worked on at a time: 256 KiB, so that sums stay in the cache of one core."""


class NotFiniteError(ValueError):
    """An update holds something that is no finite number.

    Args:
        participant: whose.
        place: which of its values is the first.
        value: that value.
    """

    def __init__(self, participant: int, place: int, value: float) -> None:
        super().__init__(f"value {place:,} of the update of participant {participant} is {value}")
        self.participant = participant
        self.place = place
        self.value = value


class Combination:
    """Adds the sample-weighted mean of the updates to the model, in place, from its front as far as updates are there.

    The sum runs in the order of participants, whoever came first, one rounding an operation: equal inputs give equal
    bits on every machine, in whatever pieces they came.

    Args:
        model: the model that the round started from, flat.
        updates: what each participant changed, flat, in the order of participants.
        num_samples: how many training samples stand behind each update.

    Raises:
        ValueError: shapes differ, or no sample stands behind the round.
    """

    def __init__(
        self, model: NDArray[np.float32], updates: Sequence[NDArray[np.float32]], num_samples: Sequence[int]
    ) -> None:
        import numpy as np

        total = sum(num_samples)
        if total <= 0 or len(updates) != len(num_samples) or any(u.shape != model.shape for u in updates):
            raise ValueError(
                f"cannot combine {len(updates)} updates of {[u.shape for u in updates]} values with "
                f"{list(num_samples)} samples into a model of {model.shape}: one update and one positive count a "
                "participant is expected"
            )
        self._model = model
        self._updates = updates
        self._weights = [np.float32(count / total) for count in num_samples]
        self._mean = np.empty(min(_CHUNK, model.size), dtype=np.float32)
        self._part = np.empty_like(self._mean)
        self.num_done = 0
        """Values of the model, from its front, that are the new ones."""

    def advance(self, num_there: int) -> bool:
        """Combine whatever is whole by now; whether that was anything.

        Args:
            num_there: values, from the front, that have come in from every participant.

        Raises:
            NotFiniteError: one of them is not a number, or infinite. Nothing of its piece was added to the model.
        """
        before = self.num_done
        while self.num_done < self._model.size:
            end = min(self.num_done + _CHUNK, self._model.size)
            if end > num_there:
                break
            self._combine(slice(self.num_done, end))
            self.num_done = end
        return self.num_done > before

    def _combine(self, stretch: slice) -> None:
        import numpy as np

        size = stretch.stop - stretch.start
        mean, part = self._mean[:size], self._part[:size]
        with np.errstate(invalid="ignore", over="ignore"):
            np.multiply(self._updates[0][stretch], self._weights[0], out=mean)
            for update, weight in zip(self._updates[1:], self._weights[1:], strict=True):
                np.multiply(update[stretch], weight, out=part)
                np.add(mean, part, out=mean)
            # One pass over what is in the cache, however many participants; it overflows at huge values that are fine.
            if not np.isfinite(np.dot(mean, mean)):
                self._refuse_infinite(stretch)
        np.add(self._model[stretch], mean, out=self._model[stretch])

    def _refuse_infinite(self, stretch: slice) -> None:
        import numpy as np

        for participant, update in enumerate(self._updates):
            bad = np.flatnonzero(~np.isfinite(update[stretch]))
            if bad.size:
                place = stretch.start + int(bad[0])
                raise NotFiniteError(participant, place, float(update[place]))
