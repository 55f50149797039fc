"""Kinds of CPU: from a name to the variables that its participant must have before torch is imported. Knows no torch.

Two kinds compute with other kernels, so that they differ in their bits as parts of two vendors do. Any core can serve
as any of them. Measured on the digits workload: other bits, and steps about 1.3 times as long with portable kernels.
Whether the kinds of a run really differed is read from what the workers report (`cpu_capability`), not from here.
"""

from typing import Final

import msgspec


class CpuKind(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One way of computing on a core."""

    name: str
    description: str
    environment: tuple[tuple[str, str], ...]
    """Variables sorted by name; they decide once, when torch is imported."""


CPU_KINDS: Final = {
    kind.name: kind
    for kind in (
        CpuKind(name="cpu", description="the machine's own kernels", environment=()),
        CpuKind(
            name="cpu-portable",
            description="portable kernels, as an old processor would use them",
            # MKL_CBWR would change the bits of MKL as well, but makes a step several times as long.
            environment=(("ATEN_CPU_CAPABILITY", "default"), ("ONEDNN_MAX_CPU_ISA", "SSE41")),
        ),
    )
}
