"""Files that appear whole or not at all: a reader meanwhile sees the old one or the new one, never half of either."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

_BUFFER_BYTES = 1 << 20


def replace_file(path: Path, content: bytes) -> None:
    """Write a file of bytes.

    Args:
        path: the target; its folder is made.
        content: all of it.

    Raises:
        OSError: the folder cannot be made or written.
    """
    _replace(path, (content,))


def replace_stream(path: Path, pieces: Iterable[str]) -> None:
    """Write a file of text piece by piece: memory does not grow with their number.

    Args:
        path: the target; its folder is made.
        pieces: text that UTF-8 can hold.

    Raises:
        OSError: the folder cannot be made or written.
    """
    _replace(path, (piece.encode() for piece in pieces))


def _replace(path: Path, pieces: Iterable[bytes]) -> None:
    """Write under a name of its own beside the target, then move it there in one step."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "wb", buffering=_BUFFER_BYTES) as file:
            file.writelines(pieces)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
