"""The one evaluator counts whole answers and leaves the model as it was."""

import math
from pathlib import Path

import pytest
import torch
from torch import nn

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.workloads.build import OpenWorkload, open_workload
from pytest_mixgpu.jobs.workloads.evaluate import Score, score, weights_digest
from pytest_mixgpu.jobs.workloads.model import NpzData
from pytest_mixgpu.records.bits import decode_bits
from tests.workloads.workload_parts import npz_recipe, write_npz


class Says(nn.Module):
    """Answers class 1, whatever it is shown, and notes how it was asked."""

    def __init__(self, value: float = 1.0) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.tensor(value))
        self.modes: list[tuple[bool, int, bool]] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Give the answer."""
        self.modes.append((self.training, torch.get_num_threads(), torch.is_grad_enabled()))
        answers = torch.zeros(len(x), 3)
        answers[:, 1] = self.weight
        return answers


@pytest.fixture
def workload(tmp_path: Path) -> OpenWorkload:
    """Open thirty samples of three classes, nine of them for the test."""
    write_npz(tmp_path / "a.npz")
    recipe = npz_recipe(NpzData(path="a.npz", layout="nhw", test_samples=9, validation_samples=6))
    return open_workload(recipe, data_root=tmp_path)


def scored(model: nn.Module, workload: OpenWorkload) -> Score:
    """Score on the test split as plans do."""
    return score(model, workload, "test", device="cpu", number_format="float32", num_threads=1)


def test_counts_are_of_the_split(workload: OpenWorkload) -> None:
    """Each sample is asked once; bits stand in the order of the split."""
    result = scored(Says(), workload)

    right = tuple(label == 1 for label in workload.samples("test").labels)
    assert (result.num_correct, result.num_total) == (3, 9)
    assert right == decode_bits(result.correct_bits_hex, 9)
    assert result.loss == pytest.approx((6 * math.log(2 + math.e) + 3 * (math.log(2 + math.e) - 1)) / 9)


@pytest.mark.parametrize("value", [math.nan, math.inf])
def test_loss_that_is_no_number_is_none(workload: OpenWorkload, value: float) -> None:
    """A loss that is not finite is stated as missing."""
    assert scored(Says(value), workload).loss is None


def test_model_is_asked_in_evaluation_mode_and_left_as_it_was(workload: OpenWorkload) -> None:
    """Mode, threads and gradients are those of an evaluation while it lasts, and those of before afterwards."""
    model = Says()
    before = torch.get_num_threads()

    score(model, workload, "test", device="cpu", number_format="float32", num_threads=before + 1)

    assert {(False, before + 1, False)} == set(model.modes)
    assert model.training
    assert before == torch.get_num_threads()


def test_batches_are_the_recipes(workload: OpenWorkload) -> None:
    """Nine samples in batches of four make three questions."""
    model = Says()
    scored(model, workload)

    assert len(model.modes) == 3


def test_unknown_format_is_refused(workload: OpenWorkload) -> None:
    """A number format that the evaluator does not know is an error that lists those it knows."""
    with pytest.raises(PlanError, match="'float8' is unknown; there are float32, bfloat16"):
        score(Says(), workload, "test", device="cpu", number_format="float8", num_threads=1)


def test_weights_digest_sees_every_bit() -> None:
    """A digest changes with a parameter, a buffer and a name, and not with a copy."""
    model = nn.BatchNorm1d(2)
    first = weights_digest(model)
    assert first == weights_digest(nn.BatchNorm1d(2))

    assert model.running_mean is not None
    model.running_mean[0] = 1e-30
    assert first != weights_digest(model)
    assert weights_digest(nn.Sequential(nn.BatchNorm1d(2))) != first
