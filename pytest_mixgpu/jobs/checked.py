"""A user's own job, held to what a job is: whatever it does, its run is recorded and its workers end. No torch.

What it raises, and what it returns that cannot be, is a failed run that says so. Crews that it started are stopped,
also where its own `stop` does not.
"""

from __future__ import annotations

import time
import traceback
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import msgspec

from pytest_mixgpu.errors import PlanError, RecordError, RunFailedError
from pytest_mixgpu.jobs.linechecks import evaluation_fault, line_fault, num_rounds_of, round_fault, start_fault
from pytest_mixgpu.records.assemble import Story
from pytest_mixgpu.records.model import Evaluation, Line, RoundLine, Start

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from pathlib import Path

    from pytest_mixgpu.jobs.crewjob import JobSetup
    from pytest_mixgpu.jobs.named import NamedJob
    from pytest_mixgpu.launch.protocol import Crew, Launcher, Limits, Task

    Found = TypeVar("Found", Start, RoundLine, Evaluation)

_LOG = "job.log"
_METHODS = ("start", "run_round", "evaluate", "stop")


def checked(job: NamedJob) -> Callable[[JobSetup], CheckedJob]:
    """Return what makes that job from a setup, and looks at all that it does."""
    return lambda setup: CheckedJob(setup, job)


class CheckedJob:
    """A job that says nothing impossible.

    Args:
        setup: what the job is made from.
        job: whose factory makes it.

    Raises:
        RunFailedError: the factory raised, or returned no job, or one with another number of rounds.
        PlanError: the factory says that the settings cannot be run.
    """

    def __init__(self, setup: JobSetup, job: NamedJob) -> None:
        self._setup = setup
        self._name = job.name
        self._launcher = _Keeping(setup.launcher)
        self._story = Story()
        self._story.take(setup.header, where="the header")
        self._start: Start | None = None
        self._last_round, self._samples = -1, 0
        try:
            self._job: Any = self._ask(
                "setup", lambda: job.factory(msgspec.structs.replace(setup, launcher=self._launcher))
            )
            self.num_rounds: int = num_rounds_of(setup.header)
            self.num_instrumented_rounds = self._counts()
        except BaseException:
            self._launcher.stop_crews()
            raise

    def _counts(self) -> int:
        """Look at what the factory returned; return how many rounds it wants to run with instruments."""
        job = self._job
        lacking = [name for name in _METHODS if not callable(getattr(job, name, None))]
        if lacking:
            self._fail(f"the factory returned a {type(job).__name__} without {', '.join(lacking)}()", "setup")
        num_rounds = getattr(job, "num_rounds", None)
        if num_rounds != self.num_rounds:
            self._fail(f"num_rounds is {num_rounds!r}, the settings ask for {self.num_rounds}", "setup")
        instrumented = getattr(job, "num_instrumented_rounds", 0)
        if type(instrumented) is not int or instrumented < 0:
            self._fail(f"num_instrumented_rounds is {instrumented!r}, expected 0 or more", "setup")
        return int(instrumented)

    def start(self) -> Start:
        """Start the workers, and look at what they found."""
        start = self._line("start", self._ask("start", self._job.start), Start)
        self._refuse("start() returned", start_fault(start, self._setup.header), "start")
        self._start = start
        return start

    def run_round(self, index: int) -> RoundLine:
        """Run a round, and look at what came out."""
        began_s = time.perf_counter()
        found = self._ask("round", lambda: self._job.run_round(index), round_index=index)
        passed_s = time.perf_counter() - began_s
        line = self._line("run_round", found, RoundLine, round_index=index)
        instrumented = index >= self.num_rounds
        fault = round_fault(line, self._setup.header, index=index, instrumented=instrumented, passed_s=passed_s)
        self._refuse("run_round() returned", fault, "round", round_index=index)
        if not instrumented:
            turn = index // (self._setup.num_rounds or 1) if self._setup.header.settings.exchange == "none" else 0
            is_new = turn and index % self._setup.num_rounds == 0
            # Devices that are measured in turn each train a model of their own.
            self._samples = (0 if is_new else self._samples) + sum(line.samples)
            self._last_round = index
        return line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Score the model, and look at what came out."""
        found = self._ask("evaluate", lambda: self._job.evaluate(split))
        line = self._line("evaluate", found, Evaluation)
        if self._start is None:
            raise RuntimeError("a score before the start")
        fault = evaluation_fault(
            line, self._start, split=split, after_round=self._last_round, samples_seen=self._samples
        )
        self._refuse("evaluate() returned", fault, "evaluate")
        # A job that names no evaluator was scored by its own code, which its workers' modules stand for.
        digest = line.evaluator_digest or self._setup.header.digests.evaluator
        return msgspec.structs.replace(line, evaluator_digest=digest)

    def stop(self) -> None:
        """End all workers: those that the job knows of, then those that it left.

        Raises:
            RunFailedError: the job could not end its own.
        """
        try:
            self._ask("stop", self._job.stop)
        finally:
            self._launcher.stop_crews()

    def _line(self, method: str, found: object, kind: type[Found], *, round_index: int | None = None) -> Found:
        fault = line_fault(found, kind)
        if not fault:
            try:
                self._story.take(_as_line(found), where=f"what {method}() returned")
            except RecordError as error:
                fault = str(error)
        self._refuse(f"{method}() returned", fault, method.removeprefix("run_"), round_index=round_index)
        return found  # type: ignore[return-value]

    def _ask(self, phase: str, call: Callable[[], Any], *, round_index: int | None = None) -> Any:
        try:
            return call()
        except (RunFailedError, PlanError):
            raise
        except (Exception, SystemExit) as error:
            log_path = self._keep_trace()
            where = "" if round_index is None else f" in round {round_index}"
            raise RunFailedError(
                f"the job {self._name} raised {type(error).__name__}{where} ({phase}): {str(error)[:2000]}",
                worker="job",
                phase=phase,
                round_index=round_index,
                log_path=str(log_path),
            ) from error

    def _keep_trace(self) -> Path:
        self._setup.log_dir.mkdir(parents=True, exist_ok=True)
        path = self._setup.log_dir / _LOG
        with path.open("a", encoding="utf-8", errors="backslashreplace") as log:
            log.write(traceback.format_exc())
        return path

    def _refuse(self, what: str, fault: str, phase: str, *, round_index: int | None = None) -> None:
        if fault:
            self._fail(f"{what} {fault}", phase, round_index=round_index)

    def _fail(self, text: str, phase: str, *, round_index: int | None = None) -> None:
        raise RunFailedError(f"the job {self._name}: {text}"[:4000], worker="job", phase=phase, round_index=round_index)


def _as_line(found: Any) -> Line:
    line: Line = found
    return line


class _Keeping:
    """A launcher that knows which crews it started."""

    def __init__(self, launcher: Launcher) -> None:
        self._launcher = launcher
        self._crews: list[Crew] = []
        self.name = launcher.name

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> Crew:
        crew = self._launcher.start(tasks, log_dir=log_dir, limits=limits)
        self._crews.append(crew)
        return crew

    def warm(self, environments: Iterable[Iterable[tuple[str, str]]], *, modules: Sequence[str] | None = None) -> None:
        self._launcher.warm(environments, modules=modules)

    def close(self) -> None:
        """Leave it open: it is the session's, and serves the next run."""

    def stop_crews(self) -> None:
        while self._crews:
            self._crews.pop().stop()
