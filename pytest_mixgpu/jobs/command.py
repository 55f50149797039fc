"""A job that is a command line: `job = "pytest_mixgpu.jobs.command:job"` in the plan, the command in the recipe.

    [own]
    command = ["{python}", "train.py"]
    silence_s = 120

The command is started once a run, in the suite's folder, with the devices of the run and no others: one command for
all participants of an exchange, one for each device of a baseline. Which lines it writes and which orders it reads
stands in `commandlines`. What it is to do stands in its environment: `MIXGPU_WORLD_SIZE`, `MIXGPU_SHARES` (steps of a
round, by participant), `MIXGPU_BATCH_SIZE`, `MIXGPU_SEED`, `MIXGPU_EXCHANGE`, `MIXGPU_NUM_ROUNDS`, `MIXGPU_OWN` (the
table `[own]` as JSON), `MIXGPU_DATA`, and `MASTER_ADDR` and `MASTER_PORT` of this run. What it prints is in the run's
log folder.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Literal

import msgspec

from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.errors import PlanError
from pytest_mixgpu.jobs.commandworker import CommandPayload
from pytest_mixgpu.jobs.crewjob import CrewJob, JobSetup, Tally, start_line
from pytest_mixgpu.jobs.facts import Asked
from pytest_mixgpu.jobs.roundlines import own_line
from pytest_mixgpu.jobs.words import End, Ended, Opened, OpenedTogether, RoundTogether, RunRound
from pytest_mixgpu.jobs.workloads.recipe import OwnRecipe
from pytest_mixgpu.launch.protocol import Task
from pytest_mixgpu.records.model import Evaluation, RoundLine, Start

VISIBILITY = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")


class CommandOptions(msgspec.Struct, frozen=True, kw_only=True):
    """What the table `[own]` says of the command; whatever else it holds is the command's own."""

    command: tuple[str, ...]
    """Words; `{python}` is this interpreter. No shell reads them."""
    start_s: float = 300.0
    """From its start to its line `start`, if it writes nothing before."""
    silence_s: float = 120.0
    """Between two of its lines while it works."""
    instrumented_rounds: int = 0

    def __post_init__(self) -> None:
        if not self.command or not all(self.command):
            raise ValueError("command names nothing to start")
        if not (0 < self.start_s < float("inf") and 0 < self.silence_s < float("inf")):
            raise ValueError("start_s and silence_s must be positive")
        if self.instrumented_rounds < 0:
            raise ValueError("instrumented_rounds must be 0 or more")


def job(setup: JobSetup) -> "CommandJob":
    """Return the job whose command stands in the workload's recipe.

    Raises:
        PlanError: it does not, or the pool spans hosts or needs two environments.
    """
    return CommandJob(setup)


