"""The device that a worker computes on: from what torch says of it to whether it is the one that was leased.

Imports no torch: whoever has it hands it over.
"""

import re
from typing import Any, Final

import msgspec

from pytest_mixgpu.errors import RunFailedError

_NO_UUID: Final = re.compile(r"[0-]*")
_PCI: Final = re.compile(r"[0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}(?:\.[0-7])?")


class UsedDevice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What torch says of the device that it computes on."""

    name: str
    uuid: str
    """Without a prefix, `8932f937-…` or AMD's 16 hexadecimal digits; empty where it says none."""
    pci_address: str
    """`0000:3b:00`, since torch does not know the function; empty where it says none."""

    def __str__(self) -> str:
        """As it is recorded."""
        return ", ".join(
            part for part in (self.name, self.uuid, self.pci_address and f"PCI {self.pci_address}") if part
        )


def used_device(torch: Any) -> UsedDevice | None:
    """Ask torch what it computes on.

    Args:
        torch: the module.

    Returns:
        None where no GPU is in use.
    """
    if not torch.cuda.is_initialized():
        return None
    properties = torch.cuda.get_device_properties(torch.cuda.current_device())
    return UsedDevice(
        name=str(properties.name),
        uuid=_uuid(getattr(properties, "uuid", None), is_amd=torch.version.hip is not None),
        pci_address=_pci_address(properties),
    )


def check_used(used: UsedDevice, device_id: str, *, worker: str) -> None:
    """Refuse to go on with a device that is not the leased one.

    Nothing is concluded from what either side does not say: a MIG slice has its own UUID that not every runtime shows.

    Args:
        used: what torch computes on.
        device_id: of the leased device: a UUID, or a text with its PCI address in it.
        worker: whose device it is.

    Raises:
        RunFailedError: they are two devices.
    """
    leased = device_id.casefold()
    place = _PCI.search(leased)
    if leased.startswith("gpu-") and used.uuid:
        is_same = leased.removeprefix("gpu-").partition(":")[0] == used.uuid
    elif place is not None and used.pci_address:
        is_same = place[0].partition(".")[0] == used.pci_address
    else:
        return
    if not is_same:
        raise RunFailedError(
            f"{worker} was given {device_id}, and torch computes on {used}: what it measured would be of another "
            "device. Variables that choose devices must not be set between the session and its workers.",
            worker=worker,
        )


def _uuid(value: Any, *, is_amd: bool) -> str:
    text = ("" if value is None else str(value)).casefold().removeprefix("gpu-")
    if is_amd:
        # HIP keeps its 16 digits as text in the 16 bytes, and torch writes these bytes as a UUID.
        try:
            text = bytes.fromhex(text.replace("-", "")).decode("ascii").casefold()
        except (ValueError, UnicodeDecodeError):
            return ""
        if not re.fullmatch(r"[0-9a-f]{16}", text):
            return ""
    return "" if _NO_UUID.fullmatch(text) else text


def _pci_address(properties: Any) -> str:
    domain, bus, device = (getattr(properties, f"pci_{part}_id", None) for part in ("domain", "bus", "device"))
    if domain is None or bus is None or device is None:
        return ""
    return f"{domain:04x}:{bus:02x}:{device:02x}"
