"""Statements of anchors: one way to write each, and nothing else is read."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.errors import AnchorError
from pytest_mixgpu.records.anchors.statement import (
    Statement,
    decode_statement,
    encode_statement,
    is_statement_name,
    name_of,
)
from tests.records.chains import STATEMENT

DIGESTS = st.text("0123456789abcdef", min_size=64, max_size=64)


@st.composite
def statements(draw: st.DrawFn) -> Statement:
    count = draw(st.integers(0, 10**9))
    return Statement(
        suite=draw(st.text(max_size=20)),
        event=draw(st.sampled_from(["freeze", "amend", "register", "close"])),
        run_id=draw(st.text(max_size=40)),
        ledger=draw(DIGESTS) if count else "",
        head=draw(DIGESTS) if count else "",
        count=count,
        num_runs=draw(st.integers(0, 10**6)),
        lock=draw(st.one_of(st.just(""), DIGESTS)),
        at=draw(st.text(max_size=30)),
    )


@given(statements())
def test_what_is_written_is_read(statement: Statement) -> None:
    """A statement survives its file, under a name that is that of a statement."""
    assert statement == decode_statement(encode_statement(statement))
    assert is_statement_name(name_of(statement))


@given(statements(), st.data())
def test_no_changed_byte_goes_unseen(statement: Statement, data: st.DataObject) -> None:
    """A file with another byte is no statement, or one of another name."""
    raw = bytearray(encode_statement(statement))
    place = data.draw(st.integers(0, len(raw) - 1))
    raw[place] ^= data.draw(st.integers(1, 255))

    try:
        found = decode_statement(bytes(raw))
    except AnchorError:
        return
    assert name_of(found) != name_of(statement)


@pytest.mark.parametrize(
    ("field", "value"),
    [("count", -1), ("num_runs", -1), ("head", "xyz"), ("event", "rerun"), ("schema", 2), ("extra", 1), ("count", 0)],
)
def test_what_cannot_be_stated_is_refused(field: str, value: object) -> None:
    """Negative counts, digests that are none, unknown events, fields and schemas, heads of no line."""
    table = json.loads(encode_statement(STATEMENT)) | {field: value}

    with pytest.raises(AnchorError):
        decode_statement(json.dumps(table, indent=1).encode() + b"\n")


def test_blanks_and_order_are_no_matter_of_taste() -> None:
    """Bytes are signed and stamped, so there is one spelling."""
    with pytest.raises(AnchorError, match="not written as this version writes"):
        decode_statement(json.dumps(json.loads(encode_statement(STATEMENT))).encode())


@pytest.mark.parametrize("change", [{"head": "5e" * 32}, {"count": 18}, {"run_id": "run-2"}, {"lock": ""}])
def test_each_statement_has_a_name_of_its_own(change: dict[str, object]) -> None:
    """So a file that was edited does not fit its name."""
    assert name_of(STATEMENT) != name_of(replace(STATEMENT, **change))
