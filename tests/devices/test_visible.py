"""Lists of visible devices."""

import pytest

from pytest_mixgpu.devices.visible import narrowing, visible_devices

UUIDS = ["GPU-aaaa-1", "GPU-aabb-2", "GPU-cccc-3"]


@pytest.mark.parametrize(
    ("value", "entries", "indices"),
    [
        (None, ("0", "1", "2"), (0, 1, 2)),
        ("", (), ()),
        ("2,0", ("2", "0"), (2, 0)),
        (" 1 , 2 ", ("1", "2"), (1, 2)),
        ("0,3,1", ("0",), (0,)),
        ("0,x,1", ("0",), (0,)),
        ("1,1", (), ()),
        ("1,GPU-aabb", (), ()),
        ("GPU-cccc,0", ("GPU-cccc", "0"), (2, 0)),
        ("GPU-aa,0", (), ()),
        ("MIG-x,MIG-y", ("MIG-x",), (None,)),
        ("0,MIG-x", ("0",), (0,)),
    ],
)
def test_a_list_is_read_up_to_its_first_invalid_entry(
    value: str | None, entries: tuple[str, ...], indices: tuple[int | None, ...]
) -> None:
    """Entries stay as they were written and in their order."""
    environ = {} if value is None else {"CUDA_VISIBLE_DEVICES": value}

    visible = visible_devices(environ, vendor="nvidia", uuids=UUIDS)

    assert (entries, indices) == (visible.entries, visible.indices)


@pytest.mark.parametrize(
    ("environ", "indices", "warns"),
    [
        ({}, (0, 1, 2), False),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, (2,), False),
        ({"ROCR_VISIBLE_DEVICES": "2", "CUDA_VISIBLE_DEVICES": "0,1"}, (2,), False),
        ({"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"}, (0,), False),
        ({"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"}, (), True),
        ({"HIP_VISIBLE_DEVICES": ""}, (), False),
        ({"ROCR_VISIBLE_DEVICES": ""}, (), False),
    ],
)
def test_hip_counts_within_what_rocr_leaves(environ: dict[str, str], indices: tuple[int, ...], *, warns: bool) -> None:
    """Both filters apply, one within the other, and hiding everything by accident is said."""
    visible = visible_devices(environ, vendor="amd", uuids=UUIDS)

    assert (indices, warns) == (visible.indices, bool(visible.warning))


@pytest.mark.parametrize(
    ("environ", "vendor", "variables"),
    [
        ({"CUDA_VISIBLE_DEVICES": "2,0"}, "nvidia", (("CUDA_VISIBLE_DEVICES", "2"),)),
        ({"ROCR_VISIBLE_DEVICES": "1"}, "amd", (("HIP_VISIBLE_DEVICES", "2"),)),
        (
            {"CUDA_VISIBLE_DEVICES": "2,0"},
            "amd",
            (("CUDA_VISIBLE_DEVICES", "2"), ("HIP_VISIBLE_DEVICES", "2")),
        ),
    ],
)
def test_a_participant_is_narrowed_in_the_callers_own_terms(
    environ: dict[str, str], vendor: str, variables: tuple[tuple[str, str], ...]
) -> None:
    """The entry is handed on as it is; a filter of the hardware layer stays."""
    assert variables == narrowing(environ, vendor=vendor, entry="2")
