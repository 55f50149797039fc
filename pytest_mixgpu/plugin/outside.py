"""What is kept outside, held against what report folders hold: from files to a `LedgerState` for the judge."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.marks.anchored import GivenLedger, JudgedRun, held_against
from pytest_mixgpu.marks.attested import examine
from pytest_mixgpu.marks.lock_file import digests_since
from pytest_mixgpu.records.anchors.model import AnchorReading
from pytest_mixgpu.records.anchors.reading import read_anchors
from pytest_mixgpu.records.attestation import AttestationReading, read_attestation

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pytest_mixgpu.marks.evidence import LedgerState
    from pytest_mixgpu.plugin.options import Options
    from pytest_mixgpu.plugin.stored import StoredRuns
    from pytest_mixgpu.plugin.suites import Suite
    from pytest_mixgpu.records.chain import LedgerReading


class Kept(msgspec.Struct, frozen=True, kw_only=True):
    """What was kept outside of a suite's ledgers, with every signature and token verified."""

    anchors: AnchorReading = AnchorReading()
    signed: Mapping[str, AttestationReading] = {}
    """By run; a run that is not here is not signed."""


def read_kept(stored: StoredRuns, suite: Suite, *, signers: Path | None, tsa_ca: Path | None = None) -> Kept:
    """Read anchors and attestations, and verify what signs and stamps them.

    Args:
        stored: what the report folders hold of the suite.
        suite: whose anchors are read.
        signers: file of those who may sign.
        tsa_ca: file of the authorities that may stamp.

    Raises:
        MixgpuError: one of these files cannot be read.
    """
    return Kept(
        anchors=read_anchors(suite.folder, signers=signers, tsa_ca=tsa_ca),
        signed={
            entry.run_id: read_attestation(stored.homes[entry.run_id], entry.run_id, signers)
            for entry in stored.registered
        },
    )


def with_outside(stored: StoredRuns, suite: Suite, *, options: Options, rehearsal: bool) -> LedgerState:
    """Read what was kept outside, and return what the ledgers say of themselves with what that shows of them.

    Args:
        stored: what the report folders hold of the suite, with the ledger of each.
        suite: whose anchors are read.
        options: who may sign and stamp, and which challenges were handed out.
        rehearsal: whether a rehearsal is judged.

    Raises:
        MixgpuError: a file that the options name cannot be read.
    """
    # A session that measures adds to runs of others, which answered other challenges.
    nonces = options.nonces if options.records else ()
    kept = read_kept(stored, suite, signers=options.signers, tsa_ca=options.tsa_ca)
    return held_outside(stored, suite, kept, nonces=nonces, rehearsal=rehearsal)


def held_outside(
    stored: StoredRuns, suite: Suite, kept: Kept, *, nonces: Sequence[str] = (), rehearsal: bool
) -> LedgerState:
    """Return what the ledgers say of themselves, with what heads outside and signatures show of them.

    Args:
        stored: what the report folders hold of the suite, with the ledger of each.
        suite: with its lock.
        kept: what was kept outside.
        nonces: the challenges that a verifier handed out for these records; none accepts any that is not empty.
        rehearsal: whether a rehearsal is judged.
    """
    entries = stored.ledger.entries or ()
    closes = {entry.run_id: entry for entry in entries if entry.event == "close"}
    names = _names(tuple(stored.chains))
    outside = held_against(
        kept.anchors,
        [_given(names[folder], chain) for folder, chain in stored.chains.items()],
        [
            JudgedRun(ledger=names[stored.homes[entry.run_id]], registered=entry, closed=closes.get(entry.run_id))
            for entry in stored.registered
        ],
        suite=suite.name,
        locks=() if suite.lock is None else digests_since(suite.lock, 0),
        rehearsal=rehearsal,
    )
    attested = examine(
        {entry.run_id: kept.signed.get(entry.run_id, AttestationReading()) for entry in stored.registered},
        entries,
        stored.records,
        expected=nonces,
    )
    notes = (*stored.ledger.notes, *outside.said)
    return msgspec.structs.replace(stored.ledger, outside=outside, attested=attested, notes=notes)


def _names(folders: Sequence[Path]) -> dict[Path, str]:
    """What sentences call each folder of reports: its last name where no two share it, since pages are handed on."""
    last = [folder.name for folder in folders]
    return {folder: folder.name if last.count(folder.name) == 1 else str(folder) for folder in folders}


def _given(name: str, chain: LedgerReading) -> GivenLedger:
    return GivenLedger(path=name, identity=chain.first, count=chain.count, places=chain.places)
