"""AMD's devices as the kernel shows them. A made-up tree stands in for the kernel's files."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.amd import AmdSource
from pytest_mixgpu.devices.amd_library import AmdLibraryError, AmdsmiLibrary, Said, said
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import DeviceFacts, DeviceLink
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import PoolShortfallError
from tests.fake_kernel import write_amd_card, write_amd_host, write_file

FIRST = "GPU-1a2b3c4d5e6f7001"
SECOND = "GPU-1a2b3c4d5e6f7002"
ADDRESS = "0000:10:00.0"


class FakeAmdLibrary:
    """Says what it was given; nothing stands for a library that does not open."""

    def __init__(self, answers: dict[str, dict[str, Any]] | None = None) -> None:
        self._answers = answers

    def look(self) -> dict[str, dict[str, Any]]:
        if self._answers is None:
            raise AmdLibraryError("made up")
        return self._answers


def _look(
    root: Path, answers: dict[str, dict[str, Any]] | None = None, environ: Mapping[str, str] | None = None
) -> Inventory:
    return AmdSource(FakeAmdLibrary(answers), environ=environ or {}, root=root).look()


def test_a_device_carries_all_that_the_kernel_says(tmp_path: Path) -> None:
    write_amd_host(tmp_path)

    inventory = _look(tmp_path)
    device, facts = inventory.devices[0], inventory.facts[0]

    assert ("mi300x", "gfx942", 304, int(191.98 * 2**30)) == (
        device.kind,
        device.architecture,
        device.num_units,
        device.memory_bytes,
    )
    assert (FIRST, ADDRESS, 0) == (device.id, device.pci_address, device.numa_node)
    assert (
        DeviceFacts(
            device_id=FIRST,
            near_cores="0-7",
            driver="6.12.12",
            firmware="113-M3000100-102",
            clock_mhz=132,
            max_clock_mhz=2100,
            power_cap_w=700,
            default_power_cap_w=750,
            has_ecc=True,
            temperature_c=41.5,
            partition="SPX/NPS1",
        )
        == facts
    )


def test_a_card_that_says_little_is_named_by_libdrms_list_and_its_place(tmp_path: Path) -> None:
    """A consumer card: no UUID, no product name, no monitor. What is not there is None."""
    write_amd_host(tmp_path)

    inventory = _look(tmp_path)
    device, facts = inventory.devices[2], inventory.facts[2]

    assert ("rx7900xtx", "AMD Radeon RX 7900 XTX", "gfx1100", 96) == (
        device.kind,
        device.name,
        device.architecture,
        device.num_units,
    )
    assert device.id.startswith("amd:")
    assert device.id.endswith(":0000:30:00.0")
    assert (("HIP_VISIBLE_DEVICES", "0"), ("ROCR_VISIBLE_DEVICES", "2")) == device.environment
    assert [None] * 7 == [
        facts.firmware,
        facts.clock_mhz,
        facts.power_cap_w,
        facts.default_power_cap_w,
        facts.has_ecc,
        facts.temperature_c,
        facts.partition,
    ]
    assert 2500 == facts.max_clock_mhz


def test_a_card_of_which_nothing_is_known_has_no_zeros(tmp_path: Path) -> None:
    write_file(tmp_path, "dev/kfd", "")
    write_file(tmp_path, "sys/class/kfd/kfd/topology/nodes/1/gpu_id", 77)

    inventory = _look(tmp_path)

    device = inventory.devices[0]
    assert [None] * 5 == [
        device.memory_bytes,
        device.architecture,
        device.num_units,
        device.pci_address,
        device.numa_node,
    ]
    assert ("unresolved", "") == (device.kind, device.name)
    facts = msgspec.structs.asdict(inventory.facts[0])
    assert {name for name, value in facts.items() if value} == {"device_id"}
    assert 0 not in facts.values()


def test_links_are_amds_own_or_where_both_are_plugged_in(tmp_path: Path) -> None:
    write_amd_host(tmp_path)

    inventory = _look(tmp_path)
    third = inventory.devices[2].id

    assert {
        DeviceLink(from_id=FIRST, to_id=SECOND, path="xgmi"),
        DeviceLink(from_id=FIRST, to_id=third, path="system"),
        DeviceLink(from_id=SECOND, to_id=third, path="system"),
    } == set(inventory.links)


@pytest.mark.parametrize(
    ("environ", "places"),
    [
        ({}, ["10", "20", "30"]),
        ({"ROCR_VISIBLE_DEVICES": "2,0"}, ["30", "10"]),
        ({"ROCR_VISIBLE_DEVICES": SECOND}, ["20"]),
        ({"ROCR_VISIBLE_DEVICES": "1,2", "HIP_VISIBLE_DEVICES": "1"}, ["30"]),
        ({"CUDA_VISIBLE_DEVICES": "1"}, ["20"]),
        ({"HIP_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_what_the_caller_excludes_is_not_in_the_inventory(
    tmp_path: Path, environ: dict[str, str], places: list[str]
) -> None:
    """And a process that is given a device's variables sees it alone."""
    write_amd_host(tmp_path)

    inventory = _look(tmp_path, environ=environ)

    assert places == [str(device.pci_address)[5:7] for device in inventory.devices]
    ids = {device.id for device in inventory.devices}
    assert {name for link in inventory.links for name in (link.from_id, link.to_id)} <= ids
    for device in inventory.devices:
        child = _look(tmp_path, environ=environ | dict(device.environment))
        assert [device.id] == [each.id for each in child.devices]


