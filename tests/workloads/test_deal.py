"""Every epoch is dealt out like cards."""

from itertools import chain, islice

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.deal import deal, hand, permutation

SEEDS = st.integers(min_value=0, max_value=2**40)


@given(
    num_samples=st.integers(min_value=1, max_value=200),
    num_participants=st.integers(min_value=1, max_value=20),
    seed=SEEDS,
    epoch=st.integers(min_value=0, max_value=1000),
)
def test_hands_partition_the_epoch(num_samples: int, num_participants: int, seed: int, epoch: int) -> None:
    """In one epoch every sample is in exactly one hand, and hands differ by one sample at most."""
    hands = [hand(num_samples, seed, epoch, index, num_participants).tolist() for index in range(num_participants)]

    assert list(range(num_samples)) == sorted(chain.from_iterable(hands))
    assert max(map(len, hands)) - min(map(len, hands)) <= 1


@given(
    num_samples=st.integers(min_value=4, max_value=60),
    num_participants=st.integers(min_value=1, max_value=4),
    batch_size=st.integers(min_value=1, max_value=70),
    seed=SEEDS,
    data=st.data(),
)
def test_stream_is_the_hands_in_order(
    num_samples: int, num_participants: int, batch_size: int, seed: int, data: st.DataObject
) -> None:
    """A participant's batches, laid end to end, are its hands of epoch 0, 1, 2 …, and all are full."""
    participant = data.draw(st.integers(min_value=0, max_value=num_participants - 1))
    batches = deal(
        num_samples, seed=seed, participant=participant, num_participants=num_participants, batch_size=batch_size
    )
    seen = list(islice(batches, 6))

    assert {batch_size} == {len(numbers) for numbers, _ in seen}
    pairs = [pair for numbers, epochs in seen for pair in zip(numbers.tolist(), epochs.tolist(), strict=True)]
    expected = (
        (number, epoch)
        for epoch in range(10**6)
        for number in hand(num_samples, seed, epoch, participant, num_participants).tolist()
    )
    assert list(islice(expected, len(pairs))) == pairs


def test_order_is_pinned() -> None:
    """The order of a seed is the same on every machine and with every version of NumPy."""
    assert permutation(10, 20261129, 0).tolist() == [9, 1, 0, 2, 6, 7, 5, 4, 8, 3]
    assert permutation(10, 20261129, 1).tolist() == [2, 8, 1, 4, 3, 9, 5, 0, 7, 6]


@pytest.mark.parametrize(
    ("participant", "num_participants", "expected"),
    [
        pytest.param(2, 2, "participant 2 is not one of 2", id="beyond"),
        pytest.param(-1, 2, "participant -1 is not one of 2", id="negative"),
        pytest.param(0, 5, "4 training samples cannot be dealt out to 5", id="too-many"),
    ],
)
def test_impossible_deals_are_refused_at_once(participant: int, num_participants: int, expected: str) -> None:
    """A deal that cannot be made fails before the first batch is asked for."""
    with pytest.raises(PlanError, match=expected):
        deal(4, seed=0, participant=participant, num_participants=num_participants, batch_size=1)
