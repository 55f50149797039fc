"""From the command of a session to the one that takes its verdict again from the records, measuring nothing."""

from collections.abc import Iterator, Sequence
from pathlib import PurePath
from typing import Final

_MEASURING: Final = frozenset(
    {
        "--gpus", "--emulate", "--mixgpu-launcher", "--mixgpu-coordinator", "--mixgpu-workload", "--mixgpu-job",
        "--mixgpu-data", "--mixgpu-runs", "--mixgpu-split", "--mixgpu-exchange", "--mixgpu-payload",
        "--mixgpu-network", "--mixgpu-straggler", "--mixgpu-wait", "--mixgpu-report", "--mixgpu-records",
        "--mixgpu-anchor", "--mixgpu-host-key",
    }
)  # fmt: skip
"""Flags that say what to measure and where to; to judge records none is needed, and some are refused."""
_WITHOUT_VALUE: Final = frozenset({"--emulate"})


def again_command(command: Sequence[str], *, folder: str) -> tuple[str, ...]:
    """Write the command that judges the records of a session.

    Args:
        command: how the session was started; empty where that is not known.
        folder: where its runs and ledger lie.
    """
    program = PurePath(command[0]).name if command else "pytest"
    # `python -m pytest` is seen by pytest as the path of its own `__main__.py`.
    words = ("python", "-m", "pytest") if program == "__main__.py" else (program,)
    return (*words, *_kept(command[1:]), f"--mixgpu-records={folder}")


def _kept(arguments: Sequence[str]) -> Iterator[str]:
    is_value = False
    for argument in arguments:
        if is_value:
            is_value = False
            continue
        name, equals, _ = argument.partition("=")
        if name not in _MEASURING:
            yield argument
        else:
            is_value = not equals and name not in _WITHOUT_VALUE
