"""What hypothesis draws from, shared by the tests of several rooms."""

import typing
from types import UnionType
from typing import Any, Literal

import msgspec
from hypothesis import strategies as st

from pytest_mixgpu.devices.spec import AUTO, MAX_COUNT, PoolSpec, SpecTerm
from pytest_mixgpu.records.codec import LARGEST

KIND_NAMES = st.from_regex(r"[a-z][a-z0-9]{0,8}(?:[-.+][a-z0-9]{1,5}){0,3}", fullmatch=True)

SPEC_TERMS = st.builds(
    SpecTerm,
    name=KIND_NAMES.filter(lambda name: name != AUTO),
    count=st.none() | st.integers(min_value=1, max_value=MAX_COUNT),
)

POOL_SPECS = st.lists(SPEC_TERMS, min_size=1, max_size=5, unique_by=lambda term: term.name).map(
    lambda terms: PoolSpec(terms=tuple(terms))
)

_FINITE = st.floats(-LARGEST, LARGEST)
_JSON: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers() | _FINITE | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_PLAIN: dict[object, st.SearchStrategy[Any]] = {
    str: st.text(),
    int: st.integers(),
    float: _FINITE,
    bool: st.booleans(),
    type(None): st.none(),
    object: _JSON,
}


def values_of(annotation: Any) -> st.SearchStrategy[Any]:  # noqa: PLR0911 - one return a form of annotation
    """Any value that an annotation of our frozen structs allows, with every field filled in."""
    if annotation in _PLAIN:
        return _PLAIN[annotation]
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return st.sampled_from(arguments)
    if origin in {typing.Union, UnionType}:
        return st.one_of([values_of(one) for one in arguments])
    if origin is tuple and arguments[-1] is ...:
        return st.lists(values_of(arguments[0]), max_size=3).map(tuple)
    if origin is tuple:
        return st.tuples(*[values_of(one) for one in arguments])
    if origin is dict:
        return st.dictionaries(*[values_of(one) for one in arguments], max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, msgspec.Struct):
        hints = typing.get_type_hints(annotation)
        fields = {name: values_of(hints[name]) for name in annotation.__struct_fields__}
        return st.builds(annotation, **fields)
    raise TypeError(f"no strategy for {annotation!r}: add it to {__name__}")
