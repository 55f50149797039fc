"""Anchors signed with an SSH key: from a statement's file to a `.sig` beside it, and back to who signed."""

from pathlib import Path
from typing import Final

from pytest_mixgpu.records.anchors.model import Found, Kind, Proof
from pytest_mixgpu.records.signatures import sign, signature_path, try_key, verify

NAMESPACE: Final = "pytest-mixgpu-anchor"


class SshVoucher:
    """Signs statements.

    Args:
        key: file of a private key, or of the public half of one that an agent holds.
    """

    kind: Kind = "ssh"

    def __init__(self, key: Path) -> None:
        self._key = key

    def check(self, folder: Path) -> None:
        """Sign something that is thrown away."""
        del folder
        try_key(self._key, NAMESPACE)

    def vouch(self, path: Path) -> None:
        """Write the signature beside the statement."""
        signature_path(path).write_bytes(sign(path.read_bytes(), self._key, NAMESPACE))


def signature_of(path: Path, raw: bytes, signers: Path | None) -> Found | None:
    """Look at the signature beside a statement's file; None where there is none.

    Args:
        path: the statement's file.
        raw: the statement's bytes.
        signers: list of allowed signers; None: nobody is allowed.
    """
    beside = signature_path(path)
    if not beside.is_file():
        return None
    found = verify(raw, beside, NAMESPACE, signers)
    if found.signer:
        return Found(proof=Proof(kind="ssh", by=found.signer))
    return Found(fault=found.fault, said=found.said)
