"""Workers on this machine: from tasks to a watched crew, forked from preloaded processes. Imports no torch itself.

Every distinct kernel environment has its own preloaded parent process (see `zygote`).
"""

import os
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Self

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.launch.crew import LocalCrew
from pytest_mixgpu.launch.isolation import import_path
from pytest_mixgpu.launch.nursery import LATE_VARIABLES, Environment, Zygote, kernel_environment
from pytest_mixgpu.launch.protocol import Limits, Task
from pytest_mixgpu.launch.requests import Fork, Preloaded

DEFAULT_PRELOAD = ("torch", "timm.models.vision_transformer")
_DEFAULT_LIMITS = Limits()


class LocalLauncher:
    """Starts workers on this machine.

    Args:
        preload: modules that are imported once, before workers are forked. They may run no kernel and start no thread.
    """

    name = "local"

    def __init__(self, preload: Sequence[str] = DEFAULT_PRELOAD) -> None:
        self._preload = tuple(preload)
        self._is_preload_safe = True
        self._zygotes: dict[Environment, Zygote] = {}
        self._num_workers = 0

    def warm(
        self,
        environments: Iterable[Iterable[tuple[str, str]]],
        *,
        modules: Sequence[str] | None = None,
        within_s: float = _DEFAULT_LIMITS.start_s,
    ) -> None:
        """Preload for these environments, all at once, and return when each is ready or known to fail.

        Args:
            environments: variables of the workers to come; those that are ready are kept.
            modules: what is preloaded from here on; what is ready and lacks one is made anew. None keeps what was said.
            within_s: a preload that takes longer is ended.
        """
        if modules is not None:
            self._preload_at_least(modules)
        deadline_s = time.monotonic() + within_s
        keys = {kernel_environment(dict(environment)) for environment in environments}
        begun = [self._zygote(key) for key in keys]
        for each in begun:
            zygote = self._settle(each, deadline_s=deadline_s)
            if zygote.preloaded is None and not zygote.failure:
                zygote.kill()
                zygote.close()

    def _preload_at_least(self, modules: Sequence[str]) -> None:
        if not self._is_preload_safe:
            return
        if not self._zygotes:
            self._preload = tuple(modules)
        elif missing := [module for module in modules if module not in self._preload]:
            # Between two runs no worker lives, so nobody loses a parent. What was asked for before stays.
            self.close()
            self._preload += tuple(missing)

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> LocalCrew:
        """Start all tasks and return once each has said its first word.

        Args:
            tasks: the workers; their names differ.
            log_dir: where each worker's output goes, as `<name>.log`.
            limits: how long silence is borne.

        Raises:
            RunFailedError: one of them did not start.
            ValueError: two tasks have one name.
        """
        crew = self.begin(tasks, log_dir=log_dir, limits=limits)
        try:
            crew.await_first_words()
        except BaseException:
            crew.stop()
            raise
        return crew

    def begin(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> LocalCrew:
        """Ask for all tasks, as `start` does, and return before they have said anything."""
        if len({task.name for task in tasks}) != len(tasks):
            raise ValueError(f"workers need different names, found {[task.name for task in tasks]}")
        log_dir.mkdir(parents=True, exist_ok=True)
        asked_s = time.monotonic()
        begun = [self._zygote(kernel_environment(_variables(task))) for task in tasks]
        zygotes = [
            self._await_preload(task, zygote, deadline_s=asked_s + limits.start_s)
            for task, zygote in zip(tasks, begun, strict=True)
        ]
        crew = LocalCrew(limits=limits, asked_s=asked_s)
        try:
            for task, zygote in zip(tasks, zygotes, strict=True):
                self._num_workers += 1
                log_path = (log_dir / f"{task.name}.log").absolute()
                crew.add(task, zygote, self._fork_request(task, log_path, limits))
        except BaseException:
            crew.stop()
            raise
        return crew

    def _fork_request(self, task: Task, log_path: Path, limits: Limits) -> Fork:
        late = {name: value for name, value in _variables(task).items() if name in LATE_VARIABLES}
        return Fork(
            number=self._num_workers,
            name=task.name,
            log_path=str(log_path),
            folder=os.getcwd(),  # noqa: PTH109 - it travels as text
            path=import_path(),
            cores=task.cores,
            memory_node=task.memory_node,
            environment=tuple(sorted(late.items())),
            num_threads=task.num_threads,
            beat_every_s=min(1.0, limits.heartbeat_s / 5),
        )

    def _zygote(self, key: Environment) -> Zygote:
        """The zygote of a kernel environment, begun if there is none that can be used."""
        zygote = self._zygotes.get(key)
        if zygote is not None:
            zygote.pump()
            if zygote.failure:
                zygote.close()
                zygote = None
        if zygote is None:
            zygote = self._zygotes[key] = Zygote(key, self._preload)
        return zygote

    def _await_preload(self, task: Task, begun: Zygote, *, deadline_s: float) -> Zygote:
        zygote = self._settle(begun, deadline_s=deadline_s)
        if zygote.preloaded is None:
            wish = ", ".join(self._preload) or "an empty interpreter"
            raise _not_started(task, zygote.failure or f"{wish} was not there in time (Limits.start_s)", zygote)
        return zygote

    def _settle(self, zygote: Zygote, *, deadline_s: float) -> Zygote:
        """Wait until a zygote, or what has to replace it, is ready, has failed, or the time is over."""
        while zygote.preloaded is None:
            zygote.pump()
            if zygote.preload_unsafe:
                # Slower: every worker then imports for itself.
                self._preload, self._is_preload_safe = (), False
                zygote = self._zygote(zygote.environment)
            elif zygote.failure or time.monotonic() > deadline_s:
                break
            elif zygote.preloaded is None:
                zygote.wait(0.05)
        return zygote

    def zygote_pids(self) -> tuple[int, ...]:
        """Process ids of the preloaded parents."""
        return tuple(zygote.pid for zygote in self._zygotes.values())

    def preloads(self) -> tuple[Preloaded, ...]:
        """What the preloaded parents said of themselves, as far as they are ready."""
        return tuple(zygote.preloaded for zygote in self._zygotes.values() if zygote.preloaded is not None)

    def close(self) -> None:
        """End the preloaded parent processes and whatever they started."""
        while self._zygotes:
            self._zygotes.popitem()[1].close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.close()


def _variables(task: Task) -> dict[str, str]:
    return dict(task.environment) | (dict(task.device.environment) if task.device is not None else {})


def _not_started(task: Task, reason: str, zygote: Zygote) -> RunFailedError:
    return RunFailedError(f"{task.name} did not start: {reason}", worker=task.name, log_tail=zygote.log_tail())
