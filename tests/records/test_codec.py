"""The codec writes only what it can read back, and reads only what it would write."""

import json
import math
import re
from collections.abc import Iterator

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.codec import LARGEST, decode, encode, first_not_finite
from pytest_mixgpu.records.model import Evaluation, Fault, Header, Line, Outcome, RoundLine, Span, Start
from tests.sample_doctors import as_failed
from tests.samples import make_run
from tests.strategies import values_of

LINE_TYPES = [Header, Start, RoundLine, Evaluation, Fault, Outcome]
_RUN = as_failed(make_run(), after_rounds=3)
_EVALUATION = make_run().evaluations[0]
LINES: list[Line] = [
    *[line for line in _RUN.lines() if isinstance(line, Header | Start | Fault)],
    _RUN.rounds[0],
    _EVALUATION,
    Outcome(
        status="stopped", finished_at="2026-11-29", leased_s=3.0, spans=(Span("lease", 0.0, 3.0),), files={"a": "00"}
    ),
]
IDS = [str(line.__struct_config__.tag) for line in LINES]


@pytest.mark.parametrize("line_type", LINE_TYPES, ids=lambda one: one.__name__)
@given(data=st.data())
@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None)
def test_every_line_comes_back_as_it_was(line_type: type[Line], data: st.DataObject) -> None:
    """What is encoded is decoded to an equal value, for any content of any field."""
    line = data.draw(values_of(line_type))
    if isinstance(line, Header):
        line = msgspec.structs.replace(line, schema=1)
    assert line == decode(encode(line))


@pytest.mark.parametrize("line", LINES, ids=IDS)
def test_a_line_is_one_line(line: Line) -> None:
    """An encoded line holds no end-of-line, so that a file of them can be parted at any."""
    assert b"\n" not in encode(line)


@pytest.mark.parametrize("line", LINES, ids=IDS)
def test_an_unknown_field_is_refused_in_every_object(line: Line) -> None:
    """A field that the schema does not know is refused wherever it stands, and named with file and line."""
    for path in _struct_paths(line):
        tree = json.loads(encode(line))
        _at(tree, path)["surprise"] = 1
        with pytest.raises(RecordError, match=r"runs/x/record\.jsonl, line 3: .*`surprise`"):
            decode(json.dumps(tree).encode(), where="runs/x/record.jsonl, line 3")


@pytest.mark.parametrize("line", LINES, ids=IDS)
def test_a_wrong_type_is_refused_at_every_field(line: Line) -> None:
    """A value of another type is refused at whatever field it stands, and the field is named."""
    names = [field.name for field in msgspec.structs.fields(type(line))]
    for name in names:
        tree = json.loads(encode(line))
        tree[name] = (
            {"neither": ["text", "nor", "number"]} if tree[name] is None or isinstance(tree[name], str) else "x"
        )
        with pytest.raises(RecordError, match=rf"line 3: (Expected|Object) .*\$\.{name}"):
            decode(json.dumps(tree).encode(), where="record.jsonl, line 3")


@pytest.mark.parametrize("line", LINES, ids=IDS)
def test_a_missing_field_is_refused(line: Line) -> None:
    """A line without one of its required fields is refused, and the field is named."""
    for field in msgspec.structs.fields(type(line)):
        if field.required:
            tree = json.loads(encode(line))
            del tree[field.name]
            with pytest.raises(RecordError, match=f"missing required field `{field.name}`"):
                decode(json.dumps(tree).encode())


@pytest.mark.parametrize(
    ("raw", "fault"),
    [
        pytest.param(b'{"line":"rumour"}', "Invalid value 'rumour'", id="unknown-line"),
        pytest.param(b"{}", "missing required field `line`", id="no-line"),
        pytest.param(b"[]", "Expected `object`", id="not-an-object"),
        pytest.param(b"", "truncated", id="empty"),
        pytest.param(b'{"line":"fault"', "truncated", id="torn"),
        pytest.param(b'{"line":"fault"} {}', "trailing", id="two-in-one"),
        pytest.param(b"\xff\xfe", "malformed", id="not-utf-8"),
        pytest.param(b"[" * 100_000, "Expected `object`", id="not-an-object-but-deep"),
    ],
)
def test_what_is_no_line_is_refused(raw: bytes, fault: str) -> None:
    """Bytes that are no line of a record are an error of ours, never a crash."""
    with pytest.raises(RecordError, match=fault):
        decode(raw)


