"""AMD's management library: from a PCI address to what it says beyond the kernel's files. Unknown is None, never zero.

It comes with ROCm and may be missing, or be of another version than the driver: then the kernel's files alone speak.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from pytest_mixgpu.errors import MixgpuError

if TYPE_CHECKING:
    from collections.abc import Callable

_NO_TEXT: Final = frozenset({"", "n/a", "unknown"})
_MICROWATTS: Final = 1_000_000
_MOST_W: Final = 10_000
"""A power cap above this is stated in microwatts: versions of the library differ in its unit."""


class AmdLibraryError(MixgpuError, OSError):
    """The library cannot be opened."""


class Said(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the library says of one device."""

    name: str | None = None
    num_units: int | None = None
    driver: str | None = None
    firmware: str | None = None
    clock_mhz: float | None = None
    max_clock_mhz: float | None = None
    power_cap_w: float | None = None
    default_power_cap_w: float | None = None


class AmdLibrary(Protocol):
    """What is asked of AMD's library."""

    def look(self) -> dict[str, dict[str, Any]]:
        """Ask every device everything.

        Returns:
            By PCI address as the kernel writes it, then by the function's name without `amdsmi_get_`: what it
            returned. What it refused is left out.

        Raises:
            AmdLibraryError: it is not here, or does not open.
        """


class AmdsmiLibrary:
    """The `amdsmi` package that ROCm installs."""

    def look(self) -> dict[str, dict[str, Any]]:
        """Ask every device everything."""
        try:
            # It loads a library of C, and fails in as many ways as there are installations.
            import amdsmi
        except Exception as error:
            raise AmdLibraryError(f"amdsmi does not load: {error}") from error
        try:
            amdsmi.amdsmi_init()
        except amdsmi.AmdSmiException as error:
            raise AmdLibraryError(f"amdsmi does not open: {error}") from error
        try:
            handles = amdsmi.amdsmi_get_processor_handles()
            return dict(self._ask(amdsmi, handle) for handle in handles)
        except amdsmi.AmdSmiException as error:
            raise AmdLibraryError(f"amdsmi lists no devices: {error}") from error
        finally:
            amdsmi.amdsmi_shut_down()

    def _ask(self, amdsmi: Any, handle: Any) -> tuple[str, dict[str, Any]]:
        questions: dict[str, Callable[[], Any]] = {
            "gpu_asic_info": lambda: amdsmi.amdsmi_get_gpu_asic_info(handle),
            "gpu_driver_info": lambda: amdsmi.amdsmi_get_gpu_driver_info(handle),
            "gpu_vbios_info": lambda: amdsmi.amdsmi_get_gpu_vbios_info(handle),
            "power_cap_info": lambda: amdsmi.amdsmi_get_power_cap_info(handle),
            "clock_info": lambda: amdsmi.amdsmi_get_clock_info(handle, amdsmi.AmdSmiClkType.GFX),
        }
        answers: dict[str, Any] = {}
        for name, question in questions.items():
            try:
                answers[name] = question()
            except (amdsmi.AmdSmiException, AttributeError):
                continue
        return str(amdsmi.amdsmi_get_gpu_device_bdf(handle)).lower(), answers


def said(answers: dict[str, Any]) -> Said:
    """Take what the library's answers hold.

    Args:
        answers: of one device, as `AmdLibrary.look` gives them.
    """

    def field(function: str, name: str) -> Any:
        answer = answers.get(function)
        return answer.get(name) if isinstance(answer, dict) else None

    return Said(
        name=_text(field("gpu_asic_info", "market_name")),
        num_units=_number(field("gpu_asic_info", "num_compute_units")),
        driver=_text(field("gpu_driver_info", "driver_version")),
        firmware=_text(field("gpu_vbios_info", "version")) or _text(field("gpu_vbios_info", "part_number")),
        clock_mhz=_number(field("clock_info", "clk")),
        max_clock_mhz=_number(field("clock_info", "max_clk")),
        power_cap_w=_watts(field("power_cap_info", "power_cap")),
        default_power_cap_w=_watts(field("power_cap_info", "default_power_cap")),
    )


def _watts(value: Any) -> float | None:
    number = _number(value)
    if not number:
        return None
    return number / _MICROWATTS if number > _MOST_W else float(number)


def _number(value: Any) -> int | None:
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value not in {2**16 - 1, 2**32 - 1, 2**64 - 1} and value >= 0 else None


def _text(value: Any) -> str | None:
    return value.strip() if isinstance(value, str) and value.strip().casefold() not in _NO_TEXT else None
