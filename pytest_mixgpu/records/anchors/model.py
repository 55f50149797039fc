"""The values of this folder: what vouches for a statement, and statements as they were found. Imports no torch."""

from pathlib import Path
from typing import Literal, Protocol

import msgspec

from pytest_mixgpu.records.anchors.statement import Statement

Kind = Literal["git", "ssh", "tsa"]
"""A commit in the history of HEAD, a signature by an allowed signer, a token of a timestamp authority."""


class Proof(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Something outside that vouches for a statement."""

    kind: Kind
    by: str
    """The commit, the signer with the fingerprint of the key, or the authority."""
    at: str = ""
    """The moment that it states itself, ISO 8601. A signature states none."""

    def __str__(self) -> str:
        """Who vouches, and since when."""
        told = {"git": f"git commit {self.by[:12]}", "ssh": f"signed by {self.by}", "tsa": f"stamped by {self.by}"}
        return f"{told[self.kind]} at {self.at}" if self.at else told[self.kind]


class Found(msgspec.Struct, frozen=True, kw_only=True):
    """What a look at one possible proof came to."""

    proof: Proof | None = None
    fault: str = ""
    """It contradicts the statement, or itself."""
    said: str = ""
    """Why it vouches for nothing, although nothing is wrong with it."""


class Anchor(msgspec.Struct, frozen=True, kw_only=True):
    """One statement and what vouches for it."""

    name: str
    """Of its file, with the folder."""
    statement: Statement
    proofs: tuple[Proof, ...] = ()

    @property
    def is_vouched(self) -> bool:
        """Whether anything vouches for it; else it is no anchor."""
        return bool(self.proofs)


class AnchorReading(msgspec.Struct, frozen=True, kw_only=True):
    """The anchors of a suite as they lie there, and as the history of HEAD holds them."""

    anchors: tuple[Anchor, ...] = ()
    faults: tuple[str, ...] = ()
    """What contradicts itself: a statement, a signature, a token."""
    said: tuple[str, ...] = ()
    """What vouches for nothing, and why; what could not be looked at."""


class Voucher(Protocol):
    """One way to have a statement kept outside."""

    kind: Kind

    def check(self, folder: Path) -> None:
        """Make sure, before anything is measured, that it can be done.

        Raises:
            AnchorError: it cannot; says what to do.
        """

    def vouch(self, path: Path) -> None:
        """Have a statement's file vouched for.

        Raises:
            AnchorError: it was not; nothing of the attempt is left.
        """
