"""Looks at an NVIDIA device through the management library: one `Glance` from a dozen questions. No torch."""

from typing import Final

from pytest_mixgpu.devices.glance import BUSY_SHARE, Glance
from pytest_mixgpu.devices.nvml import Handle, Nvml

_SM_CLOCK: Final = 1
_DIE: Final = 0
_UNCORRECTED: Final = 1
_SINCE_DRIVER_LOADED: Final = 0
_LINK_ERRORS: Final = ((38, 0), (45, 0), (52, 0), (59, 0))
"""NVML_FI_DEV_NVLINK_…_TOTAL: CRC errors of flits and of data, replays, recoveries."""
_FULL_STATES: Final = 2
"""P0 to P2 compute at full performance; what is above idles or shows video."""
_APPLICATION_CLOCKS: Final = 0x2
REASONS: Final = {
    0x4: "sw-power-cap",
    0x8: "hw-slowdown",
    0x10: "sync-boost",
    0x20: "sw-thermal-slowdown",
    0x40: "hw-thermal-slowdown",
    0x80: "hw-power-brake-slowdown",
    0x100: "display-clock-setting",
    0x200: "board-limit",
    0x400: "reliability",
}
"""Bits of the driver's reasons. Idle (0x1) and clocks that somebody set (0x2) hold nothing back that was allowed."""
_PROCESSES: Final = (
    "nvmlDeviceGetComputeRunningProcesses",
    "nvmlDeviceGetGraphicsRunningProcesses",
    "nvmlDeviceGetMPSComputeRunningProcesses",
)


class NvidiaEye:
    """Looks at one card or slice.

    Args:
        nvml: the open library.
        uuid: `GPU-…` or `MIG-…`. Only its processes are a slice's own: all else is asked of its card.

    Raises:
        NvmlError: there is no such device, or it may not be looked at.
    """

    def __init__(self, nvml: Nvml, uuid: str) -> None:
        self._nvml = nvml
        self._own: Handle = nvml.handle(uuid)
        card = nvml.ask("nvmlDeviceGetDeviceHandleFromMigDeviceHandle", self._own) if uuid.startswith("MIG-") else None
        self._card: Handle = self._own if card is None else card
        self._max_clock_mhz = nvml.number("nvmlDeviceGetMaxClockInfo", self._card, _SM_CLOCK)

    def look(self) -> Glance:
        """Look once; errors as `Nvml.ask`."""
        nvml, card = self._nvml, self._card
        bits = nvml.number("nvmlDeviceGetCurrentClocksEventReasons", card)
        if bits is None:
            # Its name in drivers before 535.
            bits = nvml.number("nvmlDeviceGetCurrentClocksThrottleReasons", card)
        state = nvml.number("nvmlDeviceGetPerformanceState", card)
        is_full = state is None or state <= _FULL_STATES
        busy_percent = nvml.entry("gpu", "nvmlDeviceGetUtilizationRates", card)
        return Glance(
            pids=self._pids(),
            is_busy=None if busy_percent is None else busy_percent >= 100 * BUSY_SHARE,
            clock_mhz=nvml.number("nvmlDeviceGetClockInfo", card, _SM_CLOCK) if is_full else None,
            allowed_clock_mhz=self._allowed_mhz(bits),
            throttle_reasons=None if bits is None else tuple(name for bit, name in REASONS.items() if bits & bit),
            temperature_c=nvml.number("nvmlDeviceGetTemperature", card, _DIE),
            power_w=_watts(nvml.number("nvmlDeviceGetPowerUsage", card)),
            power_cap_w=_watts(nvml.number("nvmlDeviceGetPowerManagementLimit", card)),
            ecc_errors=nvml.number("nvmlDeviceGetTotalEccErrors", card, _UNCORRECTED, _SINCE_DRIVER_LOADED),
            link_errors=self._link_errors(),
        )

    def _pids(self) -> tuple[int, ...] | None:
        """A process that computes and draws is listed twice. A list that the driver lacks is none, not an empty one."""
        lists = [self._nvml.ask(function, self._own) for function in _PROCESSES]
        known = [processes for processes in lists if processes is not None]
        return tuple(sorted({int(one["pid"]) for processes in known for one in processes})) if known else None

    def _allowed_mhz(self, bits: int | None) -> float | None:
        """The highest clock, or the one that somebody set where the driver says that it keeps to that."""
        if bits is not None and bits & _APPLICATION_CLOCKS:
            chosen_mhz = self._nvml.number("nvmlDeviceGetApplicationsClock", self._card, _SM_CLOCK)
            if chosen_mhz is not None:
                return chosen_mhz
        return self._max_clock_mhz

    def _link_errors(self) -> int | None:
        """Counters of NVLink and the replays of PCIe together; what a part does not have is not counted."""
        counts = [
            *self._nvml.field_values(self._card, _LINK_ERRORS),
            self._nvml.number("nvmlDeviceGetPcieReplayCounter", self._card),
        ]
        known = [int(count) for count in counts if count is not None]
        return sum(known) if known else None


def _watts(milliwatts: int | None) -> float | None:
    return None if milliwatts is None else milliwatts / 1000
