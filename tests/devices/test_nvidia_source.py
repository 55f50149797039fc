"""NVIDIA's devices as its library lists them. A stand-in replays what drivers say."""

import sys
from collections.abc import Mapping
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.devices.allocate import allocate
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import DeviceFacts, DeviceLink
from pytest_mixgpu.devices.nvidia import NvidiaSource
from pytest_mixgpu.devices.spec import PoolSpec
from pytest_mixgpu.errors import PoolShortfallError
from tests.fake_kernel import write_file, write_nodes
from tests.fake_nvml import (
    DRIVER_NOT_LOADED,
    GPU_IS_LOST,
    LIBRARY_NOT_FOUND,
    VERSION_MISMATCH,
    FakeLibrary,
    Fault,
    a40_host,
    card_facts,
    mig_host,
    mixed_host,
    slice_uuid,
    uuid_of,
    vgpu_host,
)


def _look(
    library: FakeLibrary, environ: Mapping[str, str] | None = None, *, root: Path = Path("/nowhere")
) -> Inventory:
    return NvidiaSource(library, environ=environ or {}, root=root).look()


def test_a_device_carries_all_that_the_driver_says() -> None:
    """Identity, and how it is set up."""
    inventory = _look(a40_host())
    device, facts = inventory.devices[1], inventory.facts[1]

    assert ("a40", "NVIDIA A40", "sm_86", 84) == (device.kind, device.name, device.architecture, device.num_units)
    assert (uuid_of(1), "0000:11:00.0", 1, 1) == (device.id, device.pci_address, device.ordinal, device.numa_node)
    assert (
        DeviceFacts(
            device_id=uuid_of(1),
            near_cores="8-15",
            driver="550.90.07",
            firmware="94.02.5C.00.03",
            clock_mhz=210,
            max_clock_mhz=1740,
            power_cap_w=250.0,
            default_power_cap_w=300.0,
            has_ecc=True,
            is_persistent=True,
            temperature_c=34,
        )
        == facts
    )
    assert () == inventory.notes


def test_the_kernels_nodes_go_before_the_librarys(tmp_path: Path) -> None:
    write_nodes(tmp_path, "0-3", "4-7")
    write_file(tmp_path, "sys/bus/pci/devices/0000:01:00.0/numa_node", 1)

    inventory = _look(a40_host(1), root=tmp_path)

    assert (1, "4-7") == (inventory.devices[0].numa_node, inventory.facts[0].near_cores)


def test_what_a_driver_does_not_say_is_unknown_and_never_zero() -> None:
    """A share of a card in a guest: not supported, not permitted, `N/A` and the largest number are all no value."""
    inventory = _look(vgpu_host())

    assert ("a40-48q", None, None) == (
        inventory.devices[0].kind,
        inventory.devices[0].num_units,
        inventory.devices[0].numa_node,
    )
    assert DeviceFacts(device_id=uuid_of(0), driver="550.90.07") == inventory.facts[0]


def test_a_card_of_which_nothing_else_is_known_is_listed() -> None:
    """Its UUID is enough to use it; no field of it is then zero or empty."""
    inventory = _look(FakeLibrary({"nvmlDeviceGetUUID": uuid_of(0)}))
    device = inventory.devices[0]

    assert [None] * 5 == [
        device.memory_bytes,
        device.architecture,
        device.num_units,
        device.pci_address,
        device.numa_node,
    ]
    given = {name: value for name, value in msgspec.structs.asdict(inventory.facts[0]).items() if value is not None}
    assert {"device_id": uuid_of(0), "near_cores": "", "driver": "550.90.07"} == given


@pytest.mark.parametrize("fact", list(card_facts("A", 0, memory_gib=1, capability=(8, 6))), ids=str)
def test_no_fact_is_needed_but_the_uuid(fact: object) -> None:
    """Each is taken away in turn, and the card stays, with None in that place."""
    facts = card_facts("NVIDIA A40", 0, memory_gib=44.99, capability=(8, 6))
    del facts[fact]

    inventory = _look(FakeLibrary(facts))

    if fact == "nvmlDeviceGetUUID":
        assert () == inventory.devices
        assert "does not say its UUID" in inventory.notes[0]
        return
    assert [uuid_of(0)] == [device.id for device in inventory.devices]
    values = msgspec.structs.asdict(inventory.devices[0]) | msgspec.structs.asdict(inventory.facts[0])
    derived = {"kind", "flags", "inferred"}
    whole = _look(FakeLibrary(facts | {fact: card_facts("NVIDIA A40", 0, memory_gib=44.99, capability=(8, 6))[fact]}))
    before = msgspec.structs.asdict(whole.devices[0]) | msgspec.structs.asdict(whole.facts[0])
    assert all(
        values[name] in {None, "", ()} for name in values if values[name] != before[name] and name not in derived
    )


