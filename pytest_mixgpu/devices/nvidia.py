"""NVIDIA's devices: from the driver's library and the caller's environment to an `Inventory`. Imports no torch."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from pytest_mixgpu.devices.catalog import kind_of
from pytest_mixgpu.devices.catalog_file import UNRESOLVED, Catalog
from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, DeviceFacts, DeviceLink
from pytest_mixgpu.devices.numa import Numa
from pytest_mixgpu.devices.nvidia_card import Card, Slice, read_card, slice_facts
from pytest_mixgpu.devices.nvidia_links import links_between
from pytest_mixgpu.devices.nvml import LIBRARY_NOT_FOUND, Handle, Library, Nvml, NvmlError, open_nvml
from pytest_mixgpu.devices.visible import CUDA_ORDER, cuda_narrowing, cuda_visible

_TWIN_TOLERANCE = 0.05


class NvidiaSource:
    """NVIDIA's cards and slices that the caller's environment lets through.

    Args:
        library: what stands in for NVIDIA's; None is the one of this machine's driver.
        environ: the caller's variables; None is this process's.
        root: where `/sys` and `/dev` are.
        catalog: names of kinds; None is the shipped ones.
    """

    def __init__(
        self,
        library: Library | None = None,
        *,
        environ: Mapping[str, str] | None = None,
        root: Path = Path("/"),
        catalog: Catalog | None = None,
    ) -> None:
        self._library = library
        self._catalog = catalog
        self._environ = os.environ if environ is None else environ
        self._root = root

    def look(self) -> Inventory:
        """List them; what cannot be looked at is a note."""
        cards: dict[str, Card] = {}
        handles: dict[str, Handle] = {}
        notes: list[str] = []
        links: tuple[DeviceLink, ...] = ()
        try:
            with open_nvml(self._library) as nvml:
                driver = nvml.text("nvmlSystemGetDriverVersion")
                for index, handle in nvml.handles():
                    card = self._card(nvml, index, handle, driver)
                    if isinstance(card, str):
                        notes.append(card)
                    else:
                        cards[card.uuid], handles[card.uuid] = card, handle
                links = links_between(nvml, handles)
        except NvmlError as error:
            # A machine without the driver has nothing to be said about; one that shows its nodes has.
            if error.code != LIBRARY_NOT_FOUND or self._has_nodes():
                notes.append(f"NVIDIA's devices cannot be listed in full: {error}")
        in_order = sorted(cards.values(), key=lambda card: card.pci_address or "")
        found = _let_through(in_order, self._environ, self._catalog)
        kept = {device.id for device in found.devices}
        return msgspec.structs.replace(
            found,
            notes=(*notes, *found.notes),
            links=tuple(link for link in links if {link.from_id, link.to_id} <= kept),
        )

    def _card(self, nvml: Nvml, index: int, handle: Handle | NvmlError, driver: str | None) -> Card | str:
        """Read one card; a sentence says why it cannot be used."""
        if isinstance(handle, NvmlError):
            return f"NVIDIA's device {index} cannot be used: {handle}"
        try:
            card = read_card(nvml, handle, numa=Numa(self._root), driver=driver)
        except NvmlError as error:
            return f"NVIDIA's device {index} went away while it was looked at: {error}"
        return card or f"NVIDIA's device {index} cannot be used: it does not say its UUID"

    def _has_nodes(self) -> bool:
        dev = self._root / "dev"
        return any((dev / name).exists() for name in ("nvidiactl", "nvidia0", "dxg"))


def _let_through(cards: Sequence[Card], environ: Mapping[str, str], catalog: Catalog | None) -> Inventory:
    if not cards:
        return Inventory(devices=())
    slices: dict[str, str] = {}
    for part in (part for card in cards for part in card.slices):
        slices |= {name: part.uuid for name in (part.old_name, part.uuid) if name}
    visible = cuda_visible(
        environ, [card.uuid for card in cards], slices=slices, why_no_order=_why_no_order(cards, environ)
    )
    host = host_name()
    devices: list[Device] = []
    facts: list[DeviceFacts] = []
    parts = {part.uuid: (card, part) for card in cards for part in card.slices}
    for index in visible.indices:
        devices.append(_device(cards[index], host=host, ordinal=len(devices), catalog=catalog))
        facts.append(cards[index].facts)
    for uuid in visible.slices:
        card, part = parts[uuid]
        devices.append(_slice_device(card, part, host=host, ordinal=len(devices), catalog=catalog))
        facts.append(slice_facts(card, part))
    return Inventory(
        devices=tuple(devices),
        notes=(visible.note,) if visible.note else (),
        facts=tuple(facts),
        refusals=(visible.note,) if visible.is_refused else (),
    )


def _why_no_order(cards: Sequence[Card], environ: Mapping[str, str]) -> str:
    """Why an index of the caller's names no card for certain; empty if it does."""
    if any(card.is_cut_up for card in cards):
        return "MIG is on here, and its slices change what an index means"
    if environ.get(CUDA_ORDER) == "PCI_BUS_ID":
        return ""
    first = cards[0]
    sizes = [card.memory_bytes or 0 for card in cards]
    alike = all((card.name, card.architecture) == (first.name, first.architecture) for card in cards)
    if alike and max(sizes) <= min(sizes) * (1 + _TWIN_TOLERANCE):
        return ""
    names = " and ".join(dict.fromkeys(card.name or "a device without a name" for card in cards))
    return f"{names} are here and CUDA counts devices of several kinds in an order of its own"


def _device(card: Card, *, host: str, ordinal: int, catalog: Catalog | None) -> Device:
    naming = kind_of(
        card.name,
        vendor="nvidia",
        # A card that is cut up reports what is left of it, which says nothing against its name.
        memory_bytes=None if card.is_cut_up else card.memory_bytes,
        architecture=card.architecture,
        num_units=None if card.is_cut_up else card.num_units,
        catalog=catalog,
    )
    kind, flags = naming.kind, naming.flags
    if card.is_cut_up and "mig" not in flags:
        flags = (*flags, "mig")
    if card.is_vgpu and "vgpu" not in flags:
        # The hypervisor shows a share of a card under the card's own name.
        kind, flags = UNRESOLVED, (*flags, "vgpu")
    return Device(
        id=card.uuid,
        kind=kind,
        name=card.name,
        vendor="nvidia",
        host=host,
        ordinal=ordinal,
        memory_bytes=card.memory_bytes,
        architecture=card.architecture,
        num_units=card.num_units,
        flags=flags,
        pci_address=card.pci_address,
        numa_node=card.numa_node,
        inferred=naming.inferred,
        environment=cuda_narrowing(card.uuid),
    )


def _slice_device(card: Card, part: Slice, *, host: str, ordinal: int, catalog: Catalog | None) -> Device:
    naming = kind_of(
        part.name,
        vendor="nvidia",
        memory_bytes=part.memory_bytes,
        architecture=card.architecture,
        num_units=part.num_units,
        catalog=catalog,
    )
    # A slice under its card's bare name is none the less a slice.
    is_named = "mig" in naming.flags
    return Device(
        id=part.uuid,
        kind=naming.kind if is_named else UNRESOLVED,
        name=part.name,
        vendor="nvidia",
        host=host,
        ordinal=ordinal,
        memory_bytes=part.memory_bytes,
        architecture=card.architecture,
        num_units=part.num_units,
        flags=naming.flags if is_named else (*naming.flags, "mig"),
        pci_address=card.pci_address,
        numa_node=card.numa_node,
        inferred=naming.inferred,
        environment=cuda_narrowing(part.uuid),
    )
