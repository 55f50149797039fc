"""The chain of a lock: from a change to the entry that seals it, from a lock to what shows that it was edited. Pure.

Each entry seals the entry before it, the whole of the lock as it then stood, and every part of it by itself. So a bound
that was edited by hand no longer fits the last entry, and one that was sealed again by a change that does not name its
mark no longer fits the entry before that. The chain shows an edit *since*: whoever rebuilds it from where a mark was
frozen leaves no trace in it, which is what the git witness and a lock kept elsewhere are for.
"""

from collections import Counter
from typing import Literal

import msgspec

from pytest_mixgpu.marks.lock_file import LOCK_SCHEMA, ChainEntry, Lock, RunsThen, seal_of, state_digest
from pytest_mixgpu.marks.sealed_parts import part_faults, parts_of


def extend(  # noqa: PLR0913 - one argument a field
    lock: Lock,
    *,
    event: Literal["freeze", "amend", "bind"],
    ids: tuple[str, ...],
    at: str,
    why: str,
    was: str,
    then: RunsThen | None = None,
) -> Lock:
    """Add an entry to the chain that seals the lock as it now stands, with the runs that there were by then."""
    lock = msgspec.structs.replace(lock, schema=LOCK_SCHEMA)
    entry = ChainEntry(
        event=event,
        ids=ids,
        at=at,
        why=why,
        was=was,
        num_runs=None if then is None else then.num_runs,
        ledger_head=None if then is None else then.head,
        ledger_count=None if then is None else then.count,
        previous=lock.chain[-1].seal if lock.chain else "",
        state=state_digest(lock),
        parts=parts_of(lock),
        seal="",
    )
    entry = msgspec.structs.replace(entry, seal=seal_of(entry))
    return msgspec.structs.replace(lock, chain=(*lock.chain, entry))


def with_parts_bound(lock: Lock, *, at: str, then: RunsThen | None = None) -> Lock:
    """Bind each part of an older lock as it stands, before it is changed; a lock that has that is returned as it is.

    Without it, the first change that schema 3 writes could be sealed anew with any mark edited.
    """
    if lock.chain[-1].parts is not None:
        return lock
    return extend(
        lock, event="bind", ids=(), at=at, why="from here on each change seals each part by itself", was="", then=then
    )


def broken_seals(lock: Lock) -> tuple[str, ...]:
    """Return what shows that a lock was edited past its chain, one sentence a fault; empty if nothing does."""
    if not lock.chain:
        return ("the lock has no chain: it was not written by --passmark-freeze",)
    faults: list[str] = []
    previous, before = "", ""
    for number, entry in enumerate(lock.chain, start=1):
        if entry.seal != seal_of(entry):
            what = ", ".join(entry.ids) or "all"
            faults.append(f"change {number} of the lock ({entry.event} of {what}) does not match its seal")
        if entry.previous != previous:
            faults.append(
                f"change {number} of the lock does not follow on the one before it: an entry was cut or moved"
            )
        if entry.at < before:
            faults.append(
                f"change {number} of the lock is dated {entry.at}, before the change that it follows ({before})"
            )
        if entry.event == "amend" and not entry.why.strip():
            faults.append(f"change {number} of the lock gives no reason")
        previous, before = entry.seal, entry.at
    faults += [f"the lock holds {id_} more than once" for id_, count in Counter(lock.ids).items() if count > 1]
    if lock.chain[-1].state != state_digest(lock):
        faults.append(
            "the lock's content is not what its last change sealed: it was edited by hand; restore it from git"
        )
    first = lock.chain[0]
    if first.event != "freeze" or first.at != lock.frozen_at:
        faults.append(f"the lock says frozen_at {lock.frozen_at}, its chain begins with {first.event} at {first.at}")
    return (*faults, *part_faults(lock))