class CommandJob(CrewJob):
    """One command line, or one for each device of a baseline; argument and errors as `job`."""

    def __init__(self, setup: JobSetup) -> None:
        super().__init__(setup)
        if not isinstance(setup.recipe, OwnRecipe) or setup.folder is None:
            raise PlanError(f"recipe {setup.recipe.name!r} has no table [own] with a `command`")
        try:
            self._options = msgspec.convert(setup.recipe.own, CommandOptions)
        except msgspec.ValidationError as error:
            raise PlanError(f"recipe {setup.recipe.name!r}, table [own]: {error}") from error
        devices = setup.header.pool.devices
        if len({device.host for device in devices}) > 1:
            raise PlanError(f"one command line runs on one host, the pool {setup.header.pool.spec} spans several")
        self._is_solo = setup.header.settings.exchange == "none"
        everybody = tuple(range(len(devices)))
        groups = [(place,) for place in everybody] if self._is_solo else [everybody]
        self._groups = {f"participant-{group[0]}" if self._is_solo else "command": group for group in groups}
        self._names = list(self._groups)
        self._present = 0
        self._is_whole = False
        self.num_rounds = setup.num_rounds * len(self._groups)
        self.num_instrumented_rounds = 0 if self._is_solo else self._options.instrumented_rounds

    def start(self) -> Start:
        """Start the command lines, and hear what they opened."""
        talk = self._assemble([self._task(name) for name in self._names])
        opened: list[Opened] = []
        for name in self._names:
            opened += talk.hear(name, OpenedTogether).opened
        return start_line(self._setup, opened)

    def run_round(self, index: int) -> RoundLine:
        """Order a round from the command whose turn it is."""
        settings = self._setup.header.settings
        turn, place = divmod(index, self._setup.num_rounds)
        instrumented = index >= self.num_rounds
        if self._is_solo and turn != self._present:
            self._present, self._tally = turn, Tally()
        name = self._names[self._present]
        self._running.tell(name, RunRound(index=index, steps=settings.shares, instrumented=instrumented))
        words = self._running.hear(name, RoundTogether).rounds
        line = own_line(
            words,
            index=index,
            warmup=place < settings.warmup_rounds and not instrumented,
            participants=self._groups[name],
            instrumented=instrumented,
        )
        if not instrumented:
            self._tally.add(line)
        is_last = index + 1 == self.num_rounds + self.num_instrumented_rounds
        self._is_whole = is_last and (instrumented or not settings.to_finish)
        return line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Order a score from the command whose turn it was."""
        line = self._score(self._names[self._present], split)
        self._is_whole = split == "test" and not self.num_instrumented_rounds
        return line

    def stop(self) -> None:
        """End the command lines; of a whole run in order: each has to exit with status 0, without another word.

        Raises:
            RunFailedError: one did not.
        """
        try:
            if self._is_whole:
                self._is_whole = False
                for name in self._names:
                    self._running.tell(name, End())
                for name in self._names:
                    self._running.hear(name, Ended)
        finally:
            super().stop()

    def _task(self, name: str) -> Task:
        setup, settings, group = self._setup, self._setup.header.settings, self._groups[name]
        devices = [setup.header.pool.devices[place] for place in group]
        environment = {
            "MIXGPU_WORLD_SIZE": str(len(group)),
            "MIXGPU_SHARES": json.dumps(settings.shares),
            "MIXGPU_BATCH_SIZE": str(settings.batch_size),
            "MIXGPU_SEED": str(setup.header.seed),
            "MIXGPU_EXCHANGE": settings.exchange,
            "MIXGPU_NUM_ROUNDS": str(setup.num_rounds),
            "MIXGPU_OWN": json.dumps(setup.recipe.own if isinstance(setup.recipe, OwnRecipe) else {}),
        }
        if setup.data_root is not None:
            environment["MIXGPU_DATA"] = str(setup.data_root.absolute())
        payload = CommandPayload(
            name=name,
            asked=Asked.now(code=setup.code),
            command=tuple(word.replace("{python}", sys.executable) for word in self._options.command),
            folder=str(setup.folder),
            environment=environment,
            participants=group,
            device_ids=tuple(device.id for device in devices),
            scale=setup.scale,
            start_s=self._options.start_s,
            silence_s=self._options.silence_s,
        )
        plain: dict[str, object] = msgspec.to_builtins(payload)
        return Task(
            name=name,
            entry="pytest_mixgpu.jobs.commandworker:run_command",
            payload=plain,
            device=devices[0] if self._is_solo else None,
            cores=tuple(device.ordinal for device in devices if device.vendor == "cpu"),
            environment=tuple(sorted(joined_environment(devices).items())),
            num_threads=settings.num_threads,
        )


def joined_environment(devices: Sequence[Device]) -> Mapping[str, str]:
    """Return the variables under which one process sees all of these devices, and no others.

    Raises:
        PlanError: they need different values of a variable that is no list of devices.
    """
    found: dict[str, str] = {}
    for device in devices:
        for name, value in device.environment:
            if name in VISIBILITY and name in found:
                found[name] = f"{found[name]},{value}"
            elif found.setdefault(name, value) != value:
                raise PlanError(f"one command line cannot have both {name}={found[name]} and {name}={value}")
    if any(dict(device.environment).keys() != found.keys() for device in devices):
        raise PlanError(
            "one command line cannot serve devices that need different variables: " + ", ".join(sorted(found))
        )
    return found
