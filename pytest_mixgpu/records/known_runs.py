"""Which runs a ledger has registered and closed so far, in memory that does not grow with it. Imports no torch.

What happened to the latest runs is held in a dictionary. All earlier ones go into a private database in the temporary
folder, which the kernel removes with the process, however it ends.
"""

from types import TracebackType
from typing import TYPE_CHECKING, Self

from pytest_mixgpu.errors import LedgerError

if TYPE_CHECKING:
    import sqlite3

NUM_HELD_RUNS = 4096
"""So many runs are held in memory before they are put away; few ledgers ever have as many."""

CACHE_KIB = 2048
"""What the database may keep in memory."""


class KnownRuns:
    """Remembers of each run whether it was closed; to be used in a `with` block."""

    def __init__(self) -> None:
        self._held: dict[str, bool] = {}
        self._put_away: sqlite3.Connection | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._held.clear()
        if self._put_away is not None:
            self._put_away.close()

    def is_closed(self, run_id: str) -> bool | None:
        """Return whether a run was closed; None where it was never registered."""
        known = self._held.get(run_id)
        if known is not None or self._put_away is None:
            return known
        row = self._put_away.execute("SELECT closed FROM runs WHERE id = ?", (run_id.encode(),)).fetchone()
        return None if row is None else bool(row[0])

    def note(self, run_id: str, *, is_closed: bool) -> None:
        """Remember that a run was registered, or that it was closed.

        Raises:
            LedgerError: there are many and the temporary folder cannot take them.
        """
        self._held[run_id] = is_closed
        if len(self._held) >= NUM_HELD_RUNS:
            self._put_all_away()

    def _put_all_away(self) -> None:
        import sqlite3

        try:
            if self._put_away is None:
                self._put_away = _new_database()
            rows = [(run_id.encode(), is_closed) for run_id, is_closed in self._held.items()]
            self._put_away.execute("BEGIN")
            self._put_away.executemany("INSERT OR REPLACE INTO runs VALUES (?, ?)", rows)
            self._put_away.execute("COMMIT")
        except sqlite3.Error as error:
            raise LedgerError(
                f"a ledger of many runs needs some room in the temporary folder, and found: {error}; make room there, "
                "or set TMPDIR to a folder that has some"
            ) from error
        self._held.clear()


def _new_database() -> "sqlite3.Connection":
    """Open one that has no name: no other process sees it, and nothing of it is left when this one ends."""
    import sqlite3

    database = sqlite3.connect("", isolation_level=None)
    for pragma in ("journal_mode = OFF", "synchronous = OFF", "temp_store = FILE", f"cache_size = -{CACHE_KIB}"):
        database.execute(f"PRAGMA {pragma}")
    database.execute("CREATE TABLE runs (id BLOB PRIMARY KEY, closed INTEGER NOT NULL) WITHOUT ROWID")
    return database
