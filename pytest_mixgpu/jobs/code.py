"""Which files produce the number: paths to be hashed, nothing is read here."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_ROOMS = ("jobs", "launch", "timing")


def code_paths() -> tuple[Path, ...]:
    """All modules that run between GO and a recorded round or score, in a fixed order."""
    return tuple(sorted(path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py")))


def evaluator_paths() -> tuple[Path, ...]:
    """The modules that turn final weights into right and wrong."""
    workloads = _PACKAGE / "jobs" / "workloads"
    return (workloads / "bits.py", workloads / "evaluate.py")
