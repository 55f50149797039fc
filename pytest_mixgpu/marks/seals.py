"""Does everything match its seal: from evidence to what was tampered with, and to the notes that a lock gives. Pure."""

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.lock import BINDINGS, compare
from pytest_mixgpu.marks.model import Claim, Note, PassMark


def tampering(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Return what does not match its seal, one sentence each, the gravest first; empty if all does."""
    found = [*evidence.lock_faults, *(f"the ledger is broken: {fault}" for fault in evidence.ledger.faults)]
    lock = evidence.lock
    if lock is not None:
        now = compare(lock, plan_digest=evidence.plan_digest, recipe_digests=evidence.recipe_digests)
        found += [str(difference) for difference in now]
        if isinstance(one, PassMark) and lock.mark(one.id) is not None:
            found += [str(difference) for difference in compare(lock, mark=one)]
        if isinstance(one, Claim) and lock.claim(one.id) is not None:
            found += [str(difference) for difference in compare(lock, claim=one)]
        twin = lock.claim(one.id) if isinstance(one, PassMark) else lock.mark(one.id)
        if twin is not None:
            found.append(f"{one.id} is frozen as a {'claim' if isinstance(one, PassMark) else 'mark'} and is none now")
    found += [text for faults in evidence.seals.values() for text in faults]
    found += [
        f"run {lost.run_id} ({lost.name}) was closed and its record cannot be read any more: {'; '.join(lost.faults)}"
        for lost in evidence.lost
        if lost.was_closed
    ]
    return tuple(found)


def is_frozen(evidence: Evidence, one: PassMark | Claim) -> bool:
    """Say whether the lock holds this mark or claim."""
    lock = evidence.lock
    if lock is None:
        return False
    return (lock.mark(one.id) if isinstance(one, PassMark) else lock.claim(one.id)) is not None


def lock_notes(evidence: Evidence, one: PassMark | Claim) -> tuple[Note, ...]:
    """Return `amended`, and for a mark `code-changed`: what produced the number is not what the lock names."""
    lock = evidence.lock
    if lock is None:
        return ()
    notes: list[Note] = []
    if lock.amendments(one.id, *BINDINGS):
        notes.append("amended")
    if isinstance(one, PassMark):
        made_with = {(run.header.digests.code, run.header.digests.evaluator) for run in evidence.completed}
        data = {
            (run.header.settings.workload, run.start.data_digest) for run in evidence.completed if run.start is not None
        }
        is_other_data = any(lock.bindings.data.get(name, digest) != digest for name, digest in data)
        if made_with - {(lock.bindings.code, lock.bindings.evaluator)} or is_other_data:
            notes.append("code-changed")
    return tuple(notes)


def amendments_of(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Return the amendments that concern a mark or claim: when, why, from what."""
    if evidence.lock is None:
        return ()
    return tuple(
        f"{entry.at}: {', '.join(entry.ids)} amended: {entry.why} (was {entry.was})"
        for entry in evidence.lock.amendments(one.id, *BINDINGS)
    )
