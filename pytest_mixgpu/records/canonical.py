"""Small files that are signed or stamped: from a value to the one way of writing it, and back. Imports no torch.

What vouches for a file vouches for its bytes, so a file that says the same in other bytes is refused.
"""

from typing import Protocol, TypeVar

import msgspec

from pytest_mixgpu.errors import AnchorError


class Versioned(Protocol):
    """A value that states its schema."""

    @property
    def schema(self) -> int:
        """The version that wrote it."""


Value = TypeVar("Value", bound=Versioned)


def encode_canonical(value: Versioned) -> bytes:
    """Write a value; there is one way to write it."""
    return msgspec.json.format(msgspec.json.encode(value), indent=1) + b"\n"


def decode_canonical(raw: bytes, kind: type[Value], *, schema: int, what: str) -> Value:
    """Read what `encode_canonical` wrote.

    Args:
        raw: the bytes of the file.
        kind: the type of the value.
        schema: the one version that is read.
        what: how an error names what was expected.

    Raises:
        AnchorError: it is none, or not written as this version writes.
    """
    try:
        value = msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise AnchorError(f"not {what}: {error}") from error
    if value.schema != schema:
        raise AnchorError(f"found schema {value.schema}, expected {schema}; another version wrote it")
    if encode_canonical(value) != raw:
        raise AnchorError("not written as this version writes (blanks, order or repetition of keys)")
    return value
