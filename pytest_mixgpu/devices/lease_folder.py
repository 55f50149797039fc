"""The folder of the locks: from a path to a place that all who must not collide can use, or an error that says why not.

One lock file a device. Others can write there too: a link, a second name of a file elsewhere or anything else that is
no plain file is refused and never opened.
"""

import hashlib
import os
import re
import stat
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from filelock import FileLock

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.errors import DeviceBusyError

FOLDER_NAME: Final = "pytest-mixgpu-leases"
VARIABLE: Final = "MIXGPU_LEASES"
"""Names the folder where no flag does: for schedulers, which set it for all jobs of a host."""

_FOR_ALL: Final = 0o777


def lease_folder(environ: Mapping[str, str] = os.environ) -> Path:
    """The folder that all users of this machine share; it is made when first needed.

    `MIXGPU_LEASES` names another one. `TMPDIR` has no say where it can be helped: sessions with different ones must
    meet.

    Args:
        environ: the caller's variables.
    """
    named = environ.get(VARIABLE, "")
    if named:
        return Path(named).absolute()
    shared = Path("/tmp")  # noqa: S108 - the same for everybody is the point; a link or a file there is refused
    return (shared if os.access(shared, os.W_OK) else Path(tempfile.gettempdir())) / FOLDER_NAME


def prepare(folder: Path) -> Path:
    """Make sure that the folder is there; one that is made here is open to all users.

    It gets no sticky bit: with one, the kernel forbids opening another user's lock file for writing
    (`fs.protected_regular`), and the second user could never lease what the first one leased before. A folder that
    was there before keeps its mode, unless it is ours under our own name, from a session that ended while it made it.

    Raises:
        DeviceBusyError: it cannot be made or used, or is no folder.
    """
    try:
        is_new = _make(folder)
        state = folder.lstat()
        is_plain = stat.S_ISDIR(state.st_mode)
        if is_plain and state.st_uid == os.geteuid() and (is_new or folder.name == FOLDER_NAME):
            folder.chmod(_FOR_ALL)
    except OSError as error:
        raise DeviceBusyError(f"Leases need the folder {folder}, which cannot be made: {error}.") from error
    if not is_plain:
        what = "a link" if stat.S_ISLNK(state.st_mode) else "a file"
        raise DeviceBusyError(
            f"Leases need a folder at {folder}, and something else is there ({what}): remove it, or name another "
            f"folder with --mixgpu-leases=DIR or {VARIABLE}."
        )
    if not os.access(folder, os.W_OK | os.X_OK):
        raise DeviceBusyError(
            f"Leases need to write into {folder}, which user {os.geteuid()} may not (mode "
            f"{stat.S_IMODE(state.st_mode):04o}, owner {state.st_uid}): open it with chmod 0777 for all who use these "
            f"devices, or let all of them name another folder with --mixgpu-leases=DIR or {VARIABLE}."
        )
    return folder


def narrowness(folder: Path) -> str:
    """Say for whom a folder of leases is not: those users never meet ours. Empty if it is open to all.

    Args:
        folder: one that is prepared.
    """
    mode = stat.S_IMODE(folder.lstat().st_mode)
    if mode & stat.S_ISVTX:
        return (
            f"the lease folder {folder} has the sticky bit ({mode:04o}): a device that one user leased once, no other "
            "user can lease; chmod 0777 it"
        )
    closed = [place for place in folder.parents if not place.stat().st_mode & stat.S_IXOTH]
    if mode & 0o007 == 0o007 and not closed:
        return ""
    where = f"{folder} ({mode:04o})" if mode & 0o007 != 0o007 else f"{folder} (below {closed[0]})"
    return f"the lease folder {where} is not open to all users: who cannot write there does not see these leases"


def lock_path(folder: Path, device: Device) -> Path:
    """The lock file of a device: its id made safe for a file name, with a digest that keeps two ids apart."""
    safe = re.sub(r"[^A-Za-z0-9.-]+", "_", device.id)[:80].strip("._")
    return folder / f"{safe}-{hashlib.sha256(device.id.encode()).hexdigest()[:12]}.lock"


def queue_path(folder: Path, kind: str) -> Path:
    """The lock file of those who wait for devices of one kind: one of them chooses at a time."""
    return folder / f"queue-{re.sub(r'[^A-Za-z0-9.-]+', '_', kind)[:80]}.lock"


def open_lock(path: Path) -> FileLock:
    """A lock that any user may take and any thread may give back.

    Raises:
        DeviceBusyError: something is there that is not to be opened.
    """
    try:
        state = path.lstat()
    except FileNotFoundError:
        state = None
    # The lock itself follows no link either: what is put there after this look is an error, too.
    if state is not None and (not stat.S_ISREG(state.st_mode) or state.st_nlink != 1):
        raise DeviceBusyError(
            f"The lock file {path} is a link or no plain file (owner {state.st_uid}), and is not opened: nobody here "
            "makes such a thing. Remove it, and ask its owner."
        )
    # A filesystem without such locks is an error: a mere file would outlive its holder.
    return FileLock(path, mode=0o666, thread_local=False, fallback_to_soft=False)


def _make(folder: Path) -> bool:
    """Make it if it is not there; say whether it was made here."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        return False
    return True
