"""What an anchor states: from a ledger's state to the bytes of a small file, and back. Vouches for nothing by itself.

Schema history:
    1: first version.
"""

import re
from hashlib import sha256
from typing import Annotated, Final, Literal

import msgspec

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.canonical import decode_canonical, encode_canonical

STATEMENT_SCHEMA: Final = 1
FOLDER: Final = "anchors"
"""Beside the plan of a suite: the folder of its statements and of what vouches for them."""
SUFFIX: Final = ".json"

Event = Literal["freeze", "amend", "register", "close"]
Digest = Annotated[str, msgspec.Meta(pattern="^([0-9a-f]{64})?$")]
_NAME = re.compile(r"[0-9]{6,}-(?:freeze|amend|register|close)-[0-9a-f]{12}\.json")


class Statement(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How one ledger stood at one moment."""

    schema: int = STATEMENT_SCHEMA
    suite: str
    event: Event
    """What had just happened."""
    run_id: str = ""
    """The run that was registered or closed; empty at a change of the lock."""
    ledger: Digest
    """Which ledger: SHA-256 of the raw bytes of its first line; empty where it had none."""
    head: Digest
    """SHA-256 of its last line; empty for no line."""
    count: Annotated[int, msgspec.Meta(ge=0)]
    """Number of its lines."""
    num_runs: Annotated[int, msgspec.Meta(ge=0)]
    """Runs of the suite that it had registered by then, rehearsals apart."""
    lock: Digest
    """Digest of the lock in force; empty where there was none."""
    at: str
    """UTC, ISO 8601, as the host's clock said. What vouches for it may state a moment of its own."""


def encode_statement(statement: Statement) -> bytes:
    """Write a statement; there is one way to write it."""
    return encode_canonical(statement)


def decode_statement(raw: bytes) -> Statement:
    """Read the bytes of a statement.

    Raises:
        AnchorError: they are none, or not written as this version writes.
    """
    statement = decode_canonical(raw, Statement, schema=STATEMENT_SCHEMA, what="the statement of an anchor")
    if bool(statement.ledger) != bool(statement.count) or bool(statement.head) != bool(statement.count):
        raise AnchorError(f"states {statement.count} lines of a ledger, and a head or a first line that do not fit")
    return statement


def name_of(statement: Statement) -> str:
    """Return the name of a statement's file: how long the ledger was, what happened, and the statement's own digest."""
    digest = sha256(encode_statement(statement)).hexdigest()
    return f"{statement.count:06d}-{statement.event}-{digest[:12]}{SUFFIX}"


def is_statement_name(name: str) -> bool:
    """Say whether a file's name is one that statements have."""
    return _NAME.fullmatch(name) is not None
