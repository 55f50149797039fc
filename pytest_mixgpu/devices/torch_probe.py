"""What torch sees: run as a program of its own, prints one JSON document. Standard library and torch only.

A process of its own, so that the one that asks imports no torch, opens no context on a device and survives a driver
that does not. It is started by path, not as a module: nothing but the interpreter that has torch is needed.
"""

import json
import sys
from typing import Any


def look() -> dict[str, Any]:
    """List the devices of this torch build, in the order of its ordinals."""
    import torch

    build: dict[str, Any] = {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "devices": [],
        "error": None,
    }
    if build["cuda"] is None and build["hip"] is None:
        return build
    try:
        count = torch.cuda.device_count()
        build["devices"] = [_properties(torch.cuda.get_device_properties(index)) for index in range(count)]
    except (RuntimeError, AssertionError) as error:
        build["error"] = f"{type(error).__name__}: {error}"
    return build


def _properties(properties: Any) -> dict[str, Any]:
    """Take what this version of torch reports; what it does not is None."""
    architecture = getattr(properties, "gcnArchName", None)
    return {
        "name": str(properties.name),
        "memory_bytes": int(properties.total_memory),
        "capability": [int(properties.major), int(properties.minor)],
        "architecture": None if architecture is None else str(architecture),
        "num_units": int(properties.multi_processor_count),
        "uuid": _text(getattr(properties, "uuid", None)),
        "bus": [_number(getattr(properties, f"pci_{part}_id", None)) for part in ("domain", "bus", "device")],
    }


def _text(value: Any) -> str | None:
    return None if value is None else str(value)


def _number(value: Any) -> int | None:
    return None if value is None else int(value)


if __name__ == "__main__":
    json.dump(look(), sys.stdout)