def test_a_key_that_occurs_twice_is_refused() -> None:
    """A second value of one key, which most readers would silently take, is refused."""
    raw = encode(_EVALUATION).replace(b'"num_correct":', b'"num_correct":450,"num_correct":')
    with pytest.raises(RecordError, match="'num_correct' twice"):
        decode(raw)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")], ids=["nan", "inf", "minus-inf"])
def test_a_number_that_is_not_finite_is_not_written(value: float) -> None:
    """NaN and infinity, which JSON would turn into null, are refused with the place where they stand."""
    line = msgspec.structs.replace(_RUN.rounds[0], train_loss=(0.1, value))
    with pytest.raises(RecordError, match=r"`RoundLine`.*not finite at `\$\.train_loss\[1\]`"):
        encode(line)


def test_a_wrong_type_is_not_written() -> None:
    """A value that could not be read back is refused in writing, while somebody can still mend it."""
    line = msgspec.structs.replace(_RUN.rounds[0], round_s="long")
    with pytest.raises(RecordError, match=r"`RoundLine`.*Expected `float`.*\$\.round_s"):
        encode(line)


def test_text_that_utf8_cannot_hold_is_not_written() -> None:
    """A lone surrogate, as undecodable bytes of the system leave it, is refused as our own error."""
    line = msgspec.structs.replace(_EVALUATION, device="\udcff")
    with pytest.raises(RecordError, match="`Evaluation`"):
        encode(line)


@pytest.mark.parametrize("schema", [0, 4, 99])
def test_another_schema_is_refused_by_its_number(schema: int) -> None:
    """A header of another version is refused as such, even if it has fields that are not known here."""
    tree = json.loads(encode(LINES[0])) | {"schema": schema, "novelty": 1}
    with pytest.raises(RecordError, match=f"found schema {schema}, expected 1, 2, 3"):
        decode(json.dumps(tree).encode())


@given(st.lists(st.floats(), max_size=4))
def test_the_first_number_that_is_not_finite_is_found(values: list[float]) -> None:
    """Plain data is finite exactly if no path is returned."""
    expected = next((f"$.a[{i}].b" for i, value in enumerate(values) if not math.isfinite(value)), None)
    assert expected == first_not_finite({"a": [{"b": value} for value in values]})


@pytest.mark.parametrize("text", ["1e308", "-1e+40", "1.5E39", "1" * 60 + ".0", "123456e35"])
def test_a_number_that_nothing_measures_is_refused_and_named(text: str) -> None:
    """However it is spelled: sums and squares of such numbers are not finite, and a judge would fail on them."""
    raw = encode(_RUN.rounds[0])
    spoiled = re.sub(rb'"round_s":[^,]+', f'"round_s":{text}'.encode(), raw)

    with pytest.raises(RecordError, match=r"line 3: found a number beyond 1e\+39 at `\$\.round_s`"):
        decode(spoiled, where="runs/x/record.jsonl, line 3")


@given(value=st.floats(allow_nan=False, allow_infinity=False))
def test_no_number_beyond_the_largest_gets_through(value: float) -> None:
    """Exactly those are refused, by whoever writes and whoever reads."""
    line = msgspec.structs.replace(_RUN.rounds[0], round_s=value)
    if abs(value) <= LARGEST:
        assert line == decode(encode(line))
        return
    with pytest.raises(RecordError, match="beyond"):
        encode(line)
    with pytest.raises(RecordError, match="beyond"):
        decode(msgspec.json.encode(line))


def _struct_paths(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Yield where in a line's JSON the objects with fixed fields stand."""
    if isinstance(value, msgspec.Struct) and not isinstance(value, Span):
        if not value.__struct_config__.array_like:
            yield path
            for name in value.__struct_fields__:
                yield from _struct_paths(getattr(value, name), (*path, name))
    elif isinstance(value, tuple):
        for index, one in enumerate(value):
            yield from _struct_paths(one, (*path, index))


def _at(tree: object, path: tuple[str | int, ...]) -> dict[str, object]:
    for step in path:
        tree = tree[step]  # type: ignore[index]
    assert isinstance(tree, dict)
    return tree
