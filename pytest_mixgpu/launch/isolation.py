"""What a worker's interpreter takes over from its caller: from an environment and a path to a start. Imports no torch.

Variables of the interpreter, the user's site folder and a `sitecustomize` on `PYTHONPATH` decide which code runs before
any of ours does, so none of them has effect in a worker. What was set is kept aside, to be recorded.
"""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest_mixgpu

SET_ASIDE = "MIXGPU_SET_ASIDE"
"""Variable that carries what was set aside, as JSON."""

DECIDING = frozenset(
    {
        "PYTHONCASEOK",
        "PYTHONDEVMODE",
        "PYTHONEXECUTABLE",
        "PYTHONHOME",
        "PYTHONINSPECT",
        "PYTHONMALLOC",
        "PYTHONOPTIMIZE",
        "PYTHONPATH",
        "PYTHONPLATLIBDIR",
        "PYTHONPYCACHEPREFIX",
        "PYTHONSTARTUP",
        "PYTHONUSERBASE",
        "PYTHON_GIL",
        "PYTHON_JIT",
    }
)
"""Variables that decide which code an interpreter runs and how; others of the interpreter are not worth a line."""

_PREFIX = "PYTHON"
_HASH_SEED = "0"
"""One seed for all: the order of a set must not make two runs of one training seed differ."""

_BOOT = """
import json, sys
from importlib.util import module_from_spec, spec_from_file_location
boot = json.loads(sys.argv[1])
sys.path += [entry for entry in boot["path"] if entry not in sys.path]
spec = spec_from_file_location("pytest_mixgpu", boot["package"])
package = sys.modules["pytest_mixgpu"] = module_from_spec(spec)
spec.loader.exec_module(package)
from pytest_mixgpu.launch.zygote import main
main()
"""
"""Our package is loaded by its file: the one that runs is the one whose digest is recorded, whatever the path holds.
What this interpreter finds by itself (its library, its site-packages) comes before what the caller's path adds."""


def boot_command(boot: str) -> list[str]:
    """The command of a zygote.

    `-s` and `-P` leave out the user's site folder and the working directory. `-E` would make `PYTHONHASHSEED` void
    too, so the variables themselves are taken away instead: see `isolated`.

    Args:
        boot: what it is told, as JSON.
    """
    quiet = ["-B"] if sys.dont_write_bytecode else []
    return [sys.executable, "-s", "-P", *quiet, "-c", _BOOT, boot]


def isolated(environ: Mapping[str, str]) -> dict[str, str]:
    """The environment without variables of the interpreter; those that decide something are set aside in it."""
    kept = {name: value for name, value in environ.items() if not name.startswith(_PREFIX)}
    aside = {name: environ[name] for name in sorted(DECIDING) if name in environ}
    return kept | {SET_ASIDE: json.dumps(aside), "PYTHONHASHSEED": _HASH_SEED}


def set_aside(environ: Mapping[str, str]) -> dict[str, str]:
    """What the caller had set and `isolated` took away, by name."""
    aside: dict[str, str] = json.loads(environ.get(SET_ASIDE, "{}"))
    return aside


def package_file() -> str:
    """The file of our package, as this process loaded it."""
    return str(Path(pytest_mixgpu.__file__).absolute())


def import_path() -> tuple[str, ...]:
    """The `sys.path` of this process, with its working directory by name."""
    return tuple(entry or os.getcwd() for entry in sys.path)  # noqa: PTH109 - sys.path holds strings


def add_to_path(entries: tuple[str, ...]) -> None:
    """Let this process find what the caller found too, after what it finds by itself."""
    sys.path += [entry for entry in entries if entry not in sys.path]
