"""Does everything match its seal: from evidence to what was tampered with, and to the notes that a lock gives. Pure."""

from collections.abc import Iterator

from pytest_mixgpu.marks.code_seen import code_doubts
from pytest_mixgpu.marks.differences import short
from pytest_mixgpu.marks.evidence import Evidence, departures
from pytest_mixgpu.marks.lock import BINDINGS, Lock, compare
from pytest_mixgpu.marks.model import Claim, Note, PassMark
from pytest_mixgpu.marks.present import changed_sources, code_changes, contradictions, place_of


def tampering(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Return what does not match its seal, one sentence each, the gravest first; empty if all does."""
    found = [*evidence.lock_faults, *(f"the ledger is broken: {fault}" for fault in evidence.ledger.faults)]
    lock = evidence.lock
    if lock is not None:
        present, place = evidence.present, place_of(evidence.present, one.id)
        now = departures(lock, evidence.plan, evidence.plan_digest, evidence.recipe_digests, present)
        found += [str(difference) for difference in now]
        if isinstance(one, PassMark) and lock.mark(one.id) is not None:
            found += [str(difference) for difference in compare(lock, mark=one, place=place)]
        if isinstance(one, Claim) and lock.claim(one.id) is not None:
            found += [str(difference) for difference in compare(lock, claim=one, place=place)]
        found += () if present is None else contradictions(lock, present)
        twin = lock.claim(one.id) if isinstance(one, PassMark) else lock.mark(one.id)
        if twin is not None:
            found.append(f"{one.id} is frozen as a {'claim' if isinstance(one, PassMark) else 'mark'} and is none now")
    found += [text for faults in evidence.seals.values() for text in faults]
    found += [*evidence.ledger.outside.contradictions, *evidence.ledger.attested.faults]
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
    """Return `amended` and `code-changed`: what produced the number, or what judges it, is not what the lock names."""
    lock = evidence.lock
    is_doubted = isinstance(one, PassMark) and bool(code_doubts(evidence.completed))
    if lock is None:
        return ("code-changed",) if is_doubted else ()
    notes: list[Note] = []
    if lock.amendments(one.id, *BINDINGS):
        notes.append("amended")
    if is_doubted or changes_behind(evidence, one):
        notes.append("code-changed")
    return tuple(notes)


def changes_behind(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Say what behind a verdict is not what the lock names, a sentence each, with the files that differ.

    A number is of the code that its runs were made with, so that is taken from their records; the judge and the test
    are those of now. A claim is about the record: it has no number.
    """
    lock, present = evidence.lock, evidence.present
    if lock is None:
        return ()
    said = list(_changes_of_runs(evidence, lock)) if isinstance(one, PassMark) else []
    return (*said, *(() if present is None else code_changes(lock, present, one.id)))


def _changes_of_runs(evidence: Evidence, lock: Lock) -> Iterator[str]:
    present = evidence.present
    for part, what in (("code", "code that produces the number"), ("evaluator", "evaluator")):
        bound = getattr(lock.bindings, part)
        for made_with in dict.fromkeys(getattr(run.header.digests, part) for run in evidence.completed):
            if made_with == bound:
                continue
            is_here = present is not None and getattr(present.bindings, part) == made_with
            files = changed_sources(lock, present, part) if present is not None and is_here else ()
            named = f": {', '.join(files)}" if files else ""
            yield f"runs were made with the {what} {short(made_with)}, passmarks.lock has {short(bound)}{named}"
    data = {
        (run.header.settings.workload, run.start.data_digest) for run in evidence.completed if run.start is not None
    }
    for name, digest in sorted(data):
        bound = lock.bindings.data.get(name, digest)
        if bound != digest:
            yield f"runs opened other data of {name}, {short(digest)}; passmarks.lock has {short(bound)}"


def amendments_of(evidence: Evidence, one: PassMark | Claim) -> tuple[str, ...]:
    """Return the amendments that concern a mark or claim: when, after which runs, why, from what."""
    if evidence.lock is None:
        return ()
    return tuple(entry.sentence for entry in evidence.lock.amendments(one.id, *BINDINGS))
