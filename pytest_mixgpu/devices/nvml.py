"""NVIDIA's management library: from one of its functions and a handle to a plain value, or None where it has none.

`Library` is all that is asked of it, so that tests replay what a driver said. `Nvml` asks in one way: a value that the
library does not have, does not support or may not tell is None, whether it says so by an error, by a text or by a
number that stands for nothing. Knows no `Device`; imports `pynvml` where the library is opened, and torch never.
"""

import ctypes
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Protocol

from pytest_mixgpu.errors import MixgpuError

Handle = Any
"""The library's own name for a device. It is passed on and never looked into."""

GONE: Final = {
    1: "not initialised",
    9: "driver not loaded",
    12: "library not found",
    15: "device lost",
    16: "device needs a reset",
    18: "driver and library differ in version",
    28: "device not found",
}
"""Codes of errors after which nothing more can be asked; every other error is about one value alone."""

LIBRARY_NOT_FOUND: Final = 12
_FUNCTION_NOT_FOUND: Final = 13
_NO_NUMBER: Final = frozenset({-1, 2**32 - 1, 2**64 - 1})
_NO_TEXT: Final = frozenset({"", "n/a", "[n/a]", "not supported", "[not supported]", "unknown", "[unknown error]"})


class NvmlError(MixgpuError, OSError):
    """The library reported an error.

    Args:
        code: the library's number for it.
        text: the library's words.
        function: what was asked.
    """

    def __init__(self, code: int, text: str, function: str) -> None:
        super().__init__(f"NVML says {text!r} (error {code}) to {function}")
        self.code = code

    @property
    def is_gone(self) -> bool:
        """Whether the device or the whole driver is no longer there to be asked."""
        return self.code in GONE


class Library(Protocol):
    """NVML's functions by their own names."""

    def call(self, function: str, *arguments: Any) -> Any:
        """Call one function.

        Args:
            function: as `pynvml` names it, `nvmlDeviceGetName`.
            arguments: handles, numbers and texts.

        Returns:
            A number, text, handle, or a list or dictionary of these; structures are dictionaries by field.

        Raises:
            NvmlError: the library says so.
        """


class Nvml:
    """Asks the library, and answers None for what it does not know."""

    def __init__(self, library: Library) -> None:
        self._library = library

    def handles(self) -> Iterator[tuple[int, Handle | NvmlError]]:
        """Give each device's index and its handle, or why there is none.

        Raises:
            NvmlError: not even their number can be told.
        """
        for index in range(int(self._library.call("nvmlDeviceGetCount"))):
            try:
                yield index, self._library.call("nvmlDeviceGetHandleByIndex", index)
            except NvmlError as error:
                yield index, error

    def handle(self, uuid: str) -> Handle:
        """Give the handle of a card (`GPU-…`) or of a slice (`MIG-…`).

        Raises:
            NvmlError: there is no such device, or it may not be looked at.
        """
        return self._library.call("nvmlDeviceGetHandleByUUID", uuid)

    def slices(self, card: Handle) -> list[Handle]:
        """Give the handles of a card's MIG slices; a card that cannot have any has none."""
        found = (
            self.ask("nvmlDeviceGetMigDeviceHandleByIndex", card, index)
            for index in range(self.number("nvmlDeviceGetMaxMigDeviceCount", card) or 0)
        )
        return [handle for handle in found if handle is not None]

    def ask(self, function: str, *arguments: Any) -> Any:
        """Ask for anything.

        Args:
            function: as `pynvml` names it.
            arguments: the handle first, where it takes one.

        Returns:
            What the library says; None is unknown: not supported, not permitted, not there in this version.

        Raises:
            NvmlError: the device or the driver is gone (`is_gone`): nothing that is asked after it can be answered.
        """
        try:
            return self._library.call(function, *arguments)
        except NvmlError as error:
            if error.is_gone:
                raise
            return None

    def number(self, function: str, *arguments: Any) -> int | None:
        """Ask for a number, in the library's own unit; errors as in `ask`."""
        return known_number(self.ask(function, *arguments))

    def text(self, function: str, *arguments: Any) -> str | None:
        """Ask for a text; errors as in `ask`."""
        return known_text(self.ask(function, *arguments))

    def numbers(self, function: str, *arguments: Any) -> tuple[int | None, ...] | None:
        """Ask for several numbers at once, such as a current and a pending mode; errors as in `ask`."""
        answer = self.ask(function, *arguments)
        return None if answer is None else tuple(known_number(value) for value in answer)

    def entry(self, name: str, function: str, *arguments: Any) -> Any:
        """Ask for one field of a structure; a number or text that stands for nothing is None; errors as in `ask`."""
        answer = self.ask(function, *arguments)
        value = None if answer is None else answer.get(name)
        return known_text(value) if isinstance(value, str) else known_number(value)

    def field(self, handle: Handle, number: int, scope: int = 0) -> int | float | None:
        """Ask for a value by the library's field number (`NVML_FI_…`).

        Args:
            handle: of the device.
            number: which field.
            scope: which link or unit of it.
        """
        return self.field_values(handle, [(number, scope)])[0]

    def field_values(self, handle: Handle, wanted: Sequence[tuple[int, int]]) -> list[int | float | None]:
        """Ask for many values in one call.

        Args:
            handle: of the device.
            wanted: number and scope of each field.

        Returns:
            One a field, in order; None is unknown.
        """
        answer = self.ask("nvmlDeviceGetFieldValues", handle, list(wanted))
        if answer is None:
            return [None] * len(wanted)
        return [None if entry["nvmlReturn"] else _known(entry["value"]) for entry in answer]


