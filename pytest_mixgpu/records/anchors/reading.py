"""Reads the anchors of a suite: from its folder and the history of HEAD to statements and what vouches for each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.anchors.git import committed_anchors
from pytest_mixgpu.records.anchors.model import Anchor, AnchorReading
from pytest_mixgpu.records.anchors.rfc3161 import read_authorities, token_of
from pytest_mixgpu.records.anchors.ssh import signature_of
from pytest_mixgpu.records.anchors.statement import FOLDER, SUFFIX, decode_statement, name_of

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from cryptography.x509 import Certificate

    from pytest_mixgpu.records.anchors.git import Committed
    from pytest_mixgpu.records.anchors.statement import Statement


def read_anchors(suite: Path, *, signers: Path | None = None, tsa_ca: Path | None = None) -> AnchorReading:
    """Read what is kept outside of the ledger for a suite.

    Args:
        suite: the suite's folder.
        signers: list of who may sign, as `ssh-keygen` reads it.
        tsa_ca: certificates of authorities that may stamp, in PEM.

    Raises:
        AnchorError: that file of certificates cannot be read.
        MissingExtraError: it is given, and the library for tokens is not here.
    """
    reader = _Reader(suite / FOLDER, signers, () if tsa_ca is None else read_authorities(tsa_ca))
    committed = committed_anchors(suite)
    reader.said += committed.said
    reader.take_committed(committed.found)
    reader.take_files()
    return AnchorReading(
        anchors=tuple(anchor for _, anchor in sorted(reader.anchors.items())),
        faults=tuple(reader.faults),
        said=tuple(reader.said),
    )


class _Reader:
    def __init__(self, folder: Path, signers: Path | None, authorities: tuple[Certificate, ...]) -> None:
        self._folder = folder
        self._signers = signers
        self._authorities = authorities
        self.anchors: dict[str, Anchor] = {}
        self.faults: list[str] = []
        self.said: list[str] = []

    def take_committed(self, found: Iterable[Committed]) -> None:
        for one in found:
            shown = f"{FOLDER}/{one.name}"
            statement = self._statement(one.name, one.raw, where=f"{shown} in commit {one.proof.by[:12]}")
            if statement is not None:
                self.anchors[one.name] = Anchor(name=shown, statement=statement, proofs=(one.proof,))
                if not (self._folder / one.name).exists():
                    self.said.append(f"{shown} is gone from its folder; the history of HEAD still holds it")

    def take_files(self) -> None:
        for path in sorted(self._folder.glob(f"*{SUFFIX}")) if self._folder.is_dir() else ():
            shown = f"{FOLDER}/{path.name}"
            try:
                # A checkout may have ended lines as another system does.
                raw = path.read_bytes().replace(b"\r\n", b"\n")
            except OSError as error:
                self.faults.append(f"{shown} cannot be read: {error}")
                continue
            statement = self._statement(path.name, raw, where=shown)
            if statement is not None:
                self._take_file(path, shown, statement, raw)

    def _take_file(self, path: Path, shown: str, statement: Statement, raw: bytes) -> None:
        """Add what lies beside a statement to what the history says of it. Equal names are equal statements."""
        known = self.anchors.get(path.name)
        proofs = () if known is None else known.proofs
        looks = [signature_of(path, raw, self._signers), token_of(path, raw, self._authorities)]
        for found in looks:
            if found is None:
                continue
            if found.fault:
                self.faults.append(f"{shown}: {found.fault}")
            if found.said:
                self.said.append(f"{shown}: {found.said}")
            if found.proof is not None:
                proofs = (*proofs, found.proof)
        if not proofs and not any(looks):
            self.said.append(f"{shown} is neither committed nor signed nor stamped: it vouches for nothing")
        self.anchors[path.name] = Anchor(name=shown, statement=statement, proofs=proofs)

    def _statement(self, name: str, raw: bytes, *, where: str) -> Statement | None:
        try:
            statement = decode_statement(raw)
        except AnchorError as error:
            self.faults.append(f"{where}: {error}")
            return None
        if name != name_of(statement):
            self.faults.append(f"{where}: what it states belongs into {name_of(statement)}: it was edited or renamed")
            return None
        return statement
