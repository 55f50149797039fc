"""Lists of visible devices, by the rules of the runtimes that read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.devices.visible import (
    CUDA_LIST,
    HIP_LISTS,
    ROCR_LIST,
    cuda_narrowing,
    cuda_visible,
    rocm_narrowing,
    rocm_visible,
)

UUIDS = ["GPU-aaaa-1", "GPU-aabb-2", "GPU-cccc-3"]
SLICES = {"MIG-x": "MIG-x", "MIG-GPU-aaaa-1/2/0": "MIG-x", "MIG-y": "MIG-y"}
AMD_UUIDS = ["GPU-00000000000000aa", "GPU-00000000000000ab", "", "GPU-0123456789abcdef"]


@pytest.mark.parametrize(
    ("value", "indices"),
    [
        (None, (0, 1, 2)),
        ("", ()),
        (" ", ()),
        ("2,0", (2, 0)),
        (" 1 , 2 ", (1, 2)),
        ("0,3,1", (0,)),
        ("0,x,1", (0,)),
        ("0,-1,1", (0,)),
        ("+1", (1,)),
        ("1st,2nd", (1, 2)),
        ("1,1", ()),
        ("0,7,7", ()),
        ("0,x,1,1", (0,)),
        ("1,GPU-aabb", (1,)),
        ("GPU-cccc,0", (2,)),
        ("GPU-cccc,GPU-aabb", (2, 1)),
        ("GPU-cccc,GPU-ccc", ()),
        ("GPU-aa,0", ()),
        ("GPU-", ()),
        ("GPU-dddd,GPU-cccc", ()),
        ("aaaa-1", ()),
        ("\u0661", ()),
        ("99999999999999999999", ()),
    ],
)
def test_cudas_list_is_read_up_to_its_first_invalid_entry(value: str | None, indices: tuple[int, ...]) -> None:
    """In the caller's order; a list of one form ends at an entry of another, and a repeated entry empties it."""
    visible = cuda_visible({} if value is None else {CUDA_LIST: value}, UUIDS)

    assert indices == visible.indices
    assert not visible.is_refused
    if value is not None and len(indices) < len(value.split(",")):
        assert CUDA_LIST in visible.note


@pytest.mark.parametrize(
    ("value", "slices"),
    [("MIG-y,MIG-x", ("MIG-y",)), ("MIG-GPU-aaaa-1/2/0", ("MIG-x",)), ("MIG-z", ()), ("MIG-", ())],
)
def test_a_slice_is_named_whole_and_is_alone(value: str, slices: tuple[str, ...]) -> None:
    """One slice a process; the name that older drivers gave it serves too."""
    visible = cuda_visible({CUDA_LIST: value}, UUIDS, slices=SLICES)

    assert (slices, ()) == (visible.slices, visible.indices)


def test_without_a_list_all_slices_are_there_once() -> None:
    assert ("MIG-x", "MIG-y") == cuda_visible({}, UUIDS, slices=SLICES).slices


@pytest.mark.parametrize("value", ["0", "2,0", "1st"])
def test_an_index_that_may_mean_any_card_is_refused(value: str) -> None:
    """Nothing is guessed, and the way out is said; UUIDs and a list that lets none through are certain."""
    visible = cuda_visible({CUDA_LIST: value}, UUIDS, why_no_order="two kinds are here")

    assert visible.is_refused
    assert () == visible.indices
    for part in (value, "two kinds are here", "CUDA_DEVICE_ORDER=PCI_BUS_ID", "UUIDs"):
        assert part in visible.note


@pytest.mark.parametrize(("value", "indices"), [("GPU-cccc", (2,)), ("", ()), ("-1", ()), ("9", ()), (None, (0, 1, 2))])
def test_what_is_certain_is_followed_in_any_order(value: str | None, indices: tuple[int, ...]) -> None:
    environ = {} if value is None else {CUDA_LIST: value}

    visible = cuda_visible(environ, UUIDS, why_no_order="two kinds are here")

    assert (indices, False) == (visible.indices, visible.is_refused)


