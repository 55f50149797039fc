"""Exclusive use of devices by this session: from a pool to a lease, taken once however often it is asked for."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pytest_mixgpu.devices.alike import stand_ins
from pytest_mixgpu.devices.lease import lease, lease_folder
from pytest_mixgpu.devices.lease_folder import narrowness, prepare
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.errors import DeviceBusyError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

    from pytest_mixgpu.devices.lease import Lease
    from pytest_mixgpu.launch.ray_cluster import ClusterLease

SIBLINGS_WAIT_S = 3600.0
"""How long a worker of xdist waits for its siblings, which use the same devices in turn."""


class Holding:
    """Takes and returns leases; a device that this process holds already is not asked for again.

    Args:
        wait_s: how long to wait for a device that somebody else holds.
        siblings_wait_s: how long to wait for one that another worker of this session holds.
        session: of pytest, the same for all its workers.
        folder: of the locks; None is the one that all users share.
        others: what is here: one of the same exact part serves in place of a device that is busy.
        take: leases devices, with the arguments of `lease`; a cluster does so on their nodes.
        say: told what is waited for.
    """

    def __init__(  # noqa: PLR0913 - each is a part of who asks
        self,
        *,
        wait_s: float,
        siblings_wait_s: float = 0.0,
        session: str = "",
        folder: Path | None = None,
        others: Callable[[], Sequence[Device]] = tuple,
        take: Callable[..., Lease | ClusterLease] = lease,
        say: Callable[[str], None],
    ) -> None:
        self._wait_s = wait_s
        self._siblings_wait_s = siblings_wait_s
        self._session = session
        self._folder = folder
        self._others = others
        self._take = take
        self._say = say
        self._held: dict[str, Device] = {}
        self._told_of_folder = False

    @contextmanager
    def hold(self, pool: Pool, *, what_for: str) -> Iterator[Pool]:
        """Hold these devices, or others of the same exact parts where these are busy, until the block ends.

        Devices that this process holds serve first. Where these do not suffice, the rest is not waited for: two that
        hold something and wait for more could wait for each other.

        Yields:
            What is held, in the order of the pool.

        Raises:
            DeviceBusyError: somebody else holds too many; it names the holders.
        """
        self._tell_of_folder()
        mine = self._served_by_mine(pool)
        fresh = tuple(device for index, device in enumerate(pool.devices) if index not in mine)
        if not fresh:
            yield Pool(devices=tuple(mine[index] for index in range(len(pool))))
            return
        wait_s, siblings_wait_s = (0.0, 0.0) if self._held else (self._wait_s, self._siblings_wait_s)
        taken_ids = self._held.keys()
        try:
            taken = self._take(
                Pool(devices=fresh),
                folder=self._folder,
                wait_s=wait_s,
                holder=f"{what_for}, pytest {os.getpid()}",
                on_wait=self._say,
                others=[device for device in self._others() if device.id not in taken_ids],
                session=self._session,
                siblings_wait_s=siblings_wait_s,
            )
        except DeviceBusyError as error:
            raise DeviceBusyError(f"waited {wait_s:g} s: {error}" if wait_s else str(error)) from error
        with taken:
            new = {device.id: device for device in taken.pool.devices}
            self._held |= new
            rest = iter(taken.pool.devices)
            try:
                yield Pool(devices=tuple(mine.get(index) or next(rest) for index in range(len(pool))))
            finally:
                for id_ in new:
                    del self._held[id_]

    def _served_by_mine(self, pool: Pool) -> dict[int, Device]:
        """Devices that are held already, by their place in the pool: the very ones first, then the same exact parts."""
        served = {index: device for index, device in enumerate(pool.devices) if device.id in self._held}
        used = {device.id for device in served.values()}
        for index, device in enumerate(pool.devices):
            free = (
                mine for mine in stand_ins(device, tuple(self._held.values())) if mine.id in self._held.keys() - used
            )
            mine = None if index in served else next(free, None)
            if mine is not None:
                served[index] = mine
                used.add(mine.id)
        return served

    def _tell_of_folder(self) -> None:
        if self._told_of_folder:
            return
        self._told_of_folder = True
        narrow = narrowness(prepare(lease_folder() if self._folder is None else self._folder))
        if narrow:
            self._say(narrow)