def test_links_are_what_the_driver_describes() -> None:
    """Direct links by their number, else the nearest common place."""
    links = _look(a40_host()).links

    assert DeviceLink(from_id=uuid_of(0), to_id=uuid_of(1), path="nvlink:4") in links
    assert DeviceLink(from_id=uuid_of(0), to_id=uuid_of(2), path="system") in links
    assert DeviceLink(from_id=uuid_of(2), to_id=uuid_of(3), path="host-bridge") in links
    assert 6 == len(links)


def test_links_through_a_switch_join_all_that_have_them() -> None:
    cards = [card_facts("NVIDIA H100 80GB HBM3", index, memory_gib=79.6, capability=(9, 0)) for index in range(3)]
    for card in cards[:2]:
        for link in range(18):
            card["nvmlDeviceGetNvLinkState", link] = int(link != 5)
            card["nvmlDeviceGetNvLinkRemoteDeviceType", link] = 2

    assert (DeviceLink(from_id=uuid_of(0), to_id=uuid_of(1), path="nvlink:17"),) == _look(FakeLibrary(*cards)).links


def test_an_unknown_way_is_not_described() -> None:
    cards = [card_facts("NVIDIA A40", index, memory_gib=44.99, capability=(8, 6)) for index in range(2)]

    assert () == _look(FakeLibrary(*cards)).links
    assert () == _look(FakeLibrary(*cards, paths={(0, 1): 77})).links


def test_slices_are_devices_of_their_own_kind_and_their_card_is_none() -> None:
    """The card is shown, flagged; nobody who asks for a whole card, any card or all cards gets it."""
    inventory = _look(mig_host())
    kinds = {device.id: device.kind for device in inventory.devices}

    assert {
        uuid_of(0): "h100-sxm",
        uuid_of(1): "h100-sxm",
        slice_uuid(0): "h100-mig-1g.10gb",
        slice_uuid(1): "h100-mig-3g.40gb",
    } == kinds
    assert ("mig",) == inventory.devices[0].flags
    assert "mig" == inventory.facts[0].partition
    assert [16, 60] == [device.num_units for device in inventory.devices[2:]]
    for request, ids in {
        "h100-sxm:1": {uuid_of(1)},
        "h100-mig-3g.40gb:1": {slice_uuid(1)},
        "cuda:all": {uuid_of(1), slice_uuid(0), slice_uuid(1)},
        "auto": {uuid_of(1), slice_uuid(0), slice_uuid(1)},
    }.items():
        assert ids == {device.id for device in allocate(PoolSpec.parse(request), inventory).devices}
    with pytest.raises(PoolShortfallError, match="MIG is on"):
        allocate(PoolSpec.parse("h100-sxm:2"), inventory)


def test_a_slices_power_and_temperature_are_not_its_own() -> None:
    facts = {each.device_id: each for each in _look(mig_host()).facts}[slice_uuid(0)]

    assert (None, None, None) == (facts.power_cap_w, facts.default_power_cap_w, facts.temperature_c)
    assert ("mig", "550.90.07") == (facts.partition, facts.driver)


@pytest.mark.parametrize("name", [slice_uuid(1), f"MIG-{uuid_of(0)}/2/0"])
def test_a_process_is_narrowed_to_a_slice_by_its_uuid(name: str) -> None:
    inventory = _look(mig_host(), {"CUDA_VISIBLE_DEVICES": name})

    assert [(slice_uuid(1), (("CUDA_VISIBLE_DEVICES", slice_uuid(1)),))] == [
        (device.id, device.environment) for device in inventory.devices
    ]


def test_a_share_under_the_cards_own_name_is_not_the_card() -> None:
    library = FakeLibrary(
        card_facts("NVIDIA A40", 0, memory_gib=44.99, capability=(8, 6), nvmlDeviceGetVirtualizationMode=2)
    )

    device = _look(library).devices[0]

    assert "unresolved" == device.kind
    assert "vgpu" in device.flags


def test_a_slice_under_its_cards_own_name_is_not_the_card() -> None:
    part = {"nvmlDeviceGetUUID": slice_uuid(0), "nvmlDeviceGetName": "NVIDIA H100 80GB HBM3"}
    card = card_facts(
        "NVIDIA H100 80GB HBM3", 0, memory_gib=79.6, capability=(9, 0), nvmlDeviceGetMigMode=[1, 1], slices=[part]
    )

    device = _look(FakeLibrary(card)).devices[1]

    assert ("unresolved", True) == (device.kind, "mig" in device.flags)