def test_a_part_of_a_card_is_not_the_card(tmp_path: Path) -> None:
    """Parts share UUID and PCI address; each is a device of its own, told by its place in the kernel's order."""
    write_file(tmp_path, "dev/kfd", "")
    for node in (1, 2):
        write_amd_card(tmp_path, node, unique_id=0x1A2B3C4D5E6F7001, simds=152)
        pci = f"sys/bus/pci/devices/0000:{node * 16:02x}:00.0"
        write_file(tmp_path, f"{pci}/product_name", "AMD Instinct MI300X OAM")
        write_file(tmp_path, f"{pci}/current_compute_partition", "CPX")

    inventory = _look(tmp_path)

    assert [("mi300x-cpx", "partition")] * 2 == [(device.kind, device.flags[-1]) for device in inventory.devices]
    assert 2 == len({device.id for device in inventory.devices})
    assert ["0", "1"] == [dict(device.environment)["ROCR_VISIBLE_DEVICES"] for device in inventory.devices]
    with pytest.raises(PoolShortfallError):
        allocate(PoolSpec.parse("mi300x:1"), inventory)
    assert 2 == len(allocate(PoolSpec.parse("mi300x-cpx:2"), inventory))


def test_what_a_container_was_not_given_is_said(tmp_path: Path) -> None:
    """Devices without their node in `/dev` do not count in ROCr's order either."""
    write_amd_host(tmp_path)
    (tmp_path / "dev/dri/renderD128").unlink()

    inventory = _look(tmp_path)

    assert ["20", "30"] == [str(device.pci_address)[5:7] for device in inventory.devices]
    assert "renderD128" in inventory.notes[0]
    (tmp_path / "dev/kfd").unlink()
    assert "/dev/kfd" in _look(tmp_path).notes[0]


def test_a_machine_without_the_driver_is_quiet(tmp_path: Path) -> None:
    assert Inventory(devices=()) == _look(tmp_path)


def test_the_library_adds_what_the_kernel_does_not_say(tmp_path: Path) -> None:
    write_amd_host(tmp_path)
    (tmp_path / f"sys/bus/pci/devices/{ADDRESS}/product_name").unlink()
    (tmp_path / f"sys/bus/pci/devices/{ADDRESS}/hwmon/hwmon3/power1_cap").unlink()

    inventory = _look(
        tmp_path,
        {
            ADDRESS: {
                "gpu_asic_info": {"market_name": "AMD Instinct MI300X", "num_compute_units": 4},
                "gpu_driver_info": {"driver_version": "6.16.6"},
                "power_cap_info": {"power_cap": 600_000_000, "default_power_cap": 1},
            }
        },
    )

    assert ("mi300x", 304) == (inventory.devices[0].kind, inventory.devices[0].num_units)
    facts = inventory.facts[0]
    assert (600, 750, "6.16.6") == (facts.power_cap_w, facts.default_power_cap_w, facts.driver)
    assert "6.12.12" == inventory.facts[1].driver


@pytest.mark.parametrize("value", ["N/A", "", 0xFFFF, 0xFFFFFFFF, 2**64 - 1, None, -1, True, "1 W"])
def test_what_the_library_does_not_know_is_none(value: object) -> None:
    answers = {
        "gpu_asic_info": {"market_name": value if isinstance(value, str) and value != "1 W" else "N/A"},
        "power_cap_info": {"power_cap": value, "default_power_cap": value},
        "clock_info": {"clk": value, "max_clk": value},
    }

    assert Said() == said(answers)
    assert Said() == said({"clock_info": value})


def test_watts_are_told_from_microwatts() -> None:
    """Versions of the library differ."""
    assert (750, 700) == tuple(
        getattr(said({"power_cap_info": {"power_cap": 750_000_000, "default_power_cap": 700}}), name)
        for name in ("power_cap_w", "default_power_cap_w")
    )


def test_a_machine_without_the_library_says_so() -> None:
    """Where ROCm is installed, this says nothing."""
    try:
        AmdsmiLibrary().look()
    except AmdLibraryError as error:
        assert "amdsmi" in str(error)  # noqa: PT017 - either way is right, and only one can be looked at
