"""What was frozen and not judged: from a lock and what a session judged to one verdict for each that is missing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_mixgpu.marks.lock import BINDINGS, broken_seals, lock_digest, missing_from
from pytest_mixgpu.plugin.keys import LOCK_NAME
from pytest_mixgpu.plugin.opinions import unjudged

if TYPE_CHECKING:
    from collections.abc import Set as AbstractSet

    from pytest_mixgpu.marks.lock import Lock
    from pytest_mixgpu.marks.model import Claim, PassMark, Verdict


def left_out_of(lock: Lock | None, judged: AbstractSet[str], *, why: str) -> list[Verdict]:
    """One verdict for each frozen mark and claim of which a session says nothing: UNJUDGED, never silence.

    A lock that was edited past its chain is TAMPERED here too, where no test is left to say so.
    """
    missing = () if lock is None else missing_from(lock, tuple(judged))
    if lock is None or not missing:
        return []
    frozen: list[PassMark | Claim] = [*lock.marks, *lock.claims]
    seals = broken_seals(lock)
    reason = seals[0] if seals else f"frozen in {LOCK_NAME}, and {why}"
    return [
        replace(
            unjudged(mark, reason),
            word="TAMPERED" if seals else "UNJUDGED",
            notes=("amended",) if lock.amendments(mark.id, *BINDINGS) else (),
            lock_digest=lock_digest(lock),
            frozen_at=lock.frozen_since(mark.id),
            amendments=tuple(entry.sentence for entry in lock.amendments(mark.id, *BINDINGS)),
        )
        for mark in frozen
        if mark.id in missing
    ]
