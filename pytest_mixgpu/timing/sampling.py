"""Warm-up, then samples: from a piece of work to its durations. Imports no torch; the clock knows the device."""

from collections.abc import Callable, Sequence

from pytest_mixgpu.timing.clocks import Clock, WallClock
from pytest_mixgpu.timing.model import Samples


def take_samples(  # noqa: PLR0913 - each is a property of the sample
    work: Callable[[], object],
    *,
    name: str,
    num_warmups: int,
    num_samples: int,
    clock: Clock | None = None,
    devices: Sequence[str] = (),
    kinds: Sequence[str] = (),
    prepare: Callable[[], object] | None = None,
) -> Samples:
    """Do the work again and again and time each go; warm-ups are kept beside the samples.

    Args:
        work: what is timed.
        name: what it is called in reports.
        num_warmups: how often it is done before a duration counts.
        num_samples: how many durations count; at least 1.
        clock: what time is taken with; the wall clock if not given.
        devices: ids of the devices that do the work.
        kinds: their kinds, in the same order.
        prepare: done before each go and not timed.

    Raises:
        ValueError: fewer than one sample or a negative number of warm-ups is asked for.
    """
    if num_samples < 1 or num_warmups < 0:
        raise ValueError(
            f"{name!r} asks for {num_samples} samples after {num_warmups} warm-ups: "
            "at least 1 sample and no negative number of warm-ups can be taken"
        )
    chosen = clock if clock is not None else WallClock()
    durations_s = tuple(_time_once(work, chosen, prepare) for _ in range(num_warmups + num_samples))
    return Samples(
        name=name,
        values_s=durations_s[num_warmups:],
        warmups_s=durations_s[:num_warmups],
        clock=chosen.name,
        devices=tuple(devices),
        kinds=tuple(kinds),
    )


def _time_once(work: Callable[[], object], clock: Clock, prepare: Callable[[], object] | None) -> float:
    if prepare is not None:
        prepare()
    start_s = clock.now_s()
    work()
    return clock.now_s() - start_s
