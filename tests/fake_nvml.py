"""A stand-in for NVIDIA's library: replays what a driver said, function by function. The facts are of our own making.

What a device's facts do not hold is not supported, as on hardware. An answer is found under the function's name, or
under the name with its arguments after the handle: `("nvmlDeviceGetClockInfo", 1)`. A `Fault` is raised.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from pytest_mixgpu.devices.nvml import NvmlError

NOT_SUPPORTED: Final = 3
NO_PERMISSION: Final = 4
NOT_FOUND: Final = 6
DRIVER_NOT_LOADED: Final = 9
LIBRARY_NOT_FOUND: Final = 12
GPU_IS_LOST: Final = 15
VERSION_MISMATCH: Final = 18
UNKNOWN_ERROR: Final = 999

NO_NUMBER: Final = 2**32 - 1
"""What the library writes into a number of 32 bits that it does not know."""

Facts = dict[Any, Any]


class Fault(NamedTuple):
    """An answer that is an error."""

    code: int
    text: str = "made up"


class FakeHandle:
    """Names a card or a slice."""

    def __init__(self, facts: Facts, slices: Sequence[Facts] = ()) -> None:
        self.facts = facts
        self.slices = tuple(FakeHandle(part) for part in slices)


class FakeLibrary:
    """Answers like a driver with these cards.

    Args:
        cards: facts of each card, in the library's order; a `Fault` is a card without a handle. `slices` holds the
            facts of its MIG slices.
        paths: level of the way between two cards, by the lower and the higher index.
        driver: the driver's version, or the fault with which the library does not open.
    """

    def __init__(
        self,
        *cards: Facts | Fault,
        paths: Mapping[tuple[int, int], int] | None = None,
        driver: str | Fault = "550.90.07",
    ) -> None:
        self.driver = driver
        self.paths = dict(paths or {})
        self.num_open = 0
        self.calls: list[str] = []
        self._cards: list[FakeHandle | Fault] = [
            card
            if isinstance(card, Fault)
            else FakeHandle({key: value for key, value in card.items() if key != "slices"}, card.get("slices", ()))
            for card in cards
        ]

    def facts(self, index: int) -> Facts:
        """What a card says; a test may change it while the library is open."""
        card = self._cards[index]
        assert isinstance(card, FakeHandle)
        return card.facts

    def call(self, function: str, *arguments: Any) -> Any:
        """Answer, or raise what the driver would."""
        self.calls.append(function)
        special = getattr(self, f"_{function}", None)
        if special is not None:
            return special(*arguments)
        handle, *rest = arguments or (None,)
        if not isinstance(handle, FakeHandle):
            raise NvmlError(NOT_SUPPORTED, "Not Supported", function)
        answer = handle.facts.get((function, *rest), handle.facts.get(function, Fault(NOT_SUPPORTED)))
        return _given(answer, function)

    def _nvmlInit(self) -> None:  # noqa: N802 - the library's names
        if isinstance(self.driver, Fault):
            _given(self.driver, "nvmlInit")
        self.num_open += 1

    def _nvmlShutdown(self) -> None:  # noqa: N802
        self.num_open -= 1

    def _nvmlSystemGetDriverVersion(self) -> Any:  # noqa: N802
        return _given(self.driver, "nvmlSystemGetDriverVersion")

    def _nvmlDeviceGetCount(self) -> int:  # noqa: N802
        return len(self._cards)

    def _nvmlDeviceGetHandleByIndex(self, index: int) -> Any:  # noqa: N802
        return _given(self._cards[index], "nvmlDeviceGetHandleByIndex")

    def _nvmlDeviceGetHandleByUUID(self, uuid: str) -> FakeHandle:  # noqa: N802
        cards = [card for card in self._cards if isinstance(card, FakeHandle)]
        for handle in (part for card in cards for part in (card, *card.slices)):
            if handle.facts.get("nvmlDeviceGetUUID") == uuid:
                return handle
        raise NvmlError(NOT_FOUND, "Not Found", "nvmlDeviceGetHandleByUUID")

    def _nvmlDeviceGetMaxMigDeviceCount(self, card: FakeHandle) -> int:  # noqa: N802
        return 7 if card.slices else 0

    def _nvmlDeviceGetMigDeviceHandleByIndex(self, card: FakeHandle, index: int) -> FakeHandle:  # noqa: N802
        if index >= len(card.slices):
            raise NvmlError(NOT_FOUND, "Not Found", "nvmlDeviceGetMigDeviceHandleByIndex")
        return card.slices[index]

    def _nvmlDeviceGetTopologyCommonAncestor(self, one: FakeHandle, other: FakeHandle) -> int:  # noqa: N802
        first, last = sorted((self._cards.index(one), self._cards.index(other)))
        if (first, last) not in self.paths:
            raise NvmlError(NOT_SUPPORTED, "Not Supported", "nvmlDeviceGetTopologyCommonAncestor")
        return self.paths[first, last]

    def _nvmlDeviceGetFieldValues(self, handle: FakeHandle, wanted: Sequence[tuple[int, int]]) -> Any:  # noqa: N802
        fields = handle.facts.get("fields", {})
        if isinstance(fields, Fault):
            return _given(fields, "nvmlDeviceGetFieldValues")
        return [
            {"fieldId": number, "scopeId": scope, "nvmlReturn": 0, "value": fields[number, scope]}
            if (number, scope) in fields
            else {"fieldId": number, "scopeId": scope, "nvmlReturn": NOT_SUPPORTED, "value": 0}
            for number, scope in wanted
        ]


def _given(answer: Any, function: str) -> Any:
    if isinstance(answer, Fault):
        raise NvmlError(answer.code, answer.text, function)
    return answer


def card_facts(name: str, index: int, *, memory_gib: float, capability: tuple[int, int], **other: Any) -> Facts:
    """Facts of a healthy card on a host of its own making: UUID and PCI address follow from its index.

    Args:
        name: what the driver calls it.
        index: its place; card 3 is `GPU-00000003-…` at `0000:31:00.0`.
        memory_gib: its memory.
        capability: its compute capability.
        other: answers beside these or instead of them, by the function's name.
    """
    facts: Facts = {
        "nvmlDeviceGetName": name,
        "nvmlDeviceGetUUID": uuid_of(index),
        "nvmlDeviceGetPciInfo": pci_info(f"00000000:{index * 16 + 1:02X}:00.0"),
        "nvmlDeviceGetMemoryInfo": {"total": int(memory_gib * 2**30), "free": 2**30, "used": 2**20},
        "nvmlDeviceGetCudaComputeCapability": list(capability),
        "nvmlDeviceGetMemoryAffinity": [1 << (index % 2), 0],
        "nvmlDeviceGetCpuAffinity": [0xFF << 8 * (index % 2), 0],
        "nvmlDeviceGetVbiosVersion": "94.02.5C.00.03",
        ("nvmlDeviceGetClockInfo", 1): 210,
        ("nvmlDeviceGetMaxClockInfo", 1): 1740,
        "nvmlDeviceGetPowerManagementLimit": 250_000,
        "nvmlDeviceGetPowerManagementDefaultLimit": 300_000,
        "nvmlDeviceGetEccMode": [1, 1],
        "nvmlDeviceGetPersistenceMode": 1,
        ("nvmlDeviceGetTemperature", 0): 34,
        "nvmlDeviceGetVirtualizationMode": 0,
        "nvmlDeviceGetComputeRunningProcesses": [],
    }
    return facts | other


def uuid_of(index: int) -> str:
    """The UUID of a made-up card."""
    return f"GPU-{index:08x}-aaaa-bbbb-cccc-0123456789ab"


def slice_uuid(index: int) -> str:
    """The UUID of a made-up slice."""
    return f"MIG-{index:08x}-a75d-5afc-978f-d2f1294409fd"


def pci_info(bus_id: str) -> Facts:
    """Where a card is plugged in, as the library writes it: `00000000:3B:00.0`."""
    return {"busId": bus_id, "busIdLegacy": bus_id[4:]}


def a40_host(num_cards: int = 4) -> FakeLibrary:
    """Cards of one kind; the first two are joined by four links, the others meet at the processor."""
    cards = [
        card_facts("NVIDIA A40", index, memory_gib=44.99, capability=(8, 6), nvmlDeviceGetNumGpuCores=10752)
        for index in range(num_cards)
    ]
    for one, other in ((0, 1), (1, 0)):
        if max(one, other) < num_cards:
            for link in range(4):
                cards[one]["nvmlDeviceGetNvLinkState", link] = 1
                cards[one]["nvmlDeviceGetNvLinkRemotePciInfo", link] = cards[other]["nvmlDeviceGetPciInfo"]
    paths = {(one, other): 50 if one < 2 <= other else 30 for other in range(num_cards) for one in range(other)}
    return FakeLibrary(*cards, paths=paths)


def mixed_host() -> FakeLibrary:
    """An RTX 4090, which has no ECC, before an A40: which of them CUDA calls 0 is not ours to guess."""
    gaming = card_facts("NVIDIA GeForce RTX 4090", 0, memory_gib=23.99, capability=(8, 9))
    del gaming["nvmlDeviceGetEccMode"]
    return FakeLibrary(gaming, card_facts("NVIDIA A40", 1, memory_gib=44.99, capability=(8, 6)), paths={(0, 1): 40})


def mig_host() -> FakeLibrary:
    """One H100 cut into two slices, and one that is whole."""
    slices = [
        {
            "nvmlDeviceGetName": f"NVIDIA H100 80GB HBM3 MIG {profile}",
            "nvmlDeviceGetUUID": slice_uuid(index),
            "nvmlDeviceGetGpuInstanceId": index + 1,
            "nvmlDeviceGetComputeInstanceId": 0,
            "nvmlDeviceGetMemoryInfo": {"total": memory_gib * 2**30, "free": 0, "used": 0},
            "nvmlDeviceGetAttributes": {"multiprocessorCount": num_units, "memorySizeMB": memory_gib * 1024},
        }
        for index, (profile, memory_gib, num_units) in enumerate((("1g.10gb", 10, 16), ("3g.40gb", 40, 60)))
    ]
    cut_up = card_facts(
        "NVIDIA H100 80GB HBM3", 0, memory_gib=79.6, capability=(9, 0), nvmlDeviceGetMigMode=[1, 1], slices=slices
    )
    whole = card_facts("NVIDIA H100 80GB HBM3", 1, memory_gib=79.6, capability=(9, 0), nvmlDeviceGetMigMode=[0, 0])
    return FakeLibrary(cut_up, whole)


def vgpu_host() -> FakeLibrary:
    """A guest with a slice of an A40 of which the driver says little."""
    facts = card_facts("NVIDIA A40-48Q", 0, memory_gib=48, capability=(8, 6), nvmlDeviceGetVirtualizationMode=2)
    silent = {
        "nvmlDeviceGetVbiosVersion": "N/A",
        ("nvmlDeviceGetMaxClockInfo", 1): NO_NUMBER,
        "nvmlDeviceGetPowerManagementLimit": Fault(NOT_SUPPORTED),
        "nvmlDeviceGetPowerManagementDefaultLimit": NO_NUMBER,
        "nvmlDeviceGetEccMode": Fault(NO_PERMISSION),
        "nvmlDeviceGetPersistenceMode": Fault(UNKNOWN_ERROR),
        ("nvmlDeviceGetTemperature", 0): Fault(NOT_SUPPORTED),
        ("nvmlDeviceGetClockInfo", 1): Fault(NOT_SUPPORTED),
        "nvmlDeviceGetMemoryAffinity": Fault(NOT_SUPPORTED),
        "nvmlDeviceGetCpuAffinity": Fault(NOT_SUPPORTED),
    }
    return FakeLibrary(facts | silent)
