"""Which files produce the number, and what became of them: from files on disk to digests and to what was written.

Imports no torch. What a process has loaded cannot be hashed, only the files that it was loaded from: so a process looks
at them before it loads them (`launch.filemarks`), and names what was written since.
"""

import sys
import sysconfig
from functools import lru_cache
from pathlib import Path

import msgspec

from pytest_mixgpu.launch.filemarks import PACKAGE, FileMark, first_look, look
from pytest_mixgpu.records.digests import canonical_digest, code_digest
from pytest_mixgpu.records.sources import INSTALLED

_ROOMS = ("devices", "jobs", "launch", "records", "timing")


class CodeSeen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The code that produces the number, as it lies on disk at one moment."""

    digest: str
    """Empty where a file could not be read."""
    marks: str
    """SHA-256 of what the file system says of the files: where it is equal, none was written and none need be read."""
    touched: tuple[str, ...] = ()
    """Files that were written, replaced, added or removed since this process first looked, whatever they hold now.
    Those of the plugin are among them: it plans and registers runs, though no worker needs it."""


def code_seen(known: CodeSeen | None = None) -> CodeSeen:
    """Look at the code now. Files are read only if one of them was written.

    Args:
        known: what another process saw; if it saw these very files, its digest is taken.
    """
    before, present = first_look(), look(sorted(PACKAGE.rglob("*.py")))
    now = {path: mark for path, mark in present.items() if _is_code(path)}
    watched = {path for path in {*before, *present} if _is_code(path) or _room(path) == "plugin"}
    marks = canonical_digest([(str(path), mark) for path, mark in now.items()])
    return CodeSeen(
        digest=known.digest if known is not None and known.marks == marks else _digest(tuple(now.items())),
        marks=marks,
        touched=tuple(
            path.relative_to(PACKAGE.parent).as_posix()
            for path in sorted(watched)
            if before.get(path) != present.get(path)
        ),
    )


@lru_cache(maxsize=4)
def _digest(marks: tuple[tuple[Path, FileMark], ...]) -> str:
    try:
        return code_digest((path for path, _ in marks), PACKAGE.parent)
    except OSError:
        return ""


def code_paths() -> tuple[Path, ...]:
    """All modules that stand behind a recorded round or score, in a fixed order.

    Those that run it, those that decide on which device and in what environment, and those that write it down. What
    judges records is not among them: a verdict can be taken again at any time.
    """
    return tuple(sorted(path for path in PACKAGE.rglob("*.py") if _is_code(path)))


def _is_code(path: Path) -> bool:
    return _room(path) in {*_ROOMS, "errors.py"}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0]


def own_modules() -> dict[str, str]:
    """Digests of the modules that this process has loaded and that nobody installed: a user's own models and data.

    What is installed is recorded by its version.
    """
    library = sysconfig.get_path("stdlib") + "/"
    files = {name: getattr(module, "__file__", None) or "" for name, module in list(sys.modules.items())}
    return {
        name: code_digest((Path(file),), Path(file).parent)
        for name, file in sorted(files.items())
        if file.endswith(".py")
        and not file.startswith((library, f"{PACKAGE}/"))
        and INSTALLED.isdisjoint(Path(file).parts)
        and Path(file).is_file()
    }


def evaluator_paths() -> tuple[Path, ...]:
    """The modules that turn final weights and files into right and wrong: from stored pixels to bits."""
    jobs = PACKAGE / "jobs"
    workloads = jobs / "workloads"
    named = (
        jobs / "cores.py",
        jobs / "scoring.py",
        # Weights come to the model through the one; the other makes float32 mean float32.
        jobs / "state.py",
        jobs / "training.py",
        PACKAGE / "records" / "bits.py",
        workloads / "build.py",
        workloads / "evaluate.py",
        workloads / "network.py",
        workloads / "splits.py",
    )
    return tuple(sorted((*named, *(workloads / "sources").rglob("*.py"))))
