"""Files that are written piece by piece, and still appear whole or not at all."""

import os
import tempfile
from collections.abc import Iterable
from pathlib import Path

_BUFFER_BYTES = 1 << 20


def replace_stream(path: Path, pieces: Iterable[str]) -> None:
    """Write pieces under a name of their own beside the target, then move the file there in one step.

    Memory does not grow with the number of pieces.

    Args:
        path: the target; its folder is made.
        pieces: text that UTF-8 can hold.

    Raises:
        OSError: the folder cannot be made or written.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n", buffering=_BUFFER_BYTES) as file:
            file.writelines(pieces)
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
