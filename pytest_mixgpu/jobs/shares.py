"""Shares: from a round's steps to the local steps of each participant. Pure arithmetic."""

from collections.abc import Sequence

from pytest_mixgpu.errors import PlanError


def equal_shares(round_steps: int, num_participants: int) -> tuple[int, ...]:
    """Split a round's steps as evenly as whole steps allow; the first ones take what is left over.

    Raises:
        PlanError: there are fewer steps than participants.
    """
    _check(round_steps, num_participants)
    each, left = divmod(round_steps, num_participants)
    return tuple(each + (index < left) for index in range(num_participants))


def speed_shares(round_steps: int, rates_per_s: Sequence[float]) -> tuple[int, ...]:
    """Split a round's steps in proportion to measured solo speed, so that all come to their end together.

    Whole steps are dealt by the largest remainder, ties to the first; whoever would get none gets one of the largest.

    Raises:
        PlanError: there are fewer steps than participants, or a rate is not a positive number.
    """
    _check(round_steps, len(rates_per_s))
    if not all(0 < rate < float("inf") for rate in rates_per_s):
        raise PlanError(
            f"shares by speed need a positive solo rate of every participant, found {list(rates_per_s)}: "
            "measure the baseline on each kind first"
        )
    total = sum(rates_per_s)
    ideal = [round_steps * rate / total for rate in rates_per_s]
    shares = [int(part) for part in ideal]
    by_remainder = sorted(range(len(ideal)), key=lambda index: (shares[index] - ideal[index], index))
    for index in by_remainder[: round_steps - sum(shares)]:
        shares[index] += 1
    while 0 in shares:
        shares[shares.index(max(shares))] -= 1
        shares[shares.index(0)] += 1
    return tuple(shares)


def _check(round_steps: int, num_participants: int) -> None:
    if num_participants < 1 or round_steps < num_participants:
        raise PlanError(
            f"settings.round_steps is {round_steps} for {num_participants} participants: "
            "every participant needs at least one step a round"
        )
