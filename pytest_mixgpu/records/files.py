"""How files are opened, told apart and made to last: from paths and bytes to what the disk holds. Imports no torch."""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

CHUNK_BYTES = 1 << 16


@contextmanager
def opened(path: Path) -> Iterator[BinaryIO | None]:
    """Open a file for reading; None where there is none.

    Raises:
        OSError: it cannot be read, or something else than a file is there. A link is something else: whoever came by
            its other name would hold another lock.
    """
    try:
        # A pipe in its place must not make anybody wait for a writer.
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        yield None
        return
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise OSError("found a link in its place, expected a file") from error
        raise
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise OSError("found something else than a file in its place, expected a file")
    with open(handle, "rb", buffering=CHUNK_BYTES) as file:  # noqa: PTH123 - it is open already
        yield file


def write_all(handle: int, raw: bytes) -> None:
    """Write all bytes to a file descriptor, however many calls that takes."""
    view = memoryview(raw)
    while view:
        view = view[os.write(handle, view) :]


def sync_folder(folder: Path) -> None:
    """Have the disk hold the names of the files in a folder."""
    handle = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def state_of(path: Path) -> tuple[int, ...]:
    """Return what changes when anybody writes to a file or puts another in its place."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return ()
    return (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
