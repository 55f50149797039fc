"""Who is held out: from labels to sorted sample numbers. Standard library only: no version moves a split."""

import hashlib
from collections.abc import Sequence

from pytest_mixgpu.errors import PlanError


def stratified(labels: Sequence[int], num_held_out: int, seed: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Hold samples out, each class by its share.

    Args:
        labels: the class of each sample.
        num_held_out: how many are held out in all.
        seed: another seed holds out others.

    Returns:
        Numbers of the kept and of the held-out samples, each in ascending order.

    Raises:
        PlanError: fewer samples are there than are to be held out.
    """
    if not 0 <= num_held_out <= len(labels):
        raise PlanError(f"{num_held_out} samples are to be held out of {len(labels)}")
    classes: dict[int, list[int]] = {}
    for number, label in enumerate(labels):
        classes.setdefault(label, []).append(number)
    held: list[int] = []
    for label, quota in _quotas({label: len(members) for label, members in classes.items()}, num_held_out).items():
        held += sorted(classes[label], key=lambda number: _draw(seed, number))[:quota]
    chosen = frozenset(held)
    return tuple(number for number in range(len(labels)) if number not in chosen), tuple(sorted(held))


def _quotas(sizes: dict[int, int], total: int) -> dict[int, int]:
    """Divide `total` in proportion to the sizes, by largest remainder; ties go to the smaller label."""
    num_samples = sum(sizes.values())
    if not num_samples:
        return {}
    quotas = {label: total * size // num_samples for label, size in sizes.items()}
    by_remainder = sorted(sizes, key=lambda label: (-(total * sizes[label] % num_samples), label))
    for label in by_remainder[: total - sum(quotas.values())]:
        quotas[label] += 1
    return quotas


def _draw(seed: int, number: int) -> bytes:
    """A sample's place in the lottery."""
    return hashlib.sha256(f"{seed}:{number}".encode()).digest()
