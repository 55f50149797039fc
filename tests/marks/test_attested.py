"""Which records are attested: signed by somebody who may, over a challenge that was handed out once."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.attested import Attested, examine
from pytest_mixgpu.marks.evidence import LedgerState
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.registered import entries_of
from pytest_mixgpu.records.attestation import Attestation, AttestationReading
from pytest_mixgpu.records.model import RunRecord
from tests.judging import e1_marks, make_evidence
from tests.samples import FIRST_MOMENT, as_record, make_run

NONCE = "5eed" * 8


def with_challenge(challenge: str = NONCE, *, session: str = "session-1") -> RunRecord:
    made = as_record(make_run(session=session, at=FIRST_MOMENT))
    return replace(made, header=replace(made.header, challenge=challenge))


RECORD = with_challenge()
SIGNED = Attestation(run_id=RECORD.id, record_digest=RECORD.digest, challenge=NONCE, host=RECORD.header.host.host)
READING = AttestationReading(statement=SIGNED, signer="lab (SHA256:abc)")


def examined(
    reading: AttestationReading, *, record: RunRecord = RECORD, expected: tuple[str, ...] = (NONCE,)
) -> Attested:
    return examine({record.id: reading}, entries_of([record]), [record], expected=expected)


@pytest.mark.parametrize("expected", [(NONCE,), (), ("ab" * 16, NONCE)])
def test_signed_over_the_challenge_is_attested(expected: tuple[str, ...]) -> None:
    """Also where the judge names no challenge, and it says which one it was."""
    found = examined(READING, expected=expected)

    assert found.covers([RECORD.id])
    assert () == found.faults
    assert f"1 of 1 records are signed by lab (SHA256:abc) over the challenge {NONCE}" in found.told_of([RECORD.id])


@pytest.mark.parametrize(
    ("reading", "expected", "told"),
    [
        (AttestationReading(said="it is not signed"), (NONCE,), "it is not signed"),
        (AttestationReading(statement=SIGNED, said="signed with an unknown key"), (NONCE,), "an unknown key"),
        (READING, ("ab" * 16,), "handed out was"),
    ],
)
def test_what_is_not_attested_says_why(reading: AttestationReading, expected: tuple[str, ...], told: str) -> None:
    """Not signed, by nobody who may, or over another challenge: no fault, and not attested."""
    found = examined(reading, expected=expected)

    assert () == found.faults
    assert not found.covers([RECORD.id])
    assert told in found.refused[RECORD.id]


def test_signature_without_a_challenge_attests_nothing() -> None:
    """It may be of any time."""
    record = with_challenge("")
    found = examined(replace(READING, statement=replace(SIGNED, challenge="")), record=record, expected=())

    assert () == found.faults
    assert "without a challenge" in found.refused[record.id]


@pytest.mark.parametrize(
    ("field", "value"),
    [("run_id", "another"), ("record_digest", "0" * 64), ("challenge", "ab" * 16), ("host", "elsewhere")],
)
def test_statement_of_another_record_is_a_fault(field: str, value: str) -> None:
    """The record was swapped under its signature, or the signature beside its record."""
    found = examined(replace(READING, statement=replace(SIGNED, **{field: value})))

    assert 1 == len(found.faults)
    assert "swapped under its signature" in found.faults[0]
    assert not found.covers([RECORD.id])


def test_signature_that_does_not_hold_is_a_fault() -> None:
    """Whoever made it."""
    assert ("broken",) == examined(AttestationReading(statement=SIGNED, fault="broken")).faults


def test_challenge_of_two_sessions_is_a_fault() -> None:
    """A nonce seen twice shows nothing of when; within one session it is what it is for."""
    other = with_challenge(session="session-2")
    same = replace(RECORD, header=replace(RECORD.header, run_id="another-run"))

    twice = examine({}, (), [RECORD, other], expected=())
    once = examine({}, (), [RECORD, same], expected=())

    assert ["a nonce seen twice" in fault for fault in twice.faults] == [True]
    assert () == once.faults


def test_no_run_is_not_attested() -> None:
    """Nothing signed is not everything signed."""
    assert not Attested().covers([])


def test_faults_are_tampered_and_signed_runs_lose_the_note() -> None:
    """The two ends of it in a verdict."""
    mark = e1_marks().mark("e1-speedup")
    ids = [run.id for run in make_evidence().runs]
    signed = judge_mark(
        mark, make_evidence(ledger=LedgerState(attested=Attested(accepted=dict.fromkeys(ids, "signed"))))
    )
    half = judge_mark(mark, make_evidence(ledger=LedgerState(attested=Attested(accepted={ids[0]: "signed"}))))
    wrong = judge_mark(mark, make_evidence(ledger=LedgerState(attested=Attested(faults=("swapped",)))))

    assert "unattested" not in signed.notes
    assert "unattested" in half.notes
    assert ("TAMPERED", "swapped") == (wrong.word, wrong.reason)
