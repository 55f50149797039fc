"""The page of a job on GitHub: a summary is added to the file that `$GITHUB_STEP_SUMMARY` names.

GitHub takes up to 1,024 KiB a step and drops the whole page of a step that has more, so that what does not fit is cut
here, at the end of a line and with a sentence. Other commands of the same step may have written before us.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Final

VARIABLE: Final = "GITHUB_STEP_SUMMARY"
MAX_BYTES: Final = 1024 * 1024
CUT: Final = "\n**Cut here:** a step's summary takes 1 MiB. The whole of it is in `summary.md` of the report folder.\n"


def add_to_step_summary(path: Path, lines: Iterable[str], *, limit: int = MAX_BYTES) -> bool:
    """Add lines to the file, as far as they fit.

    Args:
        path: of the file; it need not be there yet.
        lines: without their ends.
        limit: bytes that the file may have.

    Returns:
        Whether all of them fitted.

    Raises:
        OSError: the file cannot be written.
    """
    written = path.stat().st_size if path.exists() else 0
    # A file that ends within a line would take ours for the rest of it.
    room = limit - written - 1
    kept, size, is_whole = _fitting(lines, room)
    if not is_whole:
        kept, size, _ = _fitting(kept, room - len(CUT.encode()))
        kept.append(CUT.rstrip("\n"))
        size += len(CUT.encode())
    if kept and size <= room:
        with path.open("a", encoding="utf-8", newline="\n") as file:
            file.write("\n" + "\n".join(kept) + "\n" if written else "\n".join(kept) + "\n")
    return is_whole


def _fitting(lines: Iterable[str], room: int) -> tuple[list[str], int, bool]:
    kept: list[str] = []
    size = 0
    for line in lines:
        length = len(line.encode("utf-8", "backslashreplace")) + 1
        if size + length > room:
            return kept, size, False
        kept.append(line)
        size += length
    return kept, size, True
