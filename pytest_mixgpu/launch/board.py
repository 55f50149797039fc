"""A worker's sign of life: (round, phase) and a heartbeat on one page of shared memory. Imports no torch.

Shared memory rather than messages: what a worker did last stays readable after SIGKILL, it costs the supervisor no
wake-up in the middle of a measured round, and CLOCK_MONOTONIC is the same for both sides. One byte goes the other way:
the supervisor's word that the run is over, which is there before any worker can have left because of it.
"""

import mmap
import os
import struct
import threading
import time

import msgspec

PAGE_BYTES = 4096

_BEAT = struct.Struct("<d")
_SLOT = struct.Struct("<dqBB110s")
_ACTIVE_OFFSET = 8
_OVER_OFFSET = 64
_SLOT_OFFSETS = (128, 256)
_NO_ROUND = -1


class Status(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker last said of itself."""

    phase: str
    round_index: int | None
    since_s: float
    """Instant of the last change, on CLOCK_MONOTONIC."""
    awaits_supervisor: bool
    """Whether it waits for a word of the supervisor."""


class Board:
    """One page that a worker writes and its supervisor reads, but for the end of the run, which the supervisor writes.

    Args:
        fd: a memory file of `PAGE_BYTES`, from `open_page`; it may be closed afterwards.
    """

    def __init__(self, fd: int) -> None:
        self._page = mmap.mmap(fd, PAGE_BYTES)
        self._lock = threading.Lock()
        self._phase, self._round_index, self._awaits = "start", _NO_ROUND, False

    @staticmethod
    def open_page() -> int:
        """Make the memory file and return its descriptor."""
        fd = os.memfd_create("mixgpu-board", os.MFD_CLOEXEC)
        os.truncate(fd, PAGE_BYTES)
        return fd

    def beat(self) -> None:
        """Show that the process lives."""
        _BEAT.pack_into(self._page, 0, time.monotonic())

    def write(self, *, phase: str, round_index: int | None) -> None:
        """Say what is done now."""
        self._phase, self._round_index = phase, _NO_ROUND if round_index is None else round_index
        self._put()

    def await_supervisor(self, *, waiting: bool) -> None:
        """Say whether it is the supervisor's turn."""
        self._awaits = waiting
        self._put()

    def _put(self) -> None:
        # The other slot is filled first and then declared the valid one: a kill in between tears nothing.
        with self._lock:
            other = 1 - self._page[_ACTIVE_OFFSET]
            text = self._phase.encode()[:110]
            _SLOT.pack_into(
                self._page, _SLOT_OFFSETS[other], time.monotonic(), self._round_index, self._awaits, len(text), text
            )
            self._page[_ACTIVE_OFFSET] = other

    @property
    def beat_s(self) -> float | None:
        """Instant of the last heartbeat; None before the first."""
        instant: float = _BEAT.unpack_from(self._page, 0)[0]
        return instant or None

    def read(self) -> Status | None:
        """What the worker last said; None before its first word."""
        since_s, round_index, awaits, length, text = _SLOT.unpack_from(
            self._page, _SLOT_OFFSETS[self._page[_ACTIVE_OFFSET]]
        )
        if not since_s:
            return None
        return Status(
            phase=text[:length].decode(errors="replace"),
            round_index=None if round_index == _NO_ROUND else round_index,
            since_s=since_s,
            awaits_supervisor=bool(awaits),
        )

    def declare_over(self) -> None:
        """Say, as the supervisor, that the run is over and that workers leave from now on."""
        self._page[_OVER_OFFSET] = 1

    @property
    def is_over(self) -> bool:
        """Whether the supervisor has ended the run in order."""
        return bool(self._page[_OVER_OFFSET])

    def close(self) -> None:
        """Unmap the page."""
        self._page.close()
