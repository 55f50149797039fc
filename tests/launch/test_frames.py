"""Frames between supervisor and worker."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.launch.frames import Decoder, Tag, encode

JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)
FRAMES = st.lists(
    st.tuples(
        st.sampled_from(["task", "hello", "message", "failure", "returned"]),
        st.dictionaries(st.text(), JSON_VALUES, max_size=4),
    ),
    max_size=5,
)


@given(frames=FRAMES, slice_bytes=st.integers(1, 64))
def test_any_slicing_gives_the_same_messages(frames: list[tuple[Tag, dict[str, object]]], slice_bytes: int) -> None:
    """What was encoded comes out, in order, however the transport cut it."""
    stream = b"".join(encode(tag, body) for tag, body in frames)
    decoder = Decoder()

    received = [
        frame
        for start in range(0, len(stream), slice_bytes)
        for frame in decoder.feed(stream[start : start + slice_bytes])
    ]

    assert frames == received


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf], ids=["nan", "inf", "minus-inf"])
def test_values_that_are_no_numbers_arrive_as_such(value: float) -> None:
    """A loss that is NaN must not arrive as null."""
    ((_, body),) = Decoder().feed(encode("message", {"kind": "round", "loss": value}))

    assert str(value) == str(body["loss"])


def test_other_values_are_refused_by_name() -> None:
    """A message that JSON cannot carry is an error that names its kind."""
    with pytest.raises(TypeError, match=r"JSON values only.* of kind 'weights'"):
        encode("message", {"kind": "weights", "data": b"\0"})


def test_a_frame_is_plain_json_after_its_head() -> None:
    """The body can be read with any JSON reader."""
    assert {"kind": "go"} == json.loads(encode("message", {"kind": "go"})[9:])
