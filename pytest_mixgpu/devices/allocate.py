"""Who serves: from a request and what is here to a `Pool` of exact kinds, or to an error that says what was found.

Never a smaller pool, never a near match. Imports no other room.
"""

from collections.abc import Collection, Sequence
from typing import Final

import msgspec

from pytest_mixgpu.devices.catalog import FACTS_DISAGREE, families, is_kind, near_kinds
from pytest_mixgpu.devices.catalog_file import UNKNOWN, UNRESOLVED, Catalog
from pytest_mixgpu.devices.cpu_kinds import CPU_KINDS
from pytest_mixgpu.devices.inventory import Inventory, identity
from pytest_mixgpu.devices.model import Device, Pool
from pytest_mixgpu.devices.spec import VENDOR_WORDS, PoolSpec, SpecTerm
from pytest_mixgpu.errors import PoolShortfallError, SpecError

TWIN_TOLERANCE: Final = 0.05
"""Two cards of one name differ in memory if the larger has more than this share above the smaller."""

_ADVICE: Final = "Ask for what is here (--mixgpu-devices lists it), or run where the devices are."


def allocate(
    spec: PoolSpec, inventory: Inventory, *, avoid: Collection[str] = (), catalog: Catalog | None = None
) -> Pool:
    """Choose devices for a request.

    Args:
        spec: what is asked for.
        inventory: what is here.
        avoid: ids of devices to be taken last, for example those that others have leased.
        catalog: kinds and families that a request may name; None is the shipped ones.

    Raises:
        SpecError: a term names a family, or no kind at all.
        PoolShortfallError: the devices are not here; the message says what is.
    """
    devices = sorted(inventory.devices, key=lambda device: device.id in avoid)
    if spec.is_auto:
        if inventory.refusals:
            # Computing on cores instead would not be what the caller's list asks for.
            raise PoolShortfallError(f"{' '.join(f'{_sentence(text)}.' for text in inventory.refusals)}")
        gpus = tuple(device for device in inventory.devices if device.vendor != "cpu" and not _is_cut_up(device))
        chosen = gpus or tuple(device for device in inventory.devices if device.vendor == "cpu")
        if not chosen:
            raise PoolShortfallError("auto found neither a GPU nor a core on this machine.")
        return Pool(devices=chosen)
    return _Choice(
        spec, devices, where="this machine has", advice=_ADVICE, notes=inventory.notes, catalog=catalog
    ).pool()


def subpool(pool: Pool, spec: PoolSpec) -> Pool:
    """Choose the devices of one role out of a session's pool, in the order of the canonical request.

    Args:
        pool: the session's devices. A core among them serves as any CPU kind.
        spec: what the role's plan names.

    Raises:
        SpecError: a term names a family, or no kind at all.
        PoolShortfallError: the pool does not hold them.
    """
    if spec.is_auto:
        return pool
    advice = f"Ask for them with --gpus={spec}, or for a pool that holds them."
    return _Choice(spec, pool.devices, where="the session's pool has", advice=advice).pool()


