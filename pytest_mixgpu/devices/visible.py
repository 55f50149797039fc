"""Visible devices: from a caller's environment to the devices that its runtime counts, in its order. Asks no hardware.

The rules are those of the CUDA, ROCr and HIP runtimes as torch applies them; where these differ, the one that lets
fewer devices through. Devices are chosen among and never re-indexed. Nothing is guessed: CUDA's own order of devices of
several kinds is its secret, so that an index into it is refused.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

CUDA_LIST: Final = "CUDA_VISIBLE_DEVICES"
CUDA_ORDER: Final = "CUDA_DEVICE_ORDER"
ROCR_LIST: Final = "ROCR_VISIBLE_DEVICES"
HIP_LISTS: Final = ("HIP_VISIBLE_DEVICES", CUDA_LIST, "GPU_DEVICE_ORDINAL")
"""Lists that HIP reads within what ROCr left; the first that is set counts."""

_CUDA_NUMBER: Final = re.compile(r"\+?([0-9]+)")
_ROCR_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,8}|0[xX][0-9a-fA-F]{1,8}")


class Visible(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an environment lets through, in the order of the runtime's ordinals."""

    indices: tuple[int, ...] = ()
    """Cards by their place in the machine's order."""
    slices: tuple[str, ...] = ()
    """UUIDs of MIG slices; they come after the cards."""
    note: str = ""
    """What the caller may not have meant: a list that is cut, that hides all, or that cannot be read for certain."""
    is_refused: bool = False
    """Whether the list cannot be read for certain, so that nothing was let through."""


def cuda_visible(
    environ: Mapping[str, str],
    uuids: Sequence[str],
    *,
    slices: Mapping[str, str] | None = None,
    why_no_order: str = "",
) -> Visible:
    """Apply the caller's list to the NVIDIA cards of a machine.

    Args:
        environ: the caller's variables.
        uuids: UUID of each card in the order of their PCI addresses.
        slices: UUID of each MIG slice, by every name that it has.
        why_no_order: why an index names no card for certain; empty if it does. `CUDA_DEVICE_ORDER` is looked at by
            whoever knows the cards.
    """
    named = slices or {}
    value = environ.get(CUDA_LIST)
    if value is None:
        return Visible(indices=tuple(range(len(uuids))), slices=tuple(dict.fromkeys(named.values())))
    entries = [part.strip() for part in value.split(",")]
    if entries[0].startswith("MIG-"):
        # One slice a process: the runtime takes the first and ignores what follows.
        if entries[0] in named:
            return Visible(slices=(named[entries[0]],))
        return Visible(note=f"{CUDA_LIST}={value} names no slice that is here")
    if entries[0].startswith("GPU-"):
        found = _chosen(entries, lambda entry: _by_uuid(entry, uuids))
        return Visible(indices=found, note=_cut(CUDA_LIST, value, entries, found))
    return _by_cuda_numbers(value, entries, len(uuids), why_no_order)


def rocm_visible(environ: Mapping[str, str], uuids: Sequence[str]) -> Visible:
    """Apply the caller's lists to the AMD devices of a machine: ROCr's first, HIP's within what it left.

    Args:
        environ: the caller's variables.
        uuids: `GPU-<16 hexadecimal digits>` of each device in the kernel's order; empty where it has none.
    """
    rocr = environ.get(ROCR_LIST)
    left = tuple(range(len(uuids))) if rocr is None else _rocr_list(rocr, uuids)
    name = next((name for name in HIP_LISTS if name in environ), None)
    if name is None:
        note = "" if rocr is None else _cut(ROCR_LIST, rocr, rocr.split(","), left)
        return Visible(indices=left, note=note)
    value = environ[name]
    entries = [part.strip() for part in value.split(",")]
    inner = _chosen(entries, lambda entry: _hip_index(entry, [uuids[index] for index in left]))
    note = _cut(name, value, entries, inner)
    if left and not inner and value:
        note = (
            f"{ROCR_LIST}={'(not set)' if rocr is None else rocr} and {name}={value} together hide every AMD GPU: "
            f"HIP counts within the {len(left)} that ROCr leaves. Unset one of them"
        )
    return Visible(indices=tuple(left[index] for index in inner), note=note)


