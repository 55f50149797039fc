"""Exclusive use: from a pool to a `Lease` that no other session on this machine can hold at the same time.

One lock file a device, in a folder that all users of the machine share. The kernel holds the lock, so it falls with
the process that took it. Two containers with folders of their own do not see each other.

All devices of a pool are taken at one moment or none, so that nobody holds a part while waiting for the rest. Those who
wait for one kind form a line: its head chooses, and what becomes free meanwhile stays free for it. Nobody waits in a
line while holding devices, and lines are taken in one order: so no two can wait for each other.
"""

import contextlib
import os
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self

from filelock import FileLock, Timeout

from pytest_mixgpu.devices.alike import stand_ins
from pytest_mixgpu.devices.holder import leave_word, myself, take_word_back, who_holds
from pytest_mixgpu.devices.inventory import identity
from pytest_mixgpu.devices.lease_folder import lease_folder, lock_path, open_lock, prepare, queue_path
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.patience import Patience, Who, holders_text
from pytest_mixgpu.errors import DeviceBusyError

__all__ = ["Lease", "busy_ids", "lease", "lease_folder", "lock_path"]


class Lease:
    """Devices held until this is released or the process ends, however it ends."""

    def __init__(self, pool: Pool, locks: tuple[FileLock, ...], *, leased_at: float) -> None:
        self.pool = pool
        """What was leased, in the order of the pool that was asked for."""
        self.leased_at = leased_at
        """On `time.monotonic()`'s clock."""
        self._locks = locks

    @property
    def is_held(self) -> bool:
        """Whether the devices are still ours."""
        return bool(self._locks)

    def release(self) -> None:
        """Give the devices back; a second call does nothing."""
        locks, self._locks = self._locks, ()
        for lock in reversed(locks):
            take_word_back(Path(lock.lock_file))
            lock.release(force=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lease(  # noqa: PLR0913 - each is a part of who asks for what
    pool: Pool,
    *,
    holder: str,
    folder: Path | None = None,
    wait_s: float = 0,
    on_wait: Callable[[str], None] | None = None,
    others: Sequence[Device] = (),
    session: str = "",
    siblings_wait_s: float = 0,
) -> Lease:
    """Take devices for this process alone.

    Args:
        pool: the devices. All are taken, or none.
        holder: what the lease is for, shown to whoever finds the device busy.
        folder: where the lock files lie; None is the folder that all users of the machine share.
        wait_s: how long to wait for devices that a stranger holds; 0 refuses after a blink.
        on_wait: told in a sentence what is waited for: at first, when that changes, and about every 30 s.
        others: devices of which one of the same exact part may serve in place of a busy one; those of the pool may be
            among them.
        session: of pytest; its processes are siblings.
        siblings_wait_s: how long to wait for devices that siblings hold.

    Raises:
        DeviceBusyError: devices are held by somebody else, each holder is named; or a lock file cannot be opened.
    """
    place = prepare(lease_folder() if folder is None else folder)
    slots = [stand_ins(device, others) for device in pool.devices]
    patience = Patience(wait_s=wait_s, session=session, siblings_wait_s=siblings_wait_s, on_wait=on_wait)
    with _in_line(pool, place, patience, holder=holder, session=session):
        patience.renewed_blink()
        while True:
            taken = _take(slots, place)
            try:
                if len(taken) == len(slots):
                    word = myself(holder=holder, session=session)
                    for _, lock in taken.values():
                        leave_word(Path(lock.lock_file), word)
                    chosen = Pool(devices=tuple(taken[index][0] for index in range(len(slots))))
                    locks = tuple(lock for _, lock in taken.values())
                    return Lease(chosen, locks, leased_at=time.monotonic())
            except BaseException:
                _release(taken)
                raise
            _release(taken)
            _wait(pool, slots, taken, place, patience)


def busy_ids(pool: Pool, *, folder: Path | None = None) -> frozenset[str]:
    """Ids of the devices that somebody holds now; by the time they are asked for it may have changed.

    Args:
        pool: the devices to look at.
        folder: as in `lease`.
    """
    place = lease_folder() if folder is None else folder
    busy: set[str] = set()
    for device in pool.devices:
        path = lock_path(place, device)
        if not path.exists() and not path.is_symlink():
            continue
        try:
            with open_lock(path).acquire(timeout=0):
                pass
        except (Timeout, OSError, DeviceBusyError):
            busy.add(device.id)
    return frozenset(busy)


def holders(pool: Pool, *, folder: Path | None = None) -> dict[str, str]:
    """Say of each device that is leased now by whom.

    Args:
        pool: the devices to look at.
        folder: as in `lease`.
    """
    place = lease_folder() if folder is None else folder
    busy = busy_ids(pool, folder=place)
    return {device.id: who_holds(lock_path(place, device)) for device in pool.devices if device.id in busy}


_Taken = dict[int, tuple[Device, FileLock]]


def _take(slots: Sequence[Sequence[Device]], folder: Path) -> _Taken:
    """Take what is free, by slot: each slot's own device first, then whatever else may serve."""
    taken: _Taken = {}
    tried: set[str] = set()
    # In one order, so that of two who want the same at least one gets it.
    order = sorted(range(len(slots)), key=lambda index: slots[index][0].id)
    try:
        own = [(place, slots[place][0]) for place in order]
        for index, device in own + [(place, other) for place in order for other in slots[place][1:]]:
            if index in taken or device.id in tried:
                continue
            tried.add(device.id)
            lock = _try_lock(lock_path(folder, device), device.id)
            if lock is not None:
                taken[index] = (device, lock)
    except BaseException:
        _release(taken)
        raise
    return taken


def _release(taken: _Taken) -> None:
    for _, lock in taken.values():
        lock.release(force=True)
    # The slots stay: they say what was free.


def _try_lock(path: Path, name: str) -> FileLock | None:
    lock = open_lock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        return None
    except OSError as error:
        raise DeviceBusyError(
            f"The lock of {name} cannot be taken: {error}. If {path} is left over from another user, remove it."
        ) from error
    # Who clears old files away goes by their time of change: a lock that is removed while it is held locks nobody out.
    with contextlib.suppress(OSError):
        os.utime(path, follow_symlinks=False)
    return lock


def _wait(pool: Pool, slots: Sequence[Sequence[Device]], taken: _Taken, folder: Path, patience: Patience) -> None:
    """Wait a moment for devices that are missing.

    Raises:
        DeviceBusyError: the time is over.
    """
    free = {device.id for device, _ in taken.values()}
    missing = Counter(slots[index][0].kind for index in range(len(slots)) if index not in taken)
    busy = {
        device.id: device
        for index, slot in enumerate(slots)
        if index not in taken
        for device in slot
        if device.id not in free
    }
    paths = {device.id: lock_path(folder, device) for device in busy.values()}
    of_whom: dict[Who, Counter[str]] = {"sibling": Counter(), "unknown": Counter(), "stranger": Counter()}
    for device in busy.values():
        of_whom[patience.who(paths[device.id])][device.kind] += 1
    # Where siblings hold enough, what strangers do with the rest is no matter.
    whom: Who = "stranger"
    if missing <= of_whom["sibling"]:
        whom = "sibling"
    elif missing <= of_whom["sibling"] + of_whom["unknown"]:
        whom = "unknown"
    if patience.wait(whom, what=", ".join(_some(busy)), why=lambda: holders_text(paths)):
        return
    named = {
        f"{device.id} ({device.kind}: {identity(device)}) on {device.host}": paths[id_] for id_, device in busy.items()
    }
    raise DeviceBusyError(
        f"{pool.spec} was asked for, and too much of what fits is leased. {holders_text(named)}. "
        "Wait for it with --mixgpu-wait=SECONDS, or ask for other devices."
    )


def _some(busy: dict[str, Device]) -> list[str]:
    names = list(busy)
    return names if len(names) <= 1 else [f"one or more of {len(names)} devices"]


@contextmanager
def _in_line(pool: Pool, folder: Path, patience: Patience, *, holder: str, session: str) -> Iterator[None]:
    """Stand at the head of the line of every kind that is asked for; who has no time for strangers goes past them."""
    kinds = {"cpu" if device.vendor == "cpu" else device.kind for device in pool.devices}
    held: list[FileLock] = []
    try:
        for kind in sorted(kinds):
            path = queue_path(folder, kind)
            lock = _try_lock(path, f"the line for {kind}")
            while lock is None:
                whom = patience.who(path)
                what = f"the head of the line for {kind}"
                if not patience.wait(whom, what=what, why=lambda path=path: who_holds(path)):  # type: ignore[misc]
                    break
                lock = _try_lock(path, f"the line for {kind}")
            if lock is not None:
                held.append(lock)
                leave_word(path, myself(holder=f"{holder}, in line for {kind}", session=session))
        yield
    finally:
        for lock in reversed(held):
            take_word_back(Path(lock.lock_file))
            lock.release(force=True)
