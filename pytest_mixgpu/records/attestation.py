"""Signed records: from a closed record and a host's key to a statement with its signature, and back. Judges nothing.

A verifier hands out a challenge; it stands in the record's header, and the host's key signs the record's digest with
it. So a record that was made before the challenge was known, or swapped since, does not fit.

Schema history:
    1: first version.
"""

from pathlib import Path
from typing import Annotated, Final

import msgspec

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.canonical import decode_canonical, encode_canonical
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.signatures import sign, signature_path, verify

ATTESTATION_SCHEMA: Final = 1
NAMESPACE: Final = "pytest-mixgpu-record"
FOLDER: Final = "attestations"
"""In the folder of reports."""
NOT_SIGNED: Final = "it is not signed"


class Attestation(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a host signs of a record."""

    schema: int = ATTESTATION_SCHEMA
    run_id: str
    record_digest: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    challenge: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]*$")]
    """What the verifier handed out; empty: nothing, and the signature may be of any time."""
    host: str


class AttestationReading(msgspec.Struct, frozen=True, kw_only=True):
    """What lies there for one run."""

    statement: Attestation | None = None
    signer: str = ""
    """An allowed signer, with the fingerprint of the key."""
    fault: str = ""
    """It contradicts itself."""
    said: str = ""
    """Why nobody vouches for it."""


def attest(record: RunRecord, folder: Path, key: Path) -> Path:
    """Sign a closed record.

    Args:
        record: as it was closed.
        folder: of the reports.
        key: of the host; only `ssh-keygen` opens it.

    Returns:
        The statement's file; its signature lies beside it.

    Raises:
        AnchorError: it was not signed, or not written.
    """
    header = record.header
    raw = encode_attestation(
        Attestation(
            run_id=header.run_id, record_digest=record.digest, challenge=header.challenge, host=header.host.host
        )
    )
    signature = sign(raw, key, NAMESPACE)
    path = _path(folder, header.run_id)
    try:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(raw)
        signature_path(path).write_bytes(signature)
    except OSError as error:
        raise AnchorError(f"{path} cannot be written: {error}") from error
    return path


def read_attestation(folder: Path, run_id: str, signers: Path | None) -> AttestationReading:
    """Read what was signed of a run.

    Args:
        folder: of the reports.
        run_id: of the run.
        signers: list of who may sign; None: nobody is allowed.
    """
    path = _path(folder, run_id)
    try:
        raw = path.read_bytes()
    except FileNotFoundError:
        return AttestationReading(said=NOT_SIGNED)
    except OSError as error:
        return AttestationReading(said=f"its signature cannot be read: {error}")
    try:
        statement = decode_attestation(raw)
    except AnchorError as error:
        return AttestationReading(fault=f"{path}: {error}")
    if not signature_path(path).is_file():
        return AttestationReading(statement=statement, said=f"the signature beside {path} is gone")
    found = verify(raw, signature_path(path), NAMESPACE, signers)
    fault = f"{path}: {found.fault}" if found.fault else ""
    return AttestationReading(statement=statement, signer=found.signer, fault=fault, said=found.said)


def encode_attestation(statement: Attestation) -> bytes:
    """Write a statement; there is one way to write it."""
    return encode_canonical(statement)


def decode_attestation(raw: bytes) -> Attestation:
    """Read the bytes of a statement.

    Raises:
        AnchorError: they are none, or not written as this version writes.
    """
    return decode_canonical(raw, Attestation, schema=ATTESTATION_SCHEMA, what="the attestation of a record")


def _path(folder: Path, run_id: str) -> Path:
    return folder / FOLDER / f"{run_id}.json"
