"""Right or wrong per sample survives its way through text."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.bits import decode_bits, encode_bits


@given(st.lists(st.booleans(), max_size=70))
def test_round_trip(values: list[bool]) -> None:
    """What was encoded is decoded."""
    assert tuple(values) == decode_bits(encode_bits(values), len(values))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        pytest.param([], "", id="none"),
        pytest.param([True], "80", id="first-is-highest"),
        pytest.param([False] * 7 + [True], "01", id="eighth-is-lowest"),
        pytest.param([True] * 9, "ff80", id="filled-with-zeros"),
    ],
)
def test_layout(values: list[bool], expected: str) -> None:
    """The first sample stands in the highest bit; the last byte is filled up with zeros."""
    assert expected == encode_bits(values)


@pytest.mark.parametrize(
    ("text", "num_samples", "expected"),
    [
        pytest.param("zz", 8, "is not hexadecimal", id="not-hex"),
        pytest.param("ff", 9, "9 samples need 2", id="short"),
        pytest.param("ffff", 8, "8 samples need 1", id="long"),
        pytest.param("f f", 8, "is not hexadecimal|need", id="space"),
        pytest.param("ff", 7, "ones beyond its 7 samples", id="filling"),
    ],
)
def test_wrong_text_is_refused(text: str, num_samples: int, expected: str) -> None:
    """A text that cannot have come from so many samples is an error."""
    with pytest.raises(RecordError, match=expected):
        decode_bits(text, num_samples)
