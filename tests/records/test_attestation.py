"""Signed records: what is written beside them, and what is read back."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.attestation import (
    Attestation,
    attest,
    decode_attestation,
    encode_attestation,
    read_attestation,
)
from pytest_mixgpu.records.model import RunRecord
from tests.authorities import allow, make_key, needs_ssh_keygen
from tests.samples import as_record, make_run

HEX = st.text("0123456789abcdef")


@given(st.text(max_size=40), st.text("0123456789abcdef", min_size=64, max_size=64), HEX, st.text(max_size=20))
def test_what_is_signed_is_read(run_id: str, digest: str, challenge: str, host: str) -> None:
    """One way to write it, and it reads back."""
    signed = Attestation(run_id=run_id, record_digest=digest, challenge=challenge, host=host)

    assert signed == decode_attestation(encode_attestation(signed))
    with pytest.raises(AnchorError):
        decode_attestation(encode_attestation(signed).replace(b"\n", b""))


@pytest.fixture
def record() -> RunRecord:
    """A closed record."""
    return as_record(make_run())


@needs_ssh_keygen
def test_signed_record_names_its_signer(record: RunRecord, tmp_path: Path) -> None:
    """The statement holds the record's digest, its challenge and its host."""
    key = make_key(tmp_path / "keys")
    path = attest(record, tmp_path, key)
    found = read_attestation(tmp_path, record.id, allow(tmp_path / "signers", lab=key))

    assert path == tmp_path / "attestations" / f"{record.id}.json"
    assert found.statement == Attestation(
        run_id=record.id, record_digest=record.digest, challenge=record.header.challenge, host=record.header.host.host
    )
    assert found.signer.startswith("lab (")
    assert "PRIVATE" not in "".join(one.read_text() for one in path.parent.iterdir())


@needs_ssh_keygen
def test_edited_statement_is_a_fault(record: RunRecord, tmp_path: Path) -> None:
    """Its signature is over other bytes, whoever is allowed to sign."""
    path = attest(record, tmp_path, make_key(tmp_path / "keys"))
    path.write_bytes(path.read_bytes().replace(record.digest.encode(), b"0" * 64))

    assert read_attestation(tmp_path, record.id, None).fault


@needs_ssh_keygen
def test_signature_that_is_gone_is_said(record: RunRecord, tmp_path: Path) -> None:
    """A statement alone vouches for nothing; nor does nothing at all."""
    path = attest(record, tmp_path, make_key(tmp_path / "keys"))
    path.with_name(f"{path.name}.sig").unlink()

    assert "is gone" in read_attestation(tmp_path, record.id, None).said
    assert "it is not signed" == read_attestation(tmp_path, "another-run", None).said
