"""The grammar of requests for devices."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.spec import MAX_COUNT, PoolSpec, SpecTerm
from pytest_mixgpu.errors import SpecError
from tests.strategies import POOL_SPECS


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("a40:16", "a40:16"),
        ("a40:1,rtx4090:1,mi300x:1", "a40:1,mi300x:1,rtx4090:1"),
        ("cuda:4", "cuda:4"),
        ("rocm:all", "rocm:all"),
        ("cpu:2", "cpu:2"),
        ("auto", "auto"),
        ("a40", "a40:1"),
        ("CPU-Portable:ALL , A40", "a40:1,cpu-portable:all"),
        (" h100-mig-1g.10gb : 2 ", "h100-mig-1g.10gb:2"),
        ("A40-48Q", "a40-48q:1"),
        (f"a40:{MAX_COUNT}", f"a40:{MAX_COUNT}"),
    ],
)
def test_a_request_is_read_into_its_canonical_form(text: str, canonical: str) -> None:
    """Case, blanks and order do not matter; a name alone means one."""
    assert canonical == str(PoolSpec.parse(text))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "is empty"),
        (" ", "is empty"),
        (",", "empty part"),
        ("a40:1,", "empty part"),
        (":4", "no name"),
        ("4", "no name"),
        ("a40:", "no count"),
        ("a40:0", "no count"),
        ("a40:-1", "no count"),
        ("a40:01", "no count"),
        ("a40:1.5", "no count"),
        ("a40:2:3", "no count"),
        ("a40:٣", "no count"),
        (f"a40:{MAX_COUNT + 1}", "a count from 1"),
        ("a40:999999999999", "no count"),
        ("a40;2", "no name"),
        ("a40 2", "no name"),
        ("-a40:2", "no name"),
        ("a40--x:2", "no name"),
        ("../a40", "no name"),
        ("a40:1,A40:2", "asked for twice"),
        ("auto,a40:1", "stands alone"),
        ("auto:2", "takes no count"),
        ("auto:all", "takes no count"),
    ],
)
def test_what_is_no_request_is_refused_with_its_reason(text: str, complaint: str) -> None:
    """The message says which part does not follow the grammar."""
    with pytest.raises(SpecError, match=complaint):
        PoolSpec.parse(text)


@given(spec=POOL_SPECS)
def test_canonical_text_reads_back_as_the_same_request(spec: PoolSpec) -> None:
    """`str` and `parse` are each other's inverse."""
    assert spec == PoolSpec.parse(str(spec))


@given(spec=POOL_SPECS, data=st.data())
def test_the_order_and_case_of_terms_do_not_matter(spec: PoolSpec, data: st.DataObject) -> None:
    """Two texts of one request are equal as values."""
    shuffled = data.draw(st.permutations(spec.terms))
    text = data.draw(st.sampled_from([" , ", ","])).join(map(str, shuffled)).upper()

    assert spec == PoolSpec.parse(text)


@given(text=st.text(max_size=40))
def test_any_text_is_a_request_or_a_spec_error(text: str) -> None:
    """No other exception leaves the parser."""
    try:
        spec = PoolSpec.parse(text)
    except SpecError:
        return
    assert spec == PoolSpec.parse(str(spec))


@pytest.mark.parametrize("name", ["A40", "a40:", "", "a 40"])
def test_a_term_refuses_a_name_that_no_text_can_say(name: str) -> None:
    """Values built in code obey the grammar as well."""
    with pytest.raises(SpecError, match="no name"):
        SpecTerm(name=name, count=1)


def test_a_request_without_terms_is_refused() -> None:
    """An empty pool is never meant."""
    with pytest.raises(SpecError, match="is empty"):
        PoolSpec(terms=())
