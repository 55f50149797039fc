"""AMD's devices: from the kernel's files, AMD's library and the caller's environment to an `Inventory`. No torch."""

import os
from collections.abc import Mapping, Sequence
from itertools import combinations
from pathlib import Path

import msgspec

from pytest_mixgpu.devices.amd_library import AmdLibrary, AmdLibraryError, AmdsmiLibrary, Said, said
from pytest_mixgpu.devices.amd_tree import AmdCard, AmdTree
from pytest_mixgpu.devices.catalog import kind_of
from pytest_mixgpu.devices.catalog_file import UNKNOWN, UNRESOLVED, Catalog
from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, DeviceFacts, DeviceLink
from pytest_mixgpu.devices.numa import Numa
from pytest_mixgpu.devices.visible import rocm_narrowing, rocm_visible

_WHOLE = "SPX"


class AmdSource:
    """AMD's devices that the caller's environment lets through.

    The kernel's files say which there are and in which order ROCr counts them; the library, where it opens, is asked
    for what these do not hold.

    Args:
        library: what stands in for AMD's; None is the one of this machine.
        environ: the caller's variables; None is this process's.
        root: where `/sys`, `/dev` and `/usr` are.
        catalog: names of kinds; None is the shipped ones.
    """

    def __init__(
        self,
        library: AmdLibrary | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        root: Path = Path("/"),
        catalog: Catalog | None = None,
    ) -> None:
        self._catalog = catalog
        self._library = AmdsmiLibrary() if library is None else library
        self._environ = os.environ if environ is None else environ
        self._root = root

    def look(self) -> Inventory:
        """List them; what cannot be looked at is a note."""
        tree = AmdTree(self._root)
        if not tree.is_here:
            return Inventory(devices=())
        cards, notes = tree.cards()
        if not cards:
            return Inventory(devices=(), notes=notes)
        visible = rocm_visible(self._environ, [card.uuid for card in cards])
        words = self._words()
        host = host_name()
        numa = Numa(self._root)
        devices: list[Device] = []
        facts: list[DeviceFacts] = []
        for index in visible.indices:
            card = _completed(cards[index], words.get(cards[index].pci_address or ""))
            variables = rocm_narrowing(self._environ, index=index, uuid=_telling_uuid(card, cards))
            device = _device(card, host=host, ordinal=len(devices), catalog=self._catalog)
            devices.append(msgspec.structs.replace(device, environment=variables))
            facts.append(_facts(card, device.id, numa))
        chosen = {cards[index].node: device.id for index, device in zip(visible.indices, devices, strict=True)}
        return Inventory(
            devices=tuple(devices),
            notes=(*notes, *((visible.note,) if visible.note else ())),
            facts=tuple(facts),
            links=_links([cards[index] for index in visible.indices], chosen),
        )

    def _words(self) -> dict[str, Said]:
        try:
            return {address: said(answers) for address, answers in self._library.look().items()}
        except AmdLibraryError:
            # Nothing is lost that could be told: the kernel's files hold nearly all, and the rest stays unknown.
            return {}


def _completed(card: AmdCard, word: Said | None) -> AmdCard:
    """What the kernel does not say, the library may."""
    if word is None:
        return card
    more = {
        name: value
        for name in ("num_units", "firmware", "clock_mhz", "max_clock_mhz", "power_cap_w", "default_power_cap_w")
        if getattr(card, name) is None and (value := getattr(word, name)) is not None
    }
    if not card.name and word.name:
        more["name"] = word.name
    if word.driver:
        more["driver"] = word.driver
    return msgspec.structs.replace(card, **more)


def _telling_uuid(card: AmdCard, cards: Sequence[AmdCard]) -> str:
    """Its UUID if it is the only one that has it: parts of one card share it."""
    return card.uuid if [each.uuid for each in cards].count(card.uuid) == 1 else ""


def _device(card: AmdCard, *, host: str, ordinal: int, catalog: Catalog | None) -> Device:
    is_part = card.compute_partition not in {None, _WHOLE}
    naming = kind_of(
        card.name,
        vendor="amd",
        memory_bytes=None if is_part else card.memory_bytes,
        architecture=card.architecture,
        num_units=None if is_part else card.num_units,
        catalog=catalog,
    )
    kind, flags = naming.kind, naming.flags
    if is_part:
        # A part computes with a share of the units, and is not the card.
        flags = (*flags, "partition")
        if kind not in {UNRESOLVED, UNKNOWN}:
            kind = f"{kind}-{str(card.compute_partition).lower()}"
    place = f"amd:{host}:{card.pci_address or f'node {card.node}'}"
    return Device(
        # Parts of a card share its UUID; their place in the kernel's order tells them apart.
        id=f"{card.uuid or place}:{card.node}" if is_part else card.uuid or place,
        kind=kind,
        name=card.name,
        vendor="amd",
        host=host,
        ordinal=ordinal,
        memory_bytes=card.memory_bytes,
        architecture=card.architecture,
        num_units=card.num_units,
        flags=flags,
        pci_address=card.pci_address,
        numa_node=card.numa_node,
        inferred=naming.inferred,
    )


def _facts(card: AmdCard, device_id: str, numa: Numa) -> DeviceFacts:
    return DeviceFacts(
        device_id=device_id,
        near_cores=numa.cores_of_pci(card.pci_address),
        driver=card.driver,
        firmware=card.firmware,
        clock_mhz=card.clock_mhz,
        max_clock_mhz=card.max_clock_mhz,
        power_cap_w=card.power_cap_w,
        default_power_cap_w=card.default_power_cap_w,
        has_ecc=card.has_ecc,
        temperature_c=card.temperature_c,
        partition=card.partition,
    )


def _links(cards: Sequence[AmdCard], ids: Mapping[int, str]) -> tuple[DeviceLink, ...]:
    """Every pair whose way is known: by AMD's own links, else by the nodes that both are plugged into."""
    found: list[DeviceLink] = []
    for one, other in combinations(cards, 2):
        if other.node in one.xgmi_nodes:
            path = "xgmi"
        elif one.numa_node is None or other.numa_node is None:
            continue
        else:
            path = "numa-node" if one.numa_node == other.numa_node else "system"
        found.append(DeviceLink(from_id=ids[one.node], to_id=ids[other.node], path=path))
    return tuple(found)
