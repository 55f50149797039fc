"""What a process leaves for the closing summary: locks in its way, verdicts that fell in it. Imports no room by itself.

Reports alone do not tell all: a plugin that runs tests again may drop them, a test that ends pytest has none, and a
test file that was deleted, renamed, ignored or skipped whole brings no test whose mark could be missed.
"""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_mixgpu.plugin.keys import LOCK_NAME, SESSION

if TYPE_CHECKING:
    from xdist.workermanage import WorkerController

LOCKS, SPOKEN = "mixgpu_locks", "mixgpu_spoken"
"""Under these names xdist's workers hand over what their controller cannot see."""


class Trail:
    """Registered in every process of a session; looks for one file a folder that is collected."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._locked: dict[str, None] = {}
        self._spoken: dict[str, list[dict[str, Any]]] = {}

    def pytest_ignore_collect(self, collection_path: Path) -> None:
        """Notice a lock in a folder that is about to be collected, or to be left out by `--ignore`."""
        if (collection_path / LOCK_NAME).is_file() and self._is_asked_for(collection_path):
            self._locked[str(collection_path)] = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        """Hand over to xdist's controller."""
        output = getattr(self._config, "workeroutput", None)
        if output is not None:
            output[LOCKS], output[SPOKEN] = list(self._locked), self.spoken()

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: WorkerController) -> None:
        """Take over from one of xdist's workers; one that crashed has nothing to say."""
        output = getattr(node, "workeroutput", None) or {}
        self._locked |= dict.fromkeys(output.get(LOCKS, ()))
        self._spoken |= output.get(SPOKEN, {})

    def locked_folders(self) -> list[Path]:
        """Folders with a lock that this session was asked to run, whether or not a test was found there."""
        folders = [path if path.is_dir() else path.parent for path in self._named()]
        if self._config.args_source == self._config.ArgsSource.TESTPATHS:
            # Nobody named a folder: what is configured stands for the whole project.
            root = self._config.rootpath
            folders = [one for path in folders for one in (path, *path.parents) if one == root or root in one.parents]
        found = [folder for folder in folders if (folder / LOCK_NAME).is_file()]
        return list(dict.fromkeys([*found, *map(Path, self._locked)]))

    def spoken(self) -> dict[str, list[dict[str, Any]]]:
        """Every verdict that fell, by test, also where no report carries it."""
        session = self._config.stash.get(SESSION, None)
        return self._spoken | ({} if session is None else session.spoken)

    def _named(self) -> list[Path]:
        base = self._config.invocation_params.dir
        return [(base / argument.partition("::")[0]).resolve() for argument in self._config.args]

    def _is_asked_for(self, folder: Path) -> bool:
        """Whether a folder is collected: pytest looks at the siblings of what was named, too, and passes them by."""
        if any(fnmatch(folder.name, pattern) for pattern in self._config.getini("norecursedirs")):
            return False
        named = self._named()
        # What is no path was named as a package (`--pyargs`): anything may be meant.
        return any(not path.exists() or folder.resolve().is_relative_to(path) for path in named)
