"""How much of a CPU this process used: from a moment to seconds since. Runs inside a worker; imports no torch.

A worker that is stopped from outside, or has a quota, computes for longer than it has a CPU; its clock cannot tell.
"""

import time


class CpuMeter:
    """Counts from the moment that it is made, all threads of the process together.

    Args:
        device: torch's name of the device that computes; only a CPU's work is seen in CPU time.
    """

    def __init__(self, device: str) -> None:
        self._began_s = time.process_time() if device == "cpu" else None

    def used_s(self) -> float | None:
        """CPU seconds since then; None where something else than a CPU computes."""
        return None if self._began_s is None else time.process_time() - self._began_s
