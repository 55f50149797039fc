"""Which repeat comes next: from a ledger's entries to a number. Pure; imports no pytest.

A repeat is done once its run was completed; a failed attempt is made again under its own number, and the judge counts
it all the same. The runs of the speed group belong to one session: a fleet whose bracket is open is no repeat.
"""

from collections.abc import Iterable, Sequence

from pytest_mixgpu.records.ledger import LedgerEntry

BRACKET = frozenset({"before", "after"})
"""Legs of the baseline that close a bracket around the fleet."""


def first_open_repeat(entries: Iterable[LedgerEntry], name: str) -> int:
    """The least repeat of a role that no completed run has."""
    # A measurement of solo speed bears the name of the role that it serves, and a leg of its own.
    done = {entry.repeat for entry in entries if entry.name == name and not entry.leg and _is_completed(entry)}
    return _least_missing(done)


def first_open_bracket(entries: Sequence[LedgerEntry]) -> int:
    """The least repeat for which no session completed a fleet and both ends of its bracket."""
    done = set()
    for fleet in entries:
        if fleet.role != "fleet" or not _is_completed(fleet):
            continue
        legs = {
            entry.leg
            for entry in entries
            if entry.role == "baseline"
            and _is_completed(entry)
            and (entry.session, entry.repeat) == (fleet.session, fleet.repeat)
        }
        if legs >= BRACKET:
            done.add(fleet.repeat)
    return _least_missing(done)


def _is_completed(entry: LedgerEntry) -> bool:
    return entry.event == "close" and entry.status == "completed"


def _least_missing(done: set[int | None]) -> int:
    return next(index for index in range(len(done) + 1) if index not in done)
