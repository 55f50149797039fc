"""Since when is a mark as it is: from evidence and a mark to the runs that are evidence for it. Pure."""

from msgspec.structs import replace

from pytest_mixgpu.marks.differences import short
from pytest_mixgpu.marks.eligible import Superseded
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.lock import Lock, digests_since
from pytest_mixgpu.marks.lock_file import ChainEntry
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.records.chain import LedgerEntry


def since_frozen(evidence: Evidence, one: PassMark | Claim) -> Evidence:
    """Return the evidence for one mark or claim: runs from before it was as it is now do not count for it.

    Another mark that was frozen or amended meanwhile changes nothing for this one.
    """
    change = None if evidence.lock is None else last_change(evidence.lock, one.id)
    if evidence.lock is None or change is None:
        return evidence
    valid = digests_since(evidence.lock, evidence.lock.last_change(one.id))
    early = [run for run in evidence.runs if run.header.digests.lock not in valid]
    superseded = [
        Superseded(
            run_id=run.id,
            field="lock",
            found=short(run.header.digests.lock),
            expected=f"one since {', '.join(change.ids)} {_verb(change)} at {change.at}",
        )
        for run in early
    ]
    return replace(
        evidence,
        runs=tuple(run for run in evidence.runs if run not in early),
        superseded=(*evidence.superseded, *superseded),
    )


def last_change(lock: Lock, id_: str) -> ChainEntry | None:
    """Return the change that made a mark or claim what it is now; None where the lock does not hold it."""
    if not lock.chain or (lock.mark(id_) is None and lock.claim(id_) is None):
        return None
    return lock.chain[lock.last_change(id_)]


def first_registered(evidence: Evidence, lock: Lock, id_: str) -> LedgerEntry | None:
    """Return the first run of this experiment that was registered under the present value of a mark or claim.

    Runs under a value that the chain knows to have been another are left out; those under a lock that the chain does
    not know, or under none, are not: what they were to be judged by nobody can say.
    """
    place = lock.last_change(id_)
    others = set(digests_since(lock, 0)) - set(digests_since(lock, place))
    found = [entry for entry in evidence.registered if entry.lock_digest not in others]
    return min(found, key=lambda entry: entry.at, default=None)


def _verb(change: ChainEntry) -> str:
    was = "was" if len(change.ids) == 1 else "were"
    return f"{was} {'amended' if change.event == 'amend' else 'frozen'}"
