"""Ledgers held against heads that were kept outside: from anchors to what contradicts them and what they cover."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from pytest_mixgpu.records.anchors.model import Anchor, AnchorReading, Kind, Proof
from pytest_mixgpu.records.chain import LedgerEntry

_LIMITS: dict[Kind, str] = {
    "git": "a history can be rewritten with the anchors in it: only a push that others saw says when they were there",
    "ssh": "a signature says who, not when, and who holds the key can sign another story",
    "tsa": "a timestamp says that a head was there by then, not that it was the only one",
}
_ALWAYS = "no one can show that no secret run was made, under a ledger that was kept nowhere"


class GivenLedger(msgspec.Struct, frozen=True, kw_only=True):
    """One ledger that is judged, as far as anchors can be held against it."""

    path: str
    identity: str
    """SHA-256 of its first line; empty for no line."""
    count: int
    places: Mapping[str, int]
    """Of each head that it ever had, or at least of those that an anchor names: how many lines it had then."""


class JudgedRun(msgspec.Struct, frozen=True, kw_only=True):
    """What a ledger says of one run."""

    ledger: str
    """Path of the ledger."""
    registered: LedgerEntry
    closed: LedgerEntry | None

    @property
    def last_n(self) -> int:
        """Place of the last entry that concerns it."""
        return self.registered.n if self.closed is None else self.closed.n


class Outside(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What heads that were kept outside show of the ledgers that are judged."""

    covered: tuple[str, ...] = ()
    """Ids of the runs that stand in a ledger before a head that something vouches for."""
    announced: dict[str, tuple[Kind, ...]] = {}
    """By run, what vouches for a head from between its registration and its close."""
    kept: tuple[str, ...] = ()
    """For each ledger its last head that is kept outside, and since when the lock as it is now is: a sentence each."""
    names_lock: bool = False
    """Whether something that was kept outside and is vouched for names the lock as it is now."""
    limits: tuple[str, ...] = ()
    """What that cannot show."""
    contradictions: tuple[str, ...] = ()
    said: tuple[str, ...] = ()

    def told_of(self, run_ids: Sequence[str]) -> tuple[str, ...]:
        """Say of these runs what is kept outside and what that cannot show; nothing where nothing is kept.

        Args:
            run_ids: of the runs behind one verdict.
        """
        if not self.kept:
            return ()
        runs = list(dict.fromkeys(run_ids))
        num_covered = sum(run in self.covered for run in runs)
        announced = [self.announced[run] for run in runs if self.announced.get(run)]
        by_kind = {kind: sum(kind in kinds for kinds in announced) for kind in _LIMITS}
        how = ", ".join(f"{kind} {count}" for kind, count in by_kind.items() if count)
        early = f"{len(announced)} of {len(runs)} runs were announced outside before they ended"
        return (
            *self.kept,
            f"{num_covered} of {len(runs)} runs stand before a head that is kept outside",
            f"{early} ({how})" if how else early,
            *self.limits,
        )


def held_against(  # noqa: PLR0913 - one argument a source
    reading: AnchorReading,
    ledgers: Sequence[GivenLedger],
    runs: Sequence[JudgedRun],
    *,
    suite: str,
    locks: Sequence[str],
    rehearsal: bool,
) -> Outside:
    """Hold ledgers against what is kept outside.

    Args:
        reading: the suite's anchors.
        ledgers: all that are judged.
        runs: all that these registered of the suite.
        suite: the plan's id.
        locks: every digest that the lock's chain knows, today's last; empty where there is no lock.
        rehearsal: whether a rehearsal is judged. Runs in ledgers that are not given are no evidence for it.
    """
    vouched = [anchor for anchor in reading.anchors if anchor.is_vouched]
    wrong, said = list(reading.faults), list(reading.said)
    for anchor in vouched:
        for fault, is_grave in _faults(anchor, ledgers, suite=suite, locks=locks, rehearsal=rehearsal):
            (wrong if is_grave else said).append(fault)
    holding = {ledger.path: _holding(vouched, ledger) for ledger in ledgers}
    frozen = _first_of_lock(vouched, suite, locks[-1] if locks else "")
    shown = [*(anchor for anchors in holding.values() for anchor in anchors), *frozen]
    kinds = {proof.kind for anchor in shown for proof in anchor.proofs}
    return Outside(
        covered=tuple(run.registered.run_id for run in runs if _is_covered(run, holding.get(run.ledger, ()))),
        announced={run.registered.run_id: _announced(run, holding.get(run.ledger, ())) for run in runs},
        kept=(
            *(_kept(ledger, holding[ledger.path]) for ledger in ledgers if holding[ledger.path]),
            *(f"the lock as it is now is named in {one.name}: {_proofs(one)}" for one in frozen),
        ),
        names_lock=bool(frozen),
        limits=(*(text for kind, text in _LIMITS.items() if kind in kinds), _ALWAYS) if kinds else (),
        contradictions=tuple(dict.fromkeys(wrong)),
        said=tuple(dict.fromkeys(said)),
    )