@pytest.mark.parametrize(
    ("environ", "indices"),
    [
        ({}, (0, 1, 2, 3)),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, (2,)),
        ({"ROCR_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "0,1"}, (2,)),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, (0,)),
        ({"CUDA_VISIBLE_DEVICES": "1", "GPU_DEVICE_ORDINAL": "2"}, (1,)),
        ({"GPU_DEVICE_ORDINAL": "2"}, (2,)),
        ({"HIP_VISIBLE_DEVICES": ""}, ()),
        ({"ROCR_VISIBLE_DEVICES": ""}, ()),
        ({"ROCR_VISIBLE_DEVICES": "3,gpu-00000000000000AB"}, (3, 1)),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0123"}, (3,)),
        ({"ROCR_VISIBLE_DEVICES": "GPU-0000"}, ()),
        ({"ROCR_VISIBLE_DEVICES": "GPU-"}, ()),
        ({"ROCR_VISIBLE_DEVICES": "1,1,2"}, (1,)),
        ({"ROCR_VISIBLE_DEVICES": "0x1,2x,3"}, (1,)),
        ({"ROCR_VISIBLE_DEVICES": "010"}, ()),
        ({"HIP_VISIBLE_DEVICES": "1,1"}, ()),
        ({"HIP_VISIBLE_DEVICES": "1st"}, ()),
        ({"HIP_VISIBLE_DEVICES": "1,01"}, (1,)),
        ({"ROCR_VISIBLE_DEVICES": "3,1", "HIP_VISIBLE_DEVICES": "GPU-00000000000000ab"}, (1,)),
    ],
)
def test_hip_counts_within_what_rocr_leaves(environ: dict[str, str], indices: tuple[int, ...]) -> None:
    """Each list by its own runtime's rules: ROCr's ends at a repeated entry, HIP's is emptied by it."""
    assert indices == rocm_visible(environ, AMD_UUIDS).indices


def test_two_lists_that_together_hide_everything_are_explained() -> None:
    """A common accident, and hard to see."""
    environ = {"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}

    assert "together hide every AMD GPU" in rocm_visible(environ, AMD_UUIDS).note


ENTRIES = st.one_of(
    st.integers(-2, 6).map(str),
    st.sampled_from(["", "x", "GPU-", "GPU-aaaa-1", "GPU-aa", "GPU-cccc", "MIG-x", "1st", "0x1", " 2", "01"]),
    st.sampled_from([uuid for uuid in AMD_UUIDS if uuid]),
    st.text("0123GPU-xMI,", max_size=6),
)
LISTS = st.lists(ENTRIES, max_size=4).map(",".join)


@given(value=LISTS)
def test_a_child_sees_exactly_its_cuda_device(value: str) -> None:
    """Narrowing is idempotent, and never reaches a device that the caller's list excludes."""
    visible = cuda_visible({CUDA_LIST: value}, UUIDS, slices=SLICES)

    assert len(visible.indices) == len(set(visible.indices))
    for index in visible.indices:
        narrowed = {CUDA_LIST: value} | dict(cuda_narrowing(UUIDS[index]))
        for order in ("", "two kinds are here"):
            again = cuda_visible(narrowed, UUIDS, slices=SLICES, why_no_order=order)
            assert ((index,), (), "") == (again.indices, again.slices, again.note)
    for name in visible.slices:
        again = cuda_visible({CUDA_LIST: value} | dict(cuda_narrowing(name)), UUIDS, slices=SLICES)
        assert ((), (name,)) == (again.indices, again.slices)


@given(environ=st.dictionaries(st.sampled_from([ROCR_LIST, *HIP_LISTS]), LISTS))
def test_a_child_sees_exactly_its_rocm_device(environ: dict[str, str]) -> None:
    """Whatever the caller's lists are: the child's mean that one device, in every layer that reads one."""
    visible = rocm_visible(environ, AMD_UUIDS)

    assert len(visible.indices) == len(set(visible.indices))
    for index in visible.indices:
        narrowed = environ | dict(rocm_narrowing(environ, index=index, uuid=AMD_UUIDS[index]))
        assert (index,) == rocm_visible(narrowed, AMD_UUIDS).indices
        # Another layer may read another of HIP's lists than the first that is set.
        assert {"0"} == {narrowed[name] for name in HIP_LISTS if name in narrowed}


@given(value=LISTS, rest=LISTS)
def test_no_list_lets_through_what_a_shorter_one_excludes(value: str, rest: str) -> None:
    """Entries that follow add devices behind, or nothing."""
    whole = rocm_visible({ROCR_LIST: f"{value},{rest}"}, AMD_UUIDS).indices
    start = rocm_visible({ROCR_LIST: value}, AMD_UUIDS).indices

    assert start == whole[: len(start)]
