"""Which files produce the number: paths to be hashed, nothing is read here."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent.parent
_ROOMS = ("devices", "jobs", "launch", "records", "timing")


def code_paths() -> tuple[Path, ...]:
    """All modules that stand behind a recorded round or score, in a fixed order.

    Those that run it, those that decide on which device and in what environment, and those that write it down. What
    judges records is not among them: a verdict can be taken again at any time.
    """
    rooms = (path for room in _ROOMS for path in (_PACKAGE / room).rglob("*.py"))
    return tuple(sorted((*rooms, _PACKAGE / "errors.py")))


def evaluator_paths() -> tuple[Path, ...]:
    """The modules that turn final weights and files into right and wrong: from stored pixels to bits."""
    jobs = _PACKAGE / "jobs"
    workloads = jobs / "workloads"
    named = (
        jobs / "cores.py",
        jobs / "scoring.py",
        # Weights come to the model through the one; the other makes float32 mean float32.
        jobs / "state.py",
        jobs / "training.py",
        _PACKAGE / "records" / "bits.py",
        workloads / "build.py",
        workloads / "evaluate.py",
        workloads / "network.py",
        workloads / "splits.py",
    )
    return tuple(sorted((*named, *(workloads / "sources").rglob("*.py"))))
