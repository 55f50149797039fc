"""Visible devices: from a caller's environment to the entries that the runtime counts, in its order. Asks no hardware.

The rules are those of the CUDA and HIP runtimes as torch applies them. Entries are chosen among, never re-indexed: an
entry stays the text that the caller wrote, since an ordinal, a UUID and a slice each name a device in their own way.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

import msgspec

_ORDINAL: Final = re.compile(r"[0-9]+")


class Visible(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an environment lets through."""

    entries: tuple[str, ...]
    """In the order of the runtime's ordinals, as the caller wrote them."""
    indices: tuple[int | None, ...]
    """Which device of the machine each is; None for a slice, which is a part of one."""
    warning: str = ""


def visible_devices(environ: Mapping[str, str], *, vendor: str, uuids: Sequence[str]) -> Visible:
    """Apply the caller's lists to the devices of a machine.

    Args:
        environ: the caller's variables.
        vendor: `nvidia` or `amd`.
        uuids: UUID of each device of that vendor, in the machine's order; an empty text where it has none.
    """
    if vendor == "amd":
        return _behind_two_filters(environ, uuids)
    entries = _entries(environ.get("CUDA_VISIBLE_DEVICES"), uuids)
    return Visible(entries=tuple(text for text, _ in entries), indices=tuple(index for _, index in entries))


def narrowing(environ: Mapping[str, str], *, vendor: str, entry: str) -> tuple[tuple[str, str], ...]:
    """Give the variables with which a process started from here sees one device alone, sorted by name.

    Args:
        environ: the caller's variables; a filter that only its hardware layer reads stays as it is.
        vendor: `nvidia` or `amd`.
        entry: the device's entry in the caller's list, its UUID, or its ordinal where there is no list.
    """
    if vendor == "nvidia":
        return (("CUDA_VISIBLE_DEVICES", entry),)
    names = ["HIP_VISIBLE_DEVICES"]
    if "CUDA_VISIBLE_DEVICES" in environ:
        # HIP reads both: two lists that differ are refused by some frameworks and misread by others.
        names.insert(0, "CUDA_VISIBLE_DEVICES")
    return tuple((name, entry) for name in names)


def amd_list(environ: Mapping[str, str]) -> str | None:
    """The list that HIP reads: its own, else the one named after CUDA; None is no list."""
    return environ.get("HIP_VISIBLE_DEVICES", environ.get("CUDA_VISIBLE_DEVICES"))


def _behind_two_filters(environ: Mapping[str, str], uuids: Sequence[str]) -> Visible:
    """ROCR filters first; HIP's ordinals count within what it left."""
    outer = _entries(environ.get("ROCR_VISIBLE_DEVICES"), uuids)
    left = [index for _, index in outer if index is not None]
    inner = _entries(amd_list(environ), [uuids[index] for index in left])
    chosen = [(text, left[index]) for text, index in inner if index is not None]
    warning = ""
    if left and inner == [] and amd_list(environ):
        rocr = environ.get("ROCR_VISIBLE_DEVICES", "(not set)")
        warning = (
            f"ROCR_VISIBLE_DEVICES={rocr} and HIP_VISIBLE_DEVICES={amd_list(environ)} together hide every AMD GPU: "
            f"HIP counts within the {len(left)} that ROCR leaves. Unset one of them."
        )
    return Visible(
        entries=tuple(text for text, _ in chosen), indices=tuple(index for _, index in chosen), warning=warning
    )


def _entries(value: str | None, uuids: Sequence[str]) -> list[tuple[str, int | None]]:
    """Read one list; it ends at its first invalid entry, and a repeated one empties it."""
    if value is None:
        return [(str(index), index) for index in range(len(uuids))]
    found: list[tuple[str, int | None]] = []
    for text in (part.strip() for part in value.split(",")):
        if text.startswith("MIG-"):
            # One slice a process: the runtime takes the first and ignores what follows.
            return found or [(text, None)]
        index = _index(text, uuids)
        if index is None:
            break
        if any(index == other for _, other in found):
            return []
        found.append((text, index))
    return found


def _index(text: str, uuids: Sequence[str]) -> int | None:
    if _ORDINAL.fullmatch(text):
        return int(text) if int(text) < len(uuids) else None
    if not text.startswith("GPU-"):
        return None
    matches = [index for index, uuid in enumerate(uuids) if f"GPU-{uuid.removeprefix('GPU-')}".startswith(text)]
    return matches[0] if len(matches) == 1 else None