@contextmanager
def open_nvml(library: Library | None = None) -> Iterator[Nvml]:
    """Open the library for as long as the block runs. Blocks may be nested: the library counts them.

    Args:
        library: what stands in for it; None is the one of this machine's driver.

    Raises:
        NvmlError: no library, no driver, or both do not fit each other.
    """
    calls = PynvmlLibrary() if library is None else library
    calls.call("nvmlInit")
    try:
        yield Nvml(calls)
    finally:
        # A driver that went away meanwhile cannot be closed, and has said so already.
        with suppress(NvmlError):
            calls.call("nvmlShutdown")


class PynvmlLibrary:
    """NVML through `nvidia-ml-py`.

    Raises:
        NvmlError: the package is not installed.
    """

    def __init__(self) -> None:
        try:
            import pynvml
        except ImportError as error:
            raise NvmlError(LIBRARY_NOT_FOUND, "nvidia-ml-py is not installed", "import pynvml") from error
        self._module: Any = pynvml

    def call(self, function: str, *arguments: Any) -> Any:
        """Call one function."""
        found = getattr(self._module, function, None)
        if found is None:
            raise NvmlError(_FUNCTION_NOT_FOUND, "Function Not Found", function)
        try:
            return _plain(found(*arguments))
        except self._module.NVMLError as error:
            raise NvmlError(int(error.value), str(error), function) from error
        except UnicodeDecodeError as error:
            raise NvmlError(999, f"a text that is none: {error}", function) from error


def known_number(value: Any) -> int | None:
    """Take a number as it is, and None for one that stands for nothing, such as the largest of its type."""
    return None if not isinstance(value, int) or value in _NO_NUMBER else value


def known_text(value: Any) -> str | None:
    """Take a text as it is, and None for one that says nothing, such as `N/A`."""
    return None if not isinstance(value, str) or value.strip().casefold() in _NO_TEXT else value


def _known(value: Any) -> int | float | None:
    return value if isinstance(value, float) else known_number(value)


_VALUE_TYPES: Final = ("dVal", "uiVal", "ulVal", "ullVal", "sllVal", "siVal", "usVal")


def _plain(value: Any) -> Any:
    """Turn the library's structures into dictionaries; handles, which are pointers, stay as they are."""
    if hasattr(type(value), "contents"):
        return value
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if isinstance(value, ctypes.Structure):
        fields = {name: getattr(value, name) for name, *_ in value._fields_}
        union = fields.get("value")
        if isinstance(union, ctypes.Union):
            kind = fields["valueType"]
            fields["value"] = getattr(union, _VALUE_TYPES[kind]) if kind < len(_VALUE_TYPES) else None
        return {name: _plain(field) for name, field in fields.items()}
    if isinstance(value, (list, tuple, ctypes.Array)):
        return [_plain(item) for item in value]
    if type(value).__module__ == "pynvml" and hasattr(value, "__dict__"):
        return {name: _plain(field) for name, field in vars(value).items()}
    return value.value if isinstance(value, ctypes.c_uint) else value
