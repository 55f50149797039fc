"""Stand-ins for what tests do not have: clocks, devices, clusters. One small class each."""


class StepClock:
    """A clock that moves only when it is told to."""

    name = "step"

    def __init__(self) -> None:
        self._now_s = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds

    def now_s(self) -> float:
        """The seconds that have passed."""
        return self._now_s
