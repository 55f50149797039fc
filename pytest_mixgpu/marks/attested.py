"""Which records are signed, by whom, over which challenge: from attestations and records to a value. Pure."""

from collections.abc import Mapping, Sequence

import msgspec

from pytest_mixgpu.records.attestation import NOT_SIGNED, AttestationReading
from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.model import RunRecord

_LIMIT = (
    "a signed record was sealed with that key after the challenge was known; that the host measured what the record "
    "says, no signature shows"
)


class Attested(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is signed of the runs of a suite."""

    accepted: dict[str, str] = {}
    """By run: who signed it and over which challenge."""
    refused: dict[str, str] = {}
    """By run: why it is not attested."""
    faults: tuple[str, ...] = ()
    """What contradicts itself."""

    def covers(self, run_ids: Sequence[str]) -> bool:
        """Whether each of these runs is signed; no run is none."""
        return bool(run_ids) and all(run in self.accepted for run in run_ids)

    def told_of(self, run_ids: Sequence[str]) -> tuple[str, ...]:
        """Say of these runs who signed them, why others are not attested, and what that cannot show."""
        runs = list(dict.fromkeys(run_ids))
        ways = [self.accepted[run] for run in runs if run in self.accepted]
        told = [f"{ways.count(way)} of {len(runs)} records are {way}" for way in dict.fromkeys(ways)]
        # That nothing is signed at all is what the note says.
        reasons = {run: self.refused[run] for run in runs if run in self.refused and self.refused[run] != NOT_SIGNED}
        told += [f"record {run} is not attested: {reason}" for run, reason in reasons.items()]
        return (*told, _LIMIT) if ways else tuple(told)


def examine(
    readings: Mapping[str, AttestationReading],
    entries: Sequence[LedgerEntry],
    records: Sequence[RunRecord],
    *,
    expected: Sequence[str],
) -> Attested:
    """Compare what was signed with the ledger and the records.

    Args:
        readings: what lies there, by run.
        entries: what the ledger registered and closed.
        records: as far as they can be read.
        expected: the challenges that the verifier handed out; none accepts any that is not empty.
    """
    sealed = {entry.run_id: entry.record_digest for entry in entries if entry.event == "close"}
    headers = {record.id: record for record in records}
    accepted: dict[str, str] = {}
    refused: dict[str, str] = {}
    faults = _seen_twice(records)
    for run_id, reading in readings.items():
        found = _contradictions(run_id, reading, sealed.get(run_id), headers.get(run_id))
        faults += found
        reason = found[0] if found else _refusal(reading, expected)
        if reason:
            refused[run_id] = reason
        elif reading.statement is not None:
            accepted[run_id] = f"signed by {reading.signer} over the challenge {reading.statement.challenge}"
    return Attested(accepted=accepted, refused=refused, faults=tuple(dict.fromkeys(faults)))


def _contradictions(
    run_id: str, reading: AttestationReading, sealed: str | None, record: RunRecord | None
) -> list[str]:
    if reading.fault:
        return [reading.fault]
    signed = reading.statement
    if signed is None:
        return []
    pairs = [("the run", signed.run_id, run_id), ("the digest of its record", signed.record_digest, sealed or "none")]
    if record is not None:
        pairs.append(("the challenge", signed.challenge, record.header.challenge))
        pairs.append(("the host", signed.host, record.header.host.host))
    return [
        f"run {run_id}: what was signed names {what} {stated[:20] or 'none'}, found {found[:20] or 'none'}: the record "
        "was swapped under its signature"
        for what, stated, found in pairs
        if stated != found
    ]


def _refusal(reading: AttestationReading, expected: Sequence[str]) -> str:
    if reading.statement is None or not reading.signer:
        return reading.said or NOT_SIGNED
    challenge = reading.statement.challenge
    if not challenge:
        return "it is signed without a challenge, so it may be of any time (--mixgpu-nonce=HEX)"
    if expected and challenge not in expected:
        return f"it is signed over the challenge {challenge}, handed out was {' or '.join(expected)} (--mixgpu-nonce)"
    return ""


def _seen_twice(records: Sequence[RunRecord]) -> list[str]:
    sessions: dict[str, set[str]] = {}
    for record in records:
        if record.header.challenge:
            sessions.setdefault(record.header.challenge, set()).add(record.header.session)
    return [
        f"the challenge {challenge} stands in records of {len(found)} sessions ({', '.join(sorted(found))}): a nonce "
        "seen twice shows nothing of when"
        for challenge, found in sessions.items()
        if len(found) > 1
    ]