@pytest.mark.parametrize(
    ("environ", "indices"),
    [
        ({}, [0, 1, 2, 3]),
        ({"CUDA_VISIBLE_DEVICES": "2,0"}, [2, 0]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
        ({"CUDA_VISIBLE_DEVICES": "GPU-00000003,GPU-00000001"}, [3, 1]),
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "FASTEST_FIRST"}, [1]),
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, [1]),
    ],
)
def test_what_the_caller_excludes_is_not_in_the_inventory(environ: dict[str, str], indices: list[int]) -> None:
    """Neither as a device, nor in facts and links; each process is handed its device by UUID."""
    inventory = _look(a40_host(), environ)

    ids = [uuid_of(index) for index in indices]
    assert ids == [device.id for device in inventory.devices] == [facts.device_id for facts in inventory.facts]
    assert [(("CUDA_VISIBLE_DEVICES", uuid),) for uuid in ids] == [device.environment for device in inventory.devices]
    assert list(range(len(ids))) == [device.ordinal for device in inventory.devices]
    assert {name for link in inventory.links for name in (link.from_id, link.to_id)} <= set(ids)


def test_the_order_is_that_of_pci_addresses_whatever_the_library_counts_first() -> None:
    cards = [card_facts("NVIDIA A40", index, memory_gib=44.99, capability=(8, 6)) for index in (2, 0, 1)]

    assert [uuid_of(1)] == [d.id for d in _look(FakeLibrary(*cards), {"CUDA_VISIBLE_DEVICES": "1"}).devices]


def test_an_index_on_a_mixed_host_is_refused() -> None:
    """CUDA's own order of different cards is not ours to guess; nothing is chosen, and `auto` does not fall back."""
    inventory = _look(mixed_host(), {"CUDA_VISIBLE_DEVICES": "0"})

    assert () == inventory.devices
    assert inventory.refusals == inventory.notes
    assert "NVIDIA GeForce RTX 4090 and NVIDIA A40 are here" in inventory.notes[0]
    for request in ("auto", "a40:1", "cuda:1"):
        with pytest.raises(PoolShortfallError, match="CUDA_DEVICE_ORDER=PCI_BUS_ID"):
            allocate(PoolSpec.parse(request), inventory)


@pytest.mark.parametrize(
    ("environ", "kinds"),
    [
        ({}, ["rtx4090", "a40"]),
        ({"CUDA_VISIBLE_DEVICES": "1", "CUDA_DEVICE_ORDER": "PCI_BUS_ID"}, ["a40"]),
        ({"CUDA_VISIBLE_DEVICES": "GPU-00000001"}, ["a40"]),
        ({"CUDA_VISIBLE_DEVICES": ""}, []),
    ],
)
def test_what_is_certain_on_a_mixed_host_is_followed(environ: dict[str, str], kinds: list[str]) -> None:
    inventory = _look(mixed_host(), environ)

    assert kinds == [device.kind for device in inventory.devices]
    assert () == inventory.refusals


def test_an_index_beside_slices_is_refused() -> None:
    assert "MIG is on" in _look(mig_host(), {"CUDA_VISIBLE_DEVICES": "1"}).refusals[0]


def test_a_card_that_is_lost_does_not_hide_the_others() -> None:
    """Without a handle, or in the middle of the questions."""
    lost = card_facts(
        "NVIDIA A40", 1, memory_gib=44.99, capability=(8, 6), nvmlDeviceGetName=Fault(GPU_IS_LOST, "lost")
    )
    library = FakeLibrary(
        Fault(GPU_IS_LOST, "gone"), lost, card_facts("NVIDIA A40", 2, memory_gib=44.99, capability=(8, 6))
    )

    inventory = _look(library)

    assert [uuid_of(2)] == [device.id for device in inventory.devices]
    assert 2 == len(inventory.notes)
    assert "device 0 cannot be used" in inventory.notes[0]
    assert "device 1 went away" in inventory.notes[1]


@pytest.mark.parametrize("code", [DRIVER_NOT_LOADED, VERSION_MISMATCH])
def test_a_broken_driver_is_a_note(code: int) -> None:
    inventory = _look(FakeLibrary(driver=Fault(code, "made up")))

    assert () == inventory.devices
    assert "made up" in inventory.notes[0]


def test_a_machine_without_the_library_is_quiet_unless_it_shows_a_driver(tmp_path: Path) -> None:
    library = FakeLibrary(driver=Fault(LIBRARY_NOT_FOUND, "not found"))

    assert () == _look(library, root=tmp_path).notes
    write_file(tmp_path, "dev/nvidiactl", "")
    assert "not found" in _look(library, root=tmp_path).notes[0]


def test_listing_imports_no_torch() -> None:
    before = "torch" in sys.modules
    _look(a40_host())

    assert before == ("torch" in sys.modules)
