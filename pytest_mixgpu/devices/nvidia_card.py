"""One NVIDIA card or MIG slice: from a handle of the driver's library to what it says. Unknown is None, never zero."""

from typing import Final

import msgspec

from pytest_mixgpu.devices.model import DeviceFacts
from pytest_mixgpu.devices.numa import Numa, write_list
from pytest_mixgpu.devices.nvml import Handle, Nvml

_GRAPHICS_CLOCK: Final = 1
_CORE_TEMPERATURE: Final = 0
_WORD_BITS: Final = 64
_MASK_WORDS: Final = 16
"""Enough for 1,024 cores or nodes."""
_VGPU_GUEST: Final = 2

CORES_A_UNIT: Final = {
    "sm_50": 128, "sm_52": 128, "sm_53": 128, "sm_60": 64, "sm_61": 128, "sm_62": 128, "sm_70": 64, "sm_72": 64,
    "sm_75": 64, "sm_80": 64, "sm_86": 128, "sm_87": 128, "sm_89": 128, "sm_90": 128, "sm_100": 128, "sm_103": 128,
    "sm_110": 128, "sm_120": 128, "sm_121": 128,
}  # fmt: skip
"""FP32 lanes of a multiprocessor, from NVIDIA's CUDA C++ Programming Guide: the library counts lanes, not units."""


class Slice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A MIG slice of a card."""

    uuid: str
    """`MIG-…`."""
    old_name: str
    """`MIG-GPU-…/1/0`, as drivers before 470 call it; empty where it is unknown."""
    name: str
    memory_bytes: int | None
    num_units: int | None


class Card(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A card as the library describes it."""

    uuid: str
    name: str
    pci_address: str | None
    memory_bytes: int | None
    architecture: str | None
    num_units: int | None
    numa_node: int | None
    is_cut_up: bool
    """Whether MIG is on: what runs on it then is a slice."""
    is_vgpu: bool
    """Whether it is a share of a card that a hypervisor hands out."""
    slices: tuple[Slice, ...]
    facts: DeviceFacts


def read_card(nvml: Nvml, handle: Handle, *, numa: Numa, driver: str | None) -> Card | None:
    """Ask for all that is recorded of a card.

    Args:
        nvml: the open library.
        handle: the card's.
        numa: the host's nodes.
        driver: its version.

    Returns:
        None if the card does not even say its UUID, without which it cannot be leased or handed to a process.

    Raises:
        NvmlError: the card or the driver is gone.
    """
    uuid = nvml.text("nvmlDeviceGetUUID", handle)
    if uuid is None:
        return None
    address = _pci_address(nvml, handle)
    capability = nvml.numbers("nvmlDeviceGetCudaComputeCapability", handle)
    architecture = None if capability is None or None in capability else "sm_{}{}".format(*capability)
    is_cut_up = (nvml.numbers("nvmlDeviceGetMigMode", handle) or (None,))[0] == 1
    node = numa.node_of_pci(address)
    node = _nearest_node(nvml, handle) if node is None else node
    near = write_list(numa.cores_of(node)) or _affinity(nvml, handle)
    return Card(
        uuid=uuid,
        name=nvml.text("nvmlDeviceGetName", handle) or "",
        pci_address=address,
        memory_bytes=nvml.entry("total", "nvmlDeviceGetMemoryInfo", handle),
        architecture=architecture,
        num_units=_num_units(nvml, handle, architecture),
        numa_node=node,
        is_cut_up=is_cut_up,
        is_vgpu=nvml.number("nvmlDeviceGetVirtualizationMode", handle) == _VGPU_GUEST,
        slices=tuple(_read_slices(nvml, handle, uuid)) if is_cut_up else (),
        facts=DeviceFacts(
            device_id=uuid,
            near_cores=near,
            driver=driver,
            firmware=nvml.text("nvmlDeviceGetVbiosVersion", handle),
            clock_mhz=nvml.number("nvmlDeviceGetClockInfo", handle, _GRAPHICS_CLOCK),
            max_clock_mhz=nvml.number("nvmlDeviceGetMaxClockInfo", handle, _GRAPHICS_CLOCK),
            power_cap_w=_watts(nvml.number("nvmlDeviceGetPowerManagementLimit", handle)),
            default_power_cap_w=_watts(nvml.number("nvmlDeviceGetPowerManagementDefaultLimit", handle)),
            has_ecc=_flag((nvml.numbers("nvmlDeviceGetEccMode", handle) or (None,))[0]),
            is_persistent=_flag(nvml.number("nvmlDeviceGetPersistenceMode", handle)),
            temperature_c=nvml.number("nvmlDeviceGetTemperature", handle, _CORE_TEMPERATURE),
            partition="mig" if is_cut_up else None,
        ),
    )


def slice_facts(card: Card, part: Slice) -> DeviceFacts:
    """What of its card's facts holds for a slice too; power and temperature are those of all slices together."""
    return msgspec.structs.replace(
        card.facts, device_id=part.uuid, power_cap_w=None, default_power_cap_w=None, temperature_c=None
    )


def _read_slices(nvml: Nvml, card: Handle, card_uuid: str) -> list[Slice]:
    found: list[Slice] = []
    for handle in nvml.slices(card):
        uuid = nvml.text("nvmlDeviceGetUUID", handle)
        if uuid is None:
            continue
        places = [nvml.number(f"nvmlDeviceGet{part}InstanceId", handle) for part in ("Gpu", "Compute")]
        found.append(
            Slice(
                uuid=uuid,
                old_name="" if None in places else f"MIG-{card_uuid}/{places[0]}/{places[1]}",
                name=nvml.text("nvmlDeviceGetName", handle) or "",
                memory_bytes=nvml.entry("total", "nvmlDeviceGetMemoryInfo", handle),
                num_units=nvml.entry("multiprocessorCount", "nvmlDeviceGetAttributes", handle),
            )
        )
    return found


def _pci_address(nvml: Nvml, handle: Handle) -> str | None:
    """As the kernel writes it: the library gives the domain eight digits, the kernel four."""
    text = nvml.entry("busId", "nvmlDeviceGetPciInfo", handle)
    if text is None:
        return None
    domain, _, rest = str(text).lower().partition(":")
    return f"{domain[-4:] if domain[:-4].strip('0') == '' else domain}:{rest}"


def _num_units(nvml: Nvml, handle: Handle, architecture: str | None) -> int | None:
    lanes = nvml.number("nvmlDeviceGetNumGpuCores", handle)
    lanes_a_unit = CORES_A_UNIT.get(architecture or "")
    if lanes and lanes_a_unit and lanes % lanes_a_unit == 0:
        return lanes // lanes_a_unit
    return None


def _nearest_node(nvml: Nvml, handle: Handle) -> int | None:
    nodes = _bits(nvml.ask("nvmlDeviceGetMemoryAffinity", handle, _MASK_WORDS, 0))
    return nodes[0] if len(nodes) == 1 else None


def _affinity(nvml: Nvml, handle: Handle) -> str:
    return write_list(_bits(nvml.ask("nvmlDeviceGetCpuAffinity", handle, _MASK_WORDS)))


def _bits(words: list[int] | None) -> list[int]:
    return [
        index * _WORD_BITS + bit
        for index, word in enumerate(words or ())
        for bit in range(_WORD_BITS)
        if word >> bit & 1
    ]


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000


def _flag(value: int | None) -> bool | None:
    return None if value is None else bool(value)
