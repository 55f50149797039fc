"""The ways between NVIDIA cards of one host, as the driver describes them; nothing is measured."""

from collections import Counter
from collections.abc import Mapping
from itertools import combinations
from typing import Final

from pytest_mixgpu.devices.model import DeviceLink
from pytest_mixgpu.devices.nvml import Handle, Nvml

_PATHS: Final = {
    0: "one-board",
    10: "pcie-switch",
    20: "pcie-bridges",
    30: "host-bridge",
    40: "numa-node",
    50: "system",
}
"""The library's levels, from the nearest common ancestor down to two processors."""

_MAX_LINKS: Final = 36
_REMOTE_SWITCH: Final = 2


def links_between(nvml: Nvml, handles: Mapping[str, Handle]) -> tuple[DeviceLink, ...]:
    """Describe every pair of cards whose way is known.

    Args:
        nvml: the open library.
        handles: by UUID.

    Raises:
        NvmlError: a card or the driver is gone.
    """
    remotes = {uuid: _remotes(nvml, handle) for uuid, handle in handles.items()}
    places = {uuid: nvml.entry("busId", "nvmlDeviceGetPciInfo", handle) for uuid, handle in handles.items()}
    found: list[DeviceLink] = []
    for one, other in combinations(handles, 2):
        num_links = remotes[one][places[other]] or min(remotes[one]["switch"], remotes[other]["switch"])
        level = nvml.number("nvmlDeviceGetTopologyCommonAncestor", handles[one], handles[other])
        path = f"nvlink:{num_links}" if num_links else _PATHS.get(-1 if level is None else level)
        if path is not None:
            found.append(DeviceLink(from_id=one, to_id=other, path=path))
    return tuple(found)


def _remotes(nvml: Nvml, handle: Handle) -> Counter[str | None]:
    """How many active links lead to each card, by its PCI address, or to a switch."""
    found: Counter[str | None] = Counter()
    for link in range(_MAX_LINKS):
        state = nvml.number("nvmlDeviceGetNvLinkState", handle, link)
        if state is None and link == 0:
            break
        if state != 1:
            continue
        if nvml.number("nvmlDeviceGetNvLinkRemoteDeviceType", handle, link) == _REMOTE_SWITCH:
            found["switch"] += 1
        else:
            remote = nvml.entry("busId", "nvmlDeviceGetNvLinkRemotePciInfo", handle, link)
            if remote is not None:
                found[remote] += 1
    return found