def cuda_narrowing(uuid: str) -> tuple[tuple[str, str], ...]:
    """The variables with which a process sees one card or slice alone, in whatever order its runtime counts.

    Args:
        uuid: `GPU-…` or `MIG-…`, whole.
    """
    return ((CUDA_LIST, uuid),)


def rocm_narrowing(environ: Mapping[str, str], *, index: int, uuid: str) -> tuple[tuple[str, str], ...]:
    """The variables with which a process started from here sees one device alone, sorted by name.

    ROCr is told which; every list that HIP might read then counts within that one device. A list of HIP's alone would
    count within what the caller left to ROCr, and its meaning would change with it.

    Args:
        environ: the caller's variables.
        index: the device's place in the kernel's order.
        uuid: as in `rocm_visible`; empty where the device has none and is named by its place.
    """
    inner = {name: "0" for name in HIP_LISTS if name in environ or name == HIP_LISTS[0]}
    return tuple(sorted({ROCR_LIST: uuid or str(index), **inner}.items()))


def _by_cuda_numbers(value: str, entries: Sequence[str], num_cards: int, why_no_order: str) -> Visible:
    numbers = [_cuda_number(entry) for entry in entries]
    asked = numbers[: numbers.index(None)] if None in numbers else numbers
    if why_no_order and asked and _within(asked[0], num_cards) is not None:
        return Visible(
            note=f"{CUDA_LIST}={value} is not followed, since {why_no_order}: set {CUDA_ORDER}=PCI_BUS_ID, or name "
            "devices by their UUIDs (--mixgpu-devices with the list unset shows them)",
            is_refused=True,
        )
    if len(set(asked)) < len(asked):
        return Visible(note=f"{CUDA_LIST}={value} names a device twice, which lets none through")
    found = _chosen(entries, lambda entry: _within(_cuda_number(entry), num_cards))
    return Visible(indices=found, note=_cut(CUDA_LIST, value, entries, found))


def _chosen(entries: Iterable[str], index_of: Callable[[str], int | None]) -> tuple[int, ...]:
    """Read a list to its first invalid entry; a device that is named twice empties it."""
    found: list[int] = []
    for entry in entries:
        index = index_of(entry)
        if index is None:
            break
        if index in found:
            return ()
        found.append(index)
    return tuple(found)


def _rocr_list(value: str, uuids: Sequence[str]) -> tuple[int, ...]:
    """ROCr's own reading: no regard to case, and the list ends where a device is named again."""
    found: list[int] = []
    for entry in (part.strip() for part in value.split(",")):
        if entry[:1] in {"g", "G"}:
            index = _by_uuid(entry.upper(), [uuid.upper() for uuid in uuids])
        else:
            index = _within(_rocr_number(entry), len(uuids))
        if index is None or index in found:
            break
        found.append(index)
    return tuple(found)


def _hip_index(entry: str, uuids: Sequence[str]) -> int | None:
    if entry.startswith("GPU-"):
        return _by_uuid(entry, uuids)
    # HIP takes a number only in the way that it would write it itself.
    return _within(int(entry), len(uuids)) if re.fullmatch(r"0|[1-9][0-9]{0,8}", entry) else None


def _by_uuid(entry: str, uuids: Sequence[str]) -> int | None:
    """Which device an abbreviated UUID names; None for none or several."""
    if len(entry) <= len("GPU-") or not entry.startswith("GPU-"):
        return None
    matches = [index for index, uuid in enumerate(uuids) if uuid.startswith(entry)]
    return matches[0] if len(matches) == 1 else None


def _cuda_number(entry: str) -> int | None:
    """CUDA reads a number as far as it goes, so that `1st` is 1."""
    match = _CUDA_NUMBER.match(entry)
    return int(match[1][:9]) if match and match[1].isascii() else None


def _rocr_number(entry: str) -> int | None:
    return int(entry, 0) if _ROCR_NUMBER.fullmatch(entry) else None


def _within(number: int | None, count: int) -> int | None:
    return number if number is not None and number < count else None


def _cut(name: str, value: str, entries: Sequence[str], found: Sequence[int]) -> str:
    if not value.strip():
        return f"{name} is set and empty, which lets no device through"
    if len(found) == len(entries):
        return ""
    if not found:
        return f"{name}={value} lets no device through"
    return f"{name}={value} ends before {entries[len(found)]!r}, which names no single device here"
