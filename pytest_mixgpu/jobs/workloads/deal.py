"""Who sees what when: from a seed to endless batches of sample numbers, one stream a participant. Imports no torch.

Each epoch's permutation is dealt out like cards: in one epoch no two participants see the same sample and none is left
out, whatever their speeds. A participant's stream is its hand of every epoch, one after the other; batches are always
full and may reach into the next epoch.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import PlanError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Numbers = NDArray[np.int64]


def permutation(num_samples: int, seed: int, epoch: int) -> "Numbers":
    """Return the order of one epoch.

    It is drawn from PCG64's raw stream, which NumPy promises to keep: hosts with other versions agree on it.
    """
    import numpy as np

    raw = np.random.PCG64(np.random.SeedSequence([seed, epoch])).random_raw(num_samples)
    return np.argsort(raw, kind="stable")


def hand(num_samples: int, seed: int, epoch: int, participant: int, num_participants: int) -> "Numbers":
    """Return what one participant is dealt of one epoch."""
    return permutation(num_samples, seed, epoch)[participant::num_participants]


def deal(
    num_samples: int, *, seed: int, participant: int, num_participants: int, batch_size: int
) -> Iterator[tuple["Numbers", "Numbers"]]:
    """Yield, without end, the sample numbers of each batch and the epoch of each sample.

    Args:
        num_samples: size of the split.
        seed: of the run.
        participant: index among the participants.
        num_participants: how many share the samples.
        batch_size: samples of one step of this participant.

    Raises:
        PlanError: there are fewer samples than participants.
    """
    if not 0 <= participant < num_participants:
        raise PlanError(f"participant {participant} is not one of {num_participants}")
    if num_samples < num_participants:
        raise PlanError(f"{num_samples} training samples cannot be dealt out to {num_participants} participants")

    def dealt(epoch: int) -> "Numbers":
        return hand(num_samples, seed, epoch, participant, num_participants)

    return _batches(dealt, batch_size)


def _batches(dealt: Callable[[int], "Numbers"], batch_size: int) -> Iterator[tuple["Numbers", "Numbers"]]:
    """Cut the hands of all epochs into batches."""
    import numpy as np

    epoch, rest = 0, dealt(0)
    while True:
        numbers, epochs = [], []
        needed = batch_size
        while needed:
            if not len(rest):
                epoch += 1
                rest = dealt(epoch)
            taken, rest = rest[:needed], rest[needed:]
            numbers.append(taken)
            epochs.append(np.full(len(taken), epoch, dtype=np.int64))
            needed -= len(taken)
        yield np.concatenate(numbers), np.concatenate(epochs)