class _Choice:
    """One request, answered from one list of devices."""

    def __init__(  # noqa: PLR0913 - what is asked for, and all that an answer says
        self,
        spec: PoolSpec,
        devices: Sequence[Device],
        *,
        where: str,
        advice: str,
        notes: Sequence[str] = (),
        catalog: Catalog | None = None,
    ) -> None:
        self._catalog = catalog
        self._spec = spec
        self._devices = tuple(devices)
        self._left = list(devices)
        self._where = where
        self._advice = advice
        self._notes = tuple(notes)

    def pool(self) -> Pool:
        """Take kinds before vendor words, which make do with what is left; answer in the order of the request."""
        for term in self._spec.terms:
            self._check_name(term)
        taken: dict[str, tuple[Device, ...]] = {}
        for term in sorted(self._spec.terms, key=lambda term: (term.is_vendor, term.count is None)):
            chosen = self._take(term)
            taken[term.name] = chosen
            ids = {device.id for device in chosen}
            self._left = [device for device in self._left if device.id not in ids]
        return Pool(devices=tuple(device for term in self._spec.terms for device in taken[term.name]))

    def _take(self, term: SpecTerm) -> tuple[Device, ...]:
        cpu_kind = CPU_KINDS.get(term.name)
        if cpu_kind is not None:
            cores = (device for device in self._left if device.vendor == "cpu")
            matching = [
                msgspec.structs.replace(core, kind=cpu_kind.name, environment=cpu_kind.environment) for core in cores
            ]
        elif term.is_vendor:
            vendor = VENDOR_WORDS[term.name]
            matching = [device for device in self._left if device.vendor == vendor and not _is_cut_up(device)]
        else:
            matching = [device for device in self._left if device.kind == term.name and not _is_cut_up(device)]
            return self._take_alike(term, matching)
        return self._count_out(term, matching)

    def _take_alike(self, term: SpecTerm, matching: list[Device]) -> tuple[Device, ...]:
        """Twins share a name and differ in memory: they are not one kind in one pool."""
        groups = _by_memory(matching)
        enough = [group for group in groups if term.count is not None and len(group) >= term.count]
        if len(groups) <= 1:
            return self._count_out(term, matching)
        if enough:
            return self._count_out(term, min(enough, key=lambda group: matching.index(group[0])))
        if term.count is not None and len(matching) < term.count:
            raise PoolShortfallError(self._shortfall(term))
        raise PoolShortfallError(
            f"{self._spec}: {term.name} is one name for two memory sizes here "
            f"({'; '.join(sorted({identity(device) for device in matching}))}), which are not one kind in one pool. "
            f"Ask for as many as share one size."
        )

    def _count_out(self, term: SpecTerm, matching: Sequence[Device]) -> tuple[Device, ...]:
        wanted = max(len(matching), 1) if term.count is None else term.count
        if len(matching) < wanted:
            raise PoolShortfallError(self._shortfall(term))
        return tuple(matching[:wanted])

    def _check_name(self, term: SpecTerm) -> None:
        name = term.name
        kinds = families(self._catalog).get(name)
        if kinds is not None:
            here = any(device.kind in kinds for device in self._devices)
            raise SpecError(
                f"{name} is a family, not a kind: its parts are {', '.join(kinds)}. "
                f"{'Name the one that is meant' if here else 'No part of it is here'}; {self._found()}."
            )
        if name in {UNRESOLVED, UNKNOWN}:
            words = " or ".join(f"{word}:N" for word in VENDOR_WORDS)
            raise SpecError(f"{name} is no kind. A device without one is asked for by vendor: {words}.")
        known = term.is_vendor or name in CPU_KINDS or is_kind(name, self._catalog)
        if not known and all(device.kind != name for device in self._devices):
            near = near_kinds(name, self._catalog)
            hint = (
                f"Did you mean {' or '.join(near)}?" if near else "cuda:N or rocm:N takes parts that it does not hold."
            )
            raise SpecError(f"the catalog holds no kind {name}. {hint} {_sentence(self._found())}.")

    def _shortfall(self, term: SpecTerm) -> str:
        parts = [f"{self._spec} was asked for, and {self._found()}."]
        vendors = {device.vendor for device in self._devices}
        cut_up = [device for device in self._devices if device.kind == term.name and _is_cut_up(device)]
        if cut_up:
            parts.append(f"MIG is on: {_list(cut_up)} is cut into slices, which are other kinds.")
        unresolved = [device for device in self._devices if device.kind == UNRESOLVED]
        if unresolved and term.name not in CPU_KINDS and not term.is_vendor:
            alike = {identity(device): device for device in unresolved}.values()
            parts += [f"The kind of {_list([device])} is unresolved: {_why_unresolved(device)}." for device in alike]
        if term.is_vendor and VENDOR_WORDS[term.name] not in vendors:
            parts.append(f"No GPU of {VENDOR_WORDS[term.name]} is among them.")
        parts.extend(f"{_sentence(note)}." for note in self._notes)
        parts.append(self._advice)
        return " ".join(parts)

    def _found(self) -> str:
        """What is here as a request would say it, with the names that the driver reports."""
        gpus = tuple(device for device in self._devices if device.vendor != "cpu")
        cores = tuple(device for device in self._devices if device.vendor == "cpu")
        parts = [Pool(devices=cores).spec] if cores else []
        parts.append(f"{Pool(devices=gpus).spec} ({_list(gpus)})" if gpus else "no GPU")
        return f"{self._where} {' and '.join(parts)}"


def _is_cut_up(device: Device) -> bool:
    """Whether a whole card has slices: what runs on it then is a slice, whatever its name says."""
    is_card = not device.id.startswith("MIG-") and "-mig-" not in device.kind
    return is_card and "mig" in device.flags and "vgpu" not in device.flags


def _why_unresolved(device: Device) -> str:
    """Say why a device has no kind, and which kinds it may be by what else it reports."""
    if FACTS_DISAGREE in device.flags:
        return "its name says one thing, and its units, memory or architecture another"
    if not device.inferred:
        return "that name fits no model or several"
    return (
        f"that name fits no model or several. By the rest it may be {' or '.join(device.inferred)}, which is inferred, "
        "so it is not taken for that"
    )


def _by_memory(devices: Sequence[Device]) -> list[list[Device]]:
    groups: list[list[Device]] = []
    for device in sorted(devices, key=lambda device: device.memory_bytes or 0):
        smallest = (groups[-1][0].memory_bytes or 0) if groups else 0
        if groups and (device.memory_bytes or 0) <= smallest * (1 + TWIN_TOLERANCE):
            groups[-1].append(device)
        else:
            groups.append([device])
    return [sorted(group, key=devices.index) for group in groups]


def _list(devices: Sequence[Device]) -> str:
    """Each sort of device once, with how many there are: `10x NVIDIA A40, sm_86, …`."""
    texts = [identity(device) for device in devices]
    return "; ".join(f"{texts.count(text)}x {text}" for text in dict.fromkeys(texts))


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:].rstrip(".")
