"""The schedule rises, falls, and ends where it was told to."""

import msgspec
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from pytest_mixgpu.jobs.workloads.model import Optimizer
from pytest_mixgpu.jobs.workloads.optimizer import make_optimizer, rate

PLAIN = Optimizer(learning_rate=0.1, weight_decay=0.5, warmup_share=0.1, final_share=0.2)


@given(total=st.integers(min_value=1, max_value=500), share=st.floats(min_value=0, max_value=0.9))
def test_rate_rises_then_falls(total: int, share: float) -> None:
    """The rate is positive, rises to one and never rises again; beyond the end it stays."""
    settings = msgspec.structs.replace(PLAIN, warmup_share=share)
    rates = [rate(step, total, settings) for step in range(total)]
    top = rates.index(max(rates))

    assert min(rates) > 0
    assert rates[: top + 1] == sorted(rates[: top + 1])
    assert rates[top:] == sorted(rates[top:], reverse=True)
    assert rate(total, total, settings) == pytest.approx(0.2)
    assert rate(2 * total, total, settings) == pytest.approx(0.2)


def test_groups_decay_and_head() -> None:
    """Matrices decay, biases do not, and the head learns at its own rate."""
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    settings = msgspec.structs.replace(PLAIN, head_factor=10.0, warmup_share=0.0)
    optimizer, _ = make_optimizer(model, settings, total_steps=10, head=("1.weight", "1.bias"))

    found = {
        (round(group["initial_lr"], 6), group["weight_decay"], parameter.ndim)
        for group in optimizer.param_groups
        for parameter in group["params"]
    }
    assert {(0.1, 0.5, 2), (0.1, 0.0, 1), (1.0, 0.5, 2), (1.0, 0.0, 1)} == found


def test_frozen_parameters_stay_out() -> None:
    """A parameter that asks for no gradient is not given to the optimizer."""
    model = nn.Linear(2, 2)
    model.bias.requires_grad = False

    optimizer, _ = make_optimizer(model, PLAIN, total_steps=10)

    assert [parameter.ndim for group in optimizer.param_groups for parameter in group["params"]] == [2]


def test_gradients_are_clipped() -> None:
    """With a norm given, gradients are scaled to it before the step."""
    model = nn.Linear(2, 1)
    optimizer, _ = make_optimizer(model, msgspec.structs.replace(PLAIN, clip_norm=0.5), total_steps=10)
    for parameter in model.parameters():
        parameter.grad = torch.full_like(parameter, 100.0)

    optimizer.step()

    grads = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    assert torch.cat([grad.flatten() for grad in grads]).norm().item() == pytest.approx(0.5, rel=1e-4)
