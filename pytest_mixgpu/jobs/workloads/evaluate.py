"""The one evaluator: from a model and a held-out split to whole numbers of right answers. torch only inside functions.

All final weights are scored by this code on one declared device, in one format, so that a difference is the model's.
"""

import copy
import hashlib
import time
from collections.abc import Iterator
from contextlib import contextmanager
from math import isfinite
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.jobs.workloads.build import OpenWorkload, computing_in
from pytest_mixgpu.records.bits import encode_bits

if TYPE_CHECKING:
    import torch

    from pytest_mixgpu.jobs.workloads.sources.protocol import Split


class Score(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How a model does on a split."""

    num_correct: int
    num_total: int
    loss: float | None
    """Mean cross entropy without smoothing; None where it was not finite, or nothing was scored."""
    correct_bits_hex: str
    """One bit a sample in the order of the split, the first in the highest bit; the last byte is zero-filled."""
    duration_s: float


def score(  # noqa: PLR0913 - what scores is declared in full
    model: "torch.nn.Module",
    workload: OpenWorkload,
    split: "Split",
    *,
    device: str,
    number_format: str,
    num_threads: int,
) -> Score:
    """Score a model; it, its device, its mode and torch's number of threads are left as they were.

    Args:
        model: what is scored.
        workload: whose samples.
        split: which of them.
        device: torch's name of the device that scores.
        number_format: `float32` or `bfloat16`.
        num_threads: threads of torch while it scores.

    Raises:
        PlanError: the number format is unknown.
    """
    import torch
    from torch.nn.functional import cross_entropy

    started = time.perf_counter()
    place = torch.device(device)
    judged = _placed(model, place)
    was_training = judged.training
    correct: list[bool] = []
    total_loss = 0.0
    judged.eval()
    try:
        with _threads(num_threads), torch.no_grad():
            for x, y in workload.samples(split).in_order(workload.recipe.evaluation_batch, place):
                with computing_in(number_format, place):
                    answers = judged(x)
                correct += (answers.argmax(dim=1) == y).tolist()
                total_loss += cross_entropy(answers.double(), y, reduction="sum").item()
    finally:
        judged.train(was_training)
    mean_loss = total_loss / len(correct) if correct else float("nan")
    return Score(
        num_correct=sum(correct),
        num_total=len(correct),
        loss=mean_loss if isfinite(mean_loss) else None,
        correct_bits_hex=encode_bits(correct),
        duration_s=time.perf_counter() - started,
    )


def weights_digest(model: "torch.nn.Module") -> str:
    """Return the SHA-256 over names, types, shapes and bytes of all parameters and buffers, in the model's order."""
    import torch

    digest = hashlib.sha256()
    for name, tensor in model.state_dict().items():
        plain = tensor.detach().cpu().contiguous()
        digest.update(f"{name} {plain.dtype} {tuple(plain.shape)}\n".encode())
        digest.update(plain.reshape(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


def _placed(model: "torch.nn.Module", device: "torch.device") -> "torch.nn.Module":
    """Return the model itself if it is on the device, else a copy there."""
    first = next(model.parameters(), None)
    return model if first is None or first.device == device else copy.deepcopy(model).to(device)


@contextmanager
def _threads(num_threads: int) -> Iterator[None]:
    """Let torch compute with so many threads for a while."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(num_threads)
    try:
        yield
    finally:
        torch.set_num_threads(before)
