"""How files lie on disk: from paths to marks that any write changes, whatever it writes. Standard library only.

A process looks once before it loads what it will run, and everything that it forks inherits that look. So a file that
was written after it was loaded is seen, also when it was written back.
"""

from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

PACKAGE = Path(__file__).resolve().parent.parent


class FileMark(NamedTuple):
    """What the file system says of one file. The change time cannot be set back, as the time of modification can."""

    changed_ns: int
    inode: int
    size_bytes: int


def look(paths: Iterable[Path]) -> dict[Path, FileMark]:
    """Return the marks of these files; one that is not there has none."""
    marks = {}
    for path in paths:
        try:
            found = path.stat()
        except OSError:
            continue
        marks[path] = FileMark(changed_ns=found.st_ctime_ns, inode=found.st_ino, size_bytes=found.st_size)
    return marks


@cache
def first_look() -> dict[Path, FileMark]:
    """The marks of all modules of this package, as they were when this process first asked."""
    return look(PACKAGE.rglob("*.py"))