def _faults(
    anchor: Anchor, ledgers: Sequence[GivenLedger], *, suite: str, locks: Sequence[str], rehearsal: bool
) -> Iterator[tuple[str, bool]]:
    """Say what does not fit to an anchor, and whether that is TAMPERED or only to be known."""
    stated = anchor.statement
    ledger = next((one for one in ledgers if one.identity and one.identity == stated.ledger), None)
    if ledger is not None:
        fault = _misplaced(anchor, ledger)
        if fault:
            yield fault, True
    if stated.suite != suite:
        return
    # What was tried before the first run of the experiment itself is nobody's loss.
    is_grave = stated.num_runs > 0 and not rehearsal
    if ledger is None and stated.num_runs:
        runs = "1 run" if stated.num_runs == 1 else f"{stated.num_runs} runs"
        text = (
            f"{anchor.name} keeps the head {stated.head[:12]}… of a ledger that registered {runs} of {suite}, and that "
            "head stands in no ledger given: give that folder too with --mixgpu-records, or the ledger was rebuilt"
        )
        yield text, is_grave
    if stated.lock and stated.lock not in locks:
        text = (
            f"{anchor.name} names the lock {stated.lock[:12]}…, which passmarks.lock and its chain do not know: the "
            "lock was written anew"
        )
        yield text, is_grave


def _misplaced(anchor: Anchor, ledger: GivenLedger) -> str:
    stated = anchor.statement
    found = ledger.places.get(stated.head)
    if found == stated.count:
        return ""
    where = f"{anchor.name} keeps the head {stated.head[:12]}… of entry {stated.count} of {ledger.path}"
    if found is not None:
        return f"{where}, where it stands at entry {found}"
    if ledger.count < stated.count:
        return f"{where}, which ends at entry {ledger.count}: it was cut or rebuilt"
    return f"{where}, which has another one there: it was changed or rebuilt"


def _holding(anchors: Iterable[Anchor], ledger: GivenLedger) -> tuple[Anchor, ...]:
    """Return the anchors that stand in a ledger where they say, shortest first."""
    found = [
        anchor
        for anchor in anchors
        if ledger.identity
        and anchor.statement.ledger == ledger.identity
        and ledger.places.get(anchor.statement.head) == anchor.statement.count
    ]
    return tuple(sorted(found, key=lambda anchor: anchor.statement.count))


def _is_covered(run: JudgedRun, anchors: Sequence[Anchor]) -> bool:
    return any(anchor.statement.count > run.last_n for anchor in anchors)


def _announced(run: JudgedRun, anchors: Sequence[Anchor]) -> tuple[Kind, ...]:
    """Return what vouches for a head from after a run's registration that does not hold its close yet."""
    between = [
        anchor
        for anchor in anchors
        if anchor.statement.count > run.registered.n and (run.closed is None or anchor.statement.count <= run.closed.n)
    ]
    ended = None if run.closed is None else run.closed.at
    return tuple(dict.fromkeys(proof.kind for one in between for proof in one.proofs if _is_timely(proof, ended)))


def _is_timely(proof: Proof, ended: str | None) -> bool:
    if not proof.at or ended is None:
        return True
    try:
        return datetime.fromisoformat(proof.at) <= datetime.fromisoformat(ended)
    except (ValueError, TypeError):
        return False


def _kept(ledger: GivenLedger, anchors: Sequence[Anchor]) -> str:
    last = anchors[-1]
    stated = last.statement
    return (
        f"the head {stated.head[:12]}… of entry {stated.count} of {ledger.path}, which has {ledger.count}, is kept "
        f"outside in {last.name}: {_proofs(last)}"
    )


def _first_of_lock(anchors: Sequence[Anchor], suite: str, lock: str) -> tuple[Anchor, ...]:
    """Return the anchor that named this lock first; none where none does."""
    found = [one for one in anchors if lock and one.statement.suite == suite and one.statement.lock == lock]
    return tuple(sorted(found, key=lambda one: (one.statement.num_runs, one.statement.at))[:1])


def _proofs(anchor: Anchor) -> str:
    return "; ".join(str(proof) for proof in anchor.proofs)
