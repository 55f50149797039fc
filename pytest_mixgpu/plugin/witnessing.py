"""The witness of verdicts that no run of a ledger stands behind: from a verdict and its suite's lock to sentences."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.marks.git import GitWitness, witness
from pytest_mixgpu.marks.lock import lock_digest
from pytest_mixgpu.marks.witnessed import told_by_git, why_unwitnessed

if TYPE_CHECKING:
    from pathlib import Path

    from pytest_mixgpu.marks.model import Verdict
    from pytest_mixgpu.plugin.suites import Suite

_NO_RUN = "no run of a ledger stands behind this verdict, so there is no first run to compare that with"


def with_witness(verdict: Verdict, suite: Suite) -> Verdict:
    """Add what git shows of a frozen mark or claim, where the judge of runs did not already.

    What is judged here was measured by this session, so a lock that HEAD holds by now was there before.
    """
    lock = suite.lock
    if verdict.witness or lock is None or verdict.id not in lock.ids:
        return verdict
    digest = lock_digest(lock)
    git = _asked(suite.lock_path, digest)
    why = why_unwitnessed(git, verdict.id, digest)
    return msgspec.structs.replace(
        verdict,
        notes=(*verdict.notes, "unwitnessed") if why else verdict.notes,
        details=(*verdict.details, f"unwitnessed: {why}") if why else verdict.details,
        witness=told_by_git(git, verdict.id, _NO_RUN),
    )


@cache
def _asked(lock_path: Path, lock: str) -> GitWitness:  # noqa: ARG001 - another lock at the same place is asked for anew
    """Ask git once a process: a suite of stopwatch marks has many of them."""
    return witness(lock_path, None)
