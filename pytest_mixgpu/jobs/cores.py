"""Cores of this process: from a number of threads to as many cores as there are for it. Linux; imports no torch."""

import contextlib
import os
from collections.abc import Collection, Iterator


@contextlib.contextmanager
def room_for(num_threads: int, cores: Collection[int]) -> Iterator[int]:
    """Let all threads of this process use `cores` too for a while, if its own are fewer than its threads.

    A participant is pinned to the core that it trains on. When it scores with the declared number of threads, these
    would take turns on that one core, while the others lie idle: nobody trains meanwhile.

    Args:
        num_threads: how many are wanted.
        cores: what may be used.

    Yields:
        How many cores there are.
    """
    own = os.sched_getaffinity(0)
    wanted = own | set(cores)
    if num_threads <= len(own) or wanted == own:
        yield len(own)
        return
    _move_all(wanted)
    try:
        yield len(os.sched_getaffinity(0))
    finally:
        _move_all(own)


def _move_all(cores: Collection[int]) -> None:
    """Give these cores to all threads that there are; threads that they start inherit them."""
    for thread in os.listdir("/proc/self/task"):  # noqa: PTH208 - names are all that is needed
        with contextlib.suppress(ProcessLookupError):  # it ended meanwhile
            os.sched_setaffinity(int(thread), cores)
