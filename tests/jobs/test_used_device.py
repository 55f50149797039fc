"""The device that torch computes on must be the leased one. A made-up torch stands in for a build with devices."""

from types import SimpleNamespace
from typing import Any

import pytest

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.jobs.used_device import UsedDevice, check_used, used_device

UUID = "8932f937-d72c-4106-c12f-20bd9faed9f6"
AMD_DIGITS = "1a2b3c4d5e6f7001"
AMD_UUID = "31613262-3363-3464-3565-366637303031"
"""Those digits as text, written as a UUID."""


def _torch(*, hip: str | None = None, is_initialized: bool = True, **properties: object) -> Any:
    found = SimpleNamespace(name="NVIDIA A40", **properties)
    cuda = SimpleNamespace(
        is_initialized=lambda: is_initialized, current_device=lambda: 0, get_device_properties=lambda _index: found
    )
    return SimpleNamespace(cuda=cuda, version=SimpleNamespace(hip=hip))


def test_what_torch_says_is_recorded() -> None:
    used = used_device(_torch(uuid=UUID, pci_domain_id=0, pci_bus_id=0x3B, pci_device_id=0))

    assert f"NVIDIA A40, {UUID}, PCI 0000:3b:00" == str(used)


def test_amds_digits_are_read_out_of_torchs_uuid() -> None:
    used = used_device(_torch(hip="6.4", uuid=AMD_UUID))

    assert UsedDevice(name="NVIDIA A40", uuid=AMD_DIGITS, pci_address="") == used


@pytest.mark.parametrize("hip", [None, "6.4"])
@pytest.mark.parametrize("uuid", [None, "00000000-0000-0000-0000-000000000000"])
def test_what_torch_does_not_say_is_empty(uuid: object, hip: str | None) -> None:
    """Older versions say neither, and consumer cards of AMD have no UUID."""
    assert "NVIDIA A40" == str(used_device(_torch(hip=hip, uuid=uuid)))
    assert "NVIDIA A40" == str(used_device(_torch(hip=hip)))


def test_a_worker_on_a_core_uses_no_device() -> None:
    assert used_device(_torch(is_initialized=False)) is None


@pytest.mark.parametrize(
    ("device_id", "uuid", "pci_address"),
    [
        (f"GPU-{UUID}", UUID, "0000:3b:00"),
        (f"GPU-{UUID}", UUID, ""),
        (f"GPU-{UUID}", "", "0000:3b:00"),
        (f"GPU-{AMD_DIGITS}", AMD_DIGITS, ""),
        (f"GPU-{AMD_DIGITS}:3", AMD_DIGITS, ""),
        ("amd:host:0000:3b:00.0", "", "0000:3b:00"),
        ("amd:host:node 3", "", "0000:3b:00"),
        ("MIG-c7384736-a75d-5afc-978f-d2f1294409fd", UUID, "0000:3b:00"),
        ("amd:host:0000:3b:00.0", "", ""),
    ],
)
def test_the_leased_device_passes_and_what_is_not_said_is_held_against_nobody(
    device_id: str, uuid: str, pci_address: str
) -> None:
    check_used(UsedDevice(name="x", uuid=uuid, pci_address=pci_address), device_id, worker="participant-1")


@pytest.mark.parametrize(
    ("device_id", "uuid", "pci_address"),
    [
        (f"GPU-{UUID}", UUID.replace("8", "9"), "0000:3b:00"),
        (f"GPU-{AMD_DIGITS}", "1a2b3c4d5e6f7002", ""),
        ("amd:host:0000:3b:00.0", "", "0000:af:00"),
        ("amd:host:0001:3b:00.0", "", "0000:3b:00"),
    ],
)
def test_another_device_ends_the_run_and_both_are_named(device_id: str, uuid: str, pci_address: str) -> None:
    """A number of another device is worse than none."""
    used = UsedDevice(name="NVIDIA L40S", uuid=uuid, pci_address=pci_address)

    with pytest.raises(RunFailedError) as caught:
        check_used(used, device_id, worker="participant-1")

    for part in ("participant-1", device_id, "NVIDIA L40S", uuid, pci_address):
        assert part in str(caught.value)
