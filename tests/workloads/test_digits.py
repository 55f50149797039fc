"""The rehearsal's workload: the same samples as scikit-learn's, and the same bits each time."""

from itertools import chain, islice

import numpy as np
import pytest
import torch

from pytest_mixgpu.jobs.workloads.build import OpenWorkload, open_workload
from pytest_mixgpu.jobs.workloads.deal import deal
from pytest_mixgpu.jobs.workloads.evaluate import weights_digest
from pytest_mixgpu.jobs.workloads.recipe import load_recipe


@pytest.fixture(scope="module")
def digits() -> OpenWorkload:
    """Open the shipped recipe."""
    return open_workload(load_recipe("digits-vit"), data_root=None)


def train(workload: OpenWorkload, num_steps: int, seed: int) -> torch.nn.Module:
    """Take some steps as participant 1 of 2."""
    model = workload.make_model(seed)
    optimizer, scheduler = workload.make_optimizer(model, 20)
    batches = workload.batches(seed=seed, participant=1, num_participants=2, batch_size=32, device="cpu")
    for x, y in batches.take(num_steps):
        workload.loss(model, x, y).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scheduler.step()
        optimizer.zero_grad()
    return model


def test_splits(digits: OpenWorkload) -> None:
    """450 test and 150 validation images are held out, every class in its share."""
    assert digits.counts == {"train": 1197, "validation": 150, "test": 450}
    assert min(np.bincount(digits.samples("test").labels)) >= 43
    assert min(np.bincount(digits.samples("validation").labels)) >= 14


def test_samples_are_the_originals(digits: OpenWorkload) -> None:
    """All splits together are scikit-learn's 1,797 images, none lost or doubled."""
    from sklearn.datasets import load_digits

    original = load_digits()
    rows = []
    for split in ("train", "validation", "test"):
        for x, y in digits.samples(split).in_order(512, torch.device("cpu")):
            pixels = ((x * 0.376 + 0.305) * 16).round().to(torch.int64).reshape(len(x), 64)
            rows += torch.cat([pixels, y[:, None]], dim=1).tolist()

    expected = np.column_stack([original.images.reshape(-1, 64), original.target]).astype(int).tolist()
    assert sorted(expected) == sorted(rows)


def test_data_is_pinned(digits: OpenWorkload) -> None:
    """The manifest of the data is the same on every machine."""
    assert digits.digest == "d10ba1acb7f9f164af5afb8d342638b706725ac310a09d9b73177a6b9e380748"


def test_batches_follow_the_deal(digits: OpenWorkload) -> None:
    """A batch holds the samples that the deal names, in that order, on the device that was asked for."""
    dealt = deal(1197, seed=3, participant=0, num_participants=2, batch_size=8)
    stream = digits.batches(seed=3, participant=0, num_participants=2, batch_size=8, device="cpu")

    labels = digits.samples("train").labels
    for (numbers, _), (x, y) in zip(islice(dealt, 3), chain(stream.take(1), stream.take(2)), strict=True):
        assert [labels[number] for number in numbers] == y.tolist()
        assert x.shape == (8, 1, 8, 8)


def test_equal_seeds_equal_bits(digits: OpenWorkload) -> None:
    """Two trainings of one seed end in the same bits, and another seed in others."""
    first, again, other = (weights_digest(train(digits, 5, seed)) for seed in (7, 7, 8))

    assert first == again
    assert first != other


def test_global_generator_is_left_alone(digits: OpenWorkload) -> None:
    """Making a model draws nothing from the generator of the process."""
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    digits.make_model(1)

    assert torch.equal(expected, torch.rand(3))


def test_model_is_the_small_transformer(digits: OpenWorkload) -> None:
    """The model has the size that the rounds were measured with."""
    assert sum(parameter.numel() for parameter in digits.make_model(0).parameters()) == 136_010


def test_bfloat16_computes_in_it(digits: OpenWorkload) -> None:
    """Under another number format the loss is close and not the same."""
    model = digits.make_model(0)
    x, y = next(digits.batches(seed=0, participant=0, num_participants=1, batch_size=32, device="cpu").take(1))

    full, half = (digits.loss(model, x, y, number_format=name).item() for name in ("float32", "bfloat16"))

    assert full != half
    assert full == pytest.approx(half, rel=0.05)
