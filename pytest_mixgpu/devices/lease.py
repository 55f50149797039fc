"""Exclusive use: from a pool to a `Lease` that no other session on this machine can hold at the same time.

One lock file a device, in a folder that all users of the machine share. The kernel holds the lock, so it falls with
the process that took it. Two containers with folders of their own do not see each other.
"""

import contextlib
import hashlib
import json
import os
import re
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import msgspec
from filelock import FileLock, Timeout

from pytest_mixgpu.devices.inventory import identity
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.errors import DeviceBusyError

FOLDER_NAME: Final = "pytest-mixgpu-leases"
_POLL_S: Final = 0.05
_BLINK_S: Final = 0.25
"""How long a lock may be held by somebody who only looks whether it is free (`busy_ids`)."""


class Holder(msgspec.Struct, frozen=True, kw_only=True):
    """Who has a device, as it said itself. For people; the lock alone decides."""

    pid: int
    holder: str
    """What the lease is for."""
    command: str
    since: str
    """UTC, ISO 8601."""


class Lease:
    """Devices held until this is released or the process ends, however it ends."""

    def __init__(self, pool: Pool, locks: tuple[FileLock, ...], *, leased_at: float) -> None:
        self.pool = pool
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
        _give_back(locks)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


def lease_folder() -> Path:
    """The folder that all users of this machine share; it is made when first needed.

    `TMPDIR` has no say where it can be helped: sessions with different ones must meet.
    """
    shared = Path("/tmp")  # noqa: S108 - the same for everybody is the point; a link or a file there is refused
    return (shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())) / FOLDER_NAME


def lease(
    pool: Pool,
    *,
    folder: Path | None = None,
    wait_s: float = 0,
    holder: str,
    on_wait: Callable[[str], None] | None = None,
) -> Lease:
    """Take devices for this process alone.

    Args:
        pool: the devices. All are taken, or none.
        folder: where the lock files lie; None is the folder that all users of the machine share.
        wait_s: how long to wait for a device that somebody else holds; 0 refuses after a blink.
        holder: what the lease is for, shown to whoever finds the device busy.
        on_wait: told once, in a sentence, what is waited for.

    Raises:
        DeviceBusyError: a device is held by somebody else, or its lock file cannot be opened.
    """
    place = _prepare(lease_folder() if folder is None else folder)
    deadline_s = time.monotonic() + wait_s
    locks: list[FileLock] = []
    try:
        # In one order, so that two sessions that want the same devices never wait for each other.
        for device in sorted(pool.devices, key=lambda device: device.id):
            locks.append(_take(device, place, deadline_s=deadline_s, on_wait=on_wait))
            _say(place, device, holder)
    except BaseException:
        _give_back(locks)
        raise
    return Lease(pool, tuple(locks), leased_at=time.monotonic())


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
        if not path.exists():
            continue
        try:
            with _lock(path).acquire(timeout=0):
                pass
        except (Timeout, OSError):
            busy.add(device.id)
    return frozenset(busy)


def lock_path(folder: Path, device: Device) -> Path:
    """The lock file of a device: its id made safe for a file name, with a digest that keeps two ids apart."""
    safe = re.sub(r"[^A-Za-z0-9.-]+", "_", device.id)[:80].strip("._")
    return folder / f"{safe}-{hashlib.sha256(device.id.encode()).hexdigest()[:12]}.lock"


def _take(device: Device, folder: Path, *, deadline_s: float, on_wait: Callable[[str], None] | None) -> FileLock:
    path = lock_path(folder, device)
    lock = _lock(path)
    try:
        with contextlib.suppress(Timeout):
            lock.acquire(timeout=_BLINK_S, poll_interval=_POLL_S)
            return lock
        left_s = deadline_s - time.monotonic()
        if left_s > 0:
            if on_wait is not None:
                on_wait(f"waiting up to {left_s:.0f} s for {device.id}: {_who(path)}")
            with contextlib.suppress(Timeout):
                lock.acquire(timeout=left_s, poll_interval=_POLL_S)
                return lock
    except OSError as error:
        raise DeviceBusyError(
            f"The lock of {device.id} cannot be taken: {error}. If {path} is left over from another user, remove it."
        ) from error
    raise DeviceBusyError(
        f"{device.id} ({device.kind}: {identity(device)}) on {device.host} is leased: {_who(path)}. "
        "Wait for it with --mixgpu-wait=SECONDS, or ask for other devices."
    )


def _lock(path: Path) -> FileLock:
    # Any user may lock any device; any thread may give it back.
    return FileLock(path, mode=0o666, thread_local=False)


def _prepare(folder: Path) -> Path:
    """Make the folder usable by all users.

    It has no sticky bit: with one, the kernel forbids opening another user's lock file for writing
    (`fs.protected_regular`), and the second user could never lease what the first one leased before.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        state = folder.lstat()
        if state.st_uid == os.geteuid() and stat.S_ISDIR(state.st_mode) and stat.S_IMODE(state.st_mode) != 0o777:
            folder.chmod(0o777)
    except OSError as error:
        raise DeviceBusyError(f"Leases need the folder {folder}, which cannot be made: {error}.") from error
    if not stat.S_ISDIR(state.st_mode):
        raise DeviceBusyError(f"Leases need a folder at {folder}, and something else is there: remove it.")
    return folder


def _say(folder: Path, device: Device, holder: str) -> None:
    """Leave word of who holds it, beside the lock: the lock file itself is cut by whoever tries to take it."""
    word = Holder(
        pid=os.getpid(),
        holder=holder,
        command=_command(),
        since=datetime.now(UTC).isoformat(timespec="seconds"),
    )
    path = lock_path(folder, device).with_suffix(".json")
    # It serves messages only: a folder that is full or another user's file must not keep the device from being used.
    with contextlib.suppress(OSError):
        handle, name = tempfile.mkstemp(dir=folder, prefix=".holder-")
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.encode(word))
        Path(name).chmod(0o644)
        Path(name).replace(path)


def _give_back(locks: Sequence[FileLock]) -> None:
    for lock in reversed(locks):
        # While the lock is ours the word is ours too; afterwards it may be the next holder's.
        with contextlib.suppress(OSError):
            Path(lock.lock_file).with_suffix(".json").unlink()
        lock.release(force=True)


def _who(path: Path) -> str:
    """Say who holds a device, if the word that was left still fits."""
    try:
        word = msgspec.convert(json.loads(path.with_suffix(".json").read_bytes()), Holder)
    except (OSError, ValueError, msgspec.ValidationError):
        return "its holder left no word"
    if not Path(f"/proc/{word.pid}").exists():
        return f"its holder left no word (process {word.pid}, the last one that did, is gone)"
    return f"held by process {word.pid} since {word.since} for {word.holder} ({word.command})"


def _command() -> str:
    """The program alone: arguments can hold what is nobody's business."""
    return Path(sys.argv[0] if sys.argv and sys.argv[0] else sys.executable).name
