"""What the ledger registered: from its entries to the runs of a stage and the session that is judged. Pure.

Which runs are of this experiment is read from the ledger alone. A record says the same of itself, and who could choose
by the record could make a run vanish by editing it.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

import msgspec

from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.store import entry_for


class Choice(msgspec.Struct, frozen=True, kw_only=True):
    """Which session of several is judged."""

    session: str = ""
    said: tuple[str, ...] = ()
    """A sentence that names it and the newer ones that are not judged; none where nothing was chosen."""


def entries_of(records: Sequence[RunRecord]) -> tuple[LedgerEntry, ...]:
    """Return the entries that these records would have in a ledger: for records that come without one."""
    found: list[LedgerEntry] = []
    for run in records:
        found.append(entry_for(run.header, at=run.header.registered_at))
        if run.outcome is not None:
            found.append(entry_for(run.header, record=run, at=run.outcome.finished_at))
    return tuple(found)


def registrations(entries: Iterable[LedgerEntry], suite: str, *, rehearsal: bool) -> tuple[LedgerEntry, ...]:
    """Return the registrations of a suite's runs, of the experiment itself or of its rehearsals."""
    return tuple(
        entry
        for entry in entries
        if entry.event == "register" and entry.suite == suite and bool(entry.rehearsal) == rehearsal
    )


def attempts_said(
    entries: Sequence[LedgerEntry], registered: Sequence[LedgerEntry], running: Collection[str]
) -> tuple[str, ...]:
    """Say how often it was tried: sessions, runs and what became of them. A session until green has many.

    Args:
        entries: all of the ledger.
        registered: the registrations of the experiment, or of the rehearsal that is judged.
        running: ids of the runs that a living process is writing.
    """
    if not registered:
        return ()
    closed = {entry.run_id: entry.status or "" for entry in entries if entry.event == "close"}
    ends = Counter(closed.get(one.run_id, "still open" if one.run_id in running else "aborted") for one in registered)
    sessions = len({entry.session for entry in registered})
    counts = ", ".join(f"{ends[end]} {end}" for end in sorted(ends, key=lambda end: (end != "completed", end)))
    said = f"{counted(sessions, 'session')}, {counted(len(registered), 'run')} registered: {counts}"
    suite, is_rehearsal = registered[0].suite, bool(registered[0].rehearsal)
    others = {one.session for one in registrations(entries, suite, rehearsal=is_rehearsal)}
    others -= {entry.session for entry in registered}
    beside = f"; {counted(len(others), 'other session')} of this rehearsal beside, not judged" if others else ""
    return (said + beside,)


def counted(number: int, thing: str) -> str:
    """Write a number of things."""
    return f"{number} {thing}" if number == 1 else f"{number} {thing}s"


def choose_session(
    entries: Sequence[LedgerEntry],
    registered: Sequence[LedgerEntry],
    records: Sequence[RunRecord],
    *,
    roles: Sequence[str],
    workloads: Sequence[str],
) -> Choice:
    """Choose the session of a rehearsal that is judged from records.

    It is the newest that registered every planned role and trained a workload of the plan; where none did, the newest.
    So a session that was broken off, or tried something else, spoils none that was whole, and is named; one that ran
    to its end is judged whatever became of its records.

    Args:
        entries: all of the ledger.
        registered: the registrations of the rehearsals.
        records: as far as they can be read.
        roles: names of the planned roles.
        workloads: recipes that the plan describes; none accepts any.
    """
    sessions: dict[str, list[LedgerEntry]] = {}
    for entry in registered:
        sessions.setdefault(entry.session, []).append(entry)
    newest_first = sorted(sessions, key=lambda name: max(entry.at for entry in sessions[name]), reverse=True)
    trained: dict[str, set[str]] = {}
    for run in records:
        # What an open record says of itself no seal holds.
        if run.outcome is not None:
            trained.setdefault(run.header.session, set()).add(run.header.settings.workload)
    shortfalls = {
        name: _shortfall(sessions[name], roles, trained.get(name, set()) - set(workloads) if workloads else set())
        for name in newest_first
    }
    chosen = next((name for name in newest_first if not shortfalls[name]), newest_first[0] if newest_first else "")
    if not chosen:
        return Choice()
    newer = newest_first[: newest_first.index(chosen)]
    status = {entry.run_id: entry.status for entry in entries if entry.event == "close"}
    text = f"judged is session {_named(sessions[chosen])}"
    if newer:
        told = "; ".join(
            f"{_named(sessions[name])}, which {shortfalls[name]} ({_ending(sessions[name], status)})" for name in newer
        )
        text += f"; {len(newer)} newer session{'s are' if len(newer) > 1 else ' is'} not: {told}"
    return Choice(session=chosen, said=(text,))


def _shortfall(runs: Sequence[LedgerEntry], roles: Sequence[str], others: set[str]) -> str:
    """Say why a session is not the planned one; empty if it is."""
    if others:
        return f"trained {', '.join(sorted(others))}"
    missing = [name for name in roles if name not in {entry.name for entry in runs}]
    return f"did not come to {', '.join(missing)}" if missing else ""


def _named(runs: Sequence[LedgerEntry]) -> str:
    return f"{runs[0].session[:12]} of {min(entry.at for entry in runs)[:19]}"


def _ending(runs: Sequence[LedgerEntry], status: dict[str, str]) -> str:
    ends = [status.get(entry.run_id, "never closed") for entry in runs]
    return ", ".join(f"{ends.count(end)} {end}" for end in dict.fromkeys(ends))
