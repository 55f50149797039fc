"""Exclusive use of devices by this session: from a pool to a lease, taken once however often it is asked for."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_mixgpu.devices.lease import lease
from pytest_mixgpu.devices.model import Pool
from pytest_mixgpu.errors import DeviceBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

SIBLINGS_WAIT_S = 3600.0
"""How long a worker of xdist waits for its siblings, which use the same devices in turn."""


class Holding:
    """Takes and returns leases; a device that this process holds already is not asked for again.

    Args:
        wait_s: how long to wait for a device that somebody else holds.
        say: told what is waited for.
    """

    def __init__(self, *, wait_s: float, say: Callable[[str], None]) -> None:
        self._wait_s = wait_s
        self._say = say
        self._held: set[str] = set()

    @contextmanager
    def hold(self, pool: Pool, *, what_for: str) -> Iterator[None]:
        """Hold these devices until the block ends.

        Raises:
            DeviceBusyError: somebody else holds one; it names the holder.
        """
        fresh = {device.id: device for device in pool.devices if device.id not in self._held}
        if not fresh:
            yield
            return
        try:
            taken = lease(
                Pool(devices=tuple(fresh.values())),
                wait_s=self._wait_s,
                holder=f"{what_for}, pytest {os.getpid()}",
                on_wait=self._say,
            )
        except DeviceBusyError as error:
            raise DeviceBusyError(f"waited {self._wait_s:g} s: {error}" if self._wait_s else str(error)) from error
        with taken:
            self._held |= fresh.keys()
            try:
                yield
            finally:
                self._held -= fresh.keys()
