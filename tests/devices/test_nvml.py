"""NVIDIA's library: what it does not know is None, and what is gone is said."""

import ctypes

import pytest

from pytest_mixgpu.devices.nvml import GONE, NvmlError, PynvmlLibrary, _plain, open_nvml
from tests.fake_nvml import (
    DRIVER_NOT_LOADED,
    GPU_IS_LOST,
    NO_NUMBER,
    NO_PERMISSION,
    NOT_SUPPORTED,
    UNKNOWN_ERROR,
    FakeLibrary,
    Fault,
    a40_host,
    card_facts,
    mig_host,
    uuid_of,
)

pynvml = pytest.importorskip("pynvml")


def _one(**answers: object) -> FakeLibrary:
    return FakeLibrary(card_facts("NVIDIA A40", 0, memory_gib=44.99, capability=(8, 6), **answers))


@pytest.mark.parametrize(
    "answer",
    [
        *(
            pytest.param(Fault(code), id=f"error {code}")
            for code in (NOT_SUPPORTED, NO_PERMISSION, 2, 13, UNKNOWN_ERROR)
        ),
        pytest.param(NO_NUMBER, id="the largest of 32 bits"),
        pytest.param(2**64 - 1, id="the largest of 64 bits"),
        pytest.param(-1, id="minus one"),
        pytest.param(None, id="nothing"),
        pytest.param("N/A", id="a text"),
    ],
)
def test_a_number_that_the_library_does_not_have_is_none(answer: object) -> None:
    """Not supported, not permitted, not there: unknown, never zero."""
    with open_nvml(_one(nvmlDeviceGetPowerUsage=answer, nvmlDeviceGetEccMode=[answer, 1])) as nvml:
        handle = nvml.handle(uuid_of(0))

        assert nvml.number("nvmlDeviceGetPowerUsage", handle) is None
    if not isinstance(answer, Fault):
        assert nvml.numbers("nvmlDeviceGetEccMode", handle) == (None, 1)


def test_zero_is_a_number() -> None:
    with open_nvml(_one(nvmlDeviceGetPowerUsage=0)) as nvml:
        assert nvml.number("nvmlDeviceGetPowerUsage", nvml.handle(uuid_of(0))) == 0


@pytest.mark.parametrize("answer", ["", " ", "N/A", "[N/A]", "[Not Supported]", "Unknown", Fault(NOT_SUPPORTED)])
def test_a_text_that_says_nothing_is_none(answer: object) -> None:
    with open_nvml(_one(nvmlDeviceGetVbiosVersion=answer)) as nvml:
        assert nvml.text("nvmlDeviceGetVbiosVersion", nvml.handle(uuid_of(0))) is None


@pytest.mark.parametrize("code", sorted(GONE))
def test_what_is_gone_is_an_error_that_says_so(code: int) -> None:
    """A device that was lost has no values; taking them for unknown would hide that it is lost."""
    with (
        open_nvml(_one(nvmlDeviceGetPowerUsage=Fault(code, "made up"))) as nvml,
        pytest.raises(NvmlError, match=r"'made up'.*nvmlDeviceGetPowerUsage") as caught,
    ):
        nvml.number("nvmlDeviceGetPowerUsage", nvml.handle(uuid_of(0)))

    assert caught.value.is_gone


def test_a_card_without_a_handle_does_not_hide_the_others() -> None:
    library = FakeLibrary(Fault(GPU_IS_LOST), card_facts("NVIDIA A40", 1, memory_gib=44.99, capability=(8, 6)))
    with open_nvml(library) as nvml:
        found = dict(nvml.handles())

    assert isinstance(found[0], NvmlError)
    assert not isinstance(found[1], NvmlError)


def test_the_library_is_closed_again_even_after_an_error() -> None:
    library = a40_host()
    with pytest.raises(NvmlError), open_nvml(library) as nvml:
        nvml.handle("GPU-of-another-host")

    assert library.num_open == 0
    assert library.calls == ["nvmlInit", "nvmlDeviceGetHandleByUUID", "nvmlShutdown"]


def test_a_library_that_does_not_open_is_an_error() -> None:
    with (
        pytest.raises(NvmlError, match="no driver"),
        open_nvml(FakeLibrary(driver=Fault(DRIVER_NOT_LOADED, "no driver"))),
    ):
        pytest.fail("it opened")


def test_slices_are_found_by_their_own_names() -> None:
    library = mig_host()
    with open_nvml(library) as nvml:
        slices = nvml.slices(nvml.handle(uuid_of(0)))
        names = [nvml.text("nvmlDeviceGetUUID", part) for part in slices]

        assert [nvml.text("nvmlDeviceGetUUID", nvml.handle(str(name))) for name in names] == names
        assert nvml.slices(nvml.handle(uuid_of(1))) == []
    assert len(names) == 2


def test_fields_that_a_device_lacks_are_none_beside_those_that_it_has() -> None:
    with open_nvml(_one(fields={(91, 0): 4, (5, 0): 2**64 - 1})) as nvml:
        handle = nvml.handle(uuid_of(0))

        assert nvml.field_values(handle, [(91, 0), (5, 0), (6, 0)]) == [4, None, None]
        assert nvml.field(handle, 91) == 4


def test_structures_become_dictionaries_and_handles_stay_as_they_are() -> None:
    """The same plain values as the stand-in gives."""
    info = pynvml.nvmlPciInfo_t(busId=b"00000000:3B:00.0", domain=0, bus=0x3B)
    field = pynvml.c_nvmlFieldValue_t(fieldId=91, valueType=pynvml.NVML_VALUE_TYPE_UNSIGNED_INT)
    field.value.uiVal = 4
    process = pynvml.nvmlFriendlyObject({"pid": 7, "usedGpuMemory": None})
    handle = pynvml.c_nvmlDevice_t()

    assert _plain(info)["busId"] == "00000000:3B:00.0"
    assert _plain((pynvml.c_nvmlFieldValue_t * 1)(field))[0]["value"] == 4
    assert _plain([process]) == [{"pid": 7, "usedGpuMemory": None}]
    assert _plain((ctypes.c_ulonglong * 2)(3, 4)) == [3, 4]
    assert _plain(handle) is handle


def test_a_function_that_this_version_lacks_is_unknown() -> None:
    with pytest.raises(NvmlError, match="nvmlDeviceGetNothing") as caught:
        PynvmlLibrary().call("nvmlDeviceGetNothing")

    assert not caught.value.is_gone


def test_a_machine_without_the_driver_is_told_from_a_broken_one() -> None:
    """Where a driver is here, this says nothing."""
    try:
        with open_nvml():
            pytest.skip("a driver is here")
    except NvmlError as error:
        assert error.is_gone  # noqa: PT017 - either way is right, and only one can be looked at
