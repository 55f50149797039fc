"""A fault in a plan or a recipe is told in the words of the file."""

from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.records.tables import value_of


class Numbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="source", tag="numbers"):
    count: int
    range: tuple[float, float] = (0.0, 1.0)


class Words(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="source", tag="words"):
    layout: Literal["left", "right"]
    limit: int | None = None


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    pool: str
    name: str = ""

    def __post_init__(self) -> None:
        if self.pool == "none":
            raise ValueError("pool must be some")


class Whole(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    data: Numbers | Words
    parts: tuple[Part, ...] = ()
    arguments: dict[str, str | int] = {}
    by_name: bool = False


WORDS = {"source": "words", "layout": "left"}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        pytest.param({}, "data: found nothing, expected a table", id="no-table"),
        pytest.param(
            {"data": {"source": "words"}}, "data.layout: found nothing, expected one of left, right", id="no-key"
        ),
        pytest.param(
            {"data": {"source": "words", "layout": "up"}},
            "data.layout: found 'up', expected one of left, right",
            id="not-allowed",
        ),
        pytest.param(
            {"data": {"source": "word"}}, "data.source: found 'word', expected one of numbers, words", id="tag"
        ),
        pytest.param({"data": {}}, "data.source: found nothing, expected one of numbers, words", id="no-tag"),
        pytest.param({"data": []}, "data: found a list of 0, expected a table", id="list-for-table"),
        pytest.param(
            {"data": {"source": "numbers", "count": 1.5}},
            "data.count: found 1.5, expected a whole number",
            id="number",
        ),
        pytest.param(
            {"data": {"source": "numbers", "count": 1, "range": [1.0]}},
            "data.range: found a list of 1, expected a list of 2",
            id="short-list",
        ),
        pytest.param(
            {"data": WORDS | {"limit": "ten"}}, "data.limit: found 'ten', expected a whole number", id="optional"
        ),
        pytest.param(
            {"data": WORDS | {"layuot": "left"}},
            "data.layuot: found a key that there is not, expected one of layout, limit, source (did you mean layout?)",
            id="unknown",
        ),
        pytest.param(
            {"data": WORDS, "zzz": 1},
            "zzz: found a key that there is not, expected one of arguments, by_name, data, parts",
            id="strange",
        ),
        pytest.param(
            {"data": WORDS, "parts": [{"pool": "a"}, {"pool": {}, "name": "fleet"}]},
            "parts, 'fleet', pool: found a table, expected a text",
            id="in-a-named-entry",
        ),
        pytest.param(
            {"data": WORDS, "parts": [{"name": ""}, {}]},
            "parts, '', pool: found nothing, expected a text",
            id="empty-name",
        ),
        pytest.param(
            {"data": WORDS, "parts": [{}]}, "parts, entry 1, pool: found nothing, expected a text", id="in-an-entry"
        ),
        pytest.param({"data": WORDS, "parts": [{"pool": "none"}]}, "parts, entry 1: pool must be some", id="own-rule"),
        pytest.param(
            {"data": WORDS, "arguments": {"a": [1]}},
            "arguments: found something else, expected a text or a whole number",
            id="some-key",
        ),
        pytest.param({"data": WORDS, "by_name": 1}, "by_name: found 1, expected true or false", id="flag"),
    ],
)
def test_a_fault_names_field_found_and_expected(table: dict[str, object], expected: str) -> None:
    """No word of the library that found it, and no path but the one that stands in the file."""
    with pytest.raises(PlanError) as caught:
        value_of(table, Whole, where="benchmark.toml")
    assert str(caught.value) == f"benchmark.toml: {expected}"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.sampled_from(["words", "left", "`"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["data", "parts", "source", "layout", "count", "name", "x-y"]), inner)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.sampled_from(["data", "parts", "arguments", "by_name", "a`b", "x y"]), PLAIN))
def test_no_table_breaks_the_telling(table: dict[str, object]) -> None:
    """Whatever was written, there is a value or one fault that names the file, without the library's own path."""
    text = ""
    try:
        value_of(table, Whole, where="benchmark.toml")
    except PlanError as error:
        text = str(error)

    assert text == "" or (text.startswith("benchmark.toml: ") and " - at `" not in text)
