"""The conduct of one run: from a registered header to a closed record, whatever happens on the way.

Lines are written as things happen, so that a run which dies leaves what it knew. Imports no torch.
"""

from __future__ import annotations

import contextlib
import time
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from pytest_mixgpu.errors import RunFailedError
from pytest_mixgpu.jobs.code import code_seen
from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.factory import job_for
from pytest_mixgpu.jobs.messages import Scale
from pytest_mixgpu.jobs.progress import describe_evaluation, describe_instrumented, describe_round, describe_start
from pytest_mixgpu.jobs.watching import DeviceWatch, InterferenceMeter, Watcher
from pytest_mixgpu.launch.protocol import Limits
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.model import Fault, Outcome, Span
from pytest_mixgpu.records.plan import EvaluationPlan

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from pytest_mixgpu.jobs.protocol import Job
    from pytest_mixgpu.jobs.workloads.recipe import AnyRecipe
    from pytest_mixgpu.launch.protocol import Launcher
    from pytest_mixgpu.records.model import Evaluation, Header, Line, RoundLine, RunRecord, Start

__all__ = ["DEFAULT_LIMITS", "DeviceWatch", "InterferenceMeter", "Writer", "conduct", "job_for"]

DEFAULT_LIMITS = Limits(progress_s=120.0)
"""Workers show progress at every step, batch and piece of an update, so this bounds one of these, not a round."""
_DEFAULT_EVALUATION = EvaluationPlan()
_LOG_FOLDER = "logs"


class Writer(Protocol):
    """Where the lines of a record go."""

    folder: Path
    """The run's own folder; logs of workers go below it."""

    def write(self, line: Line) -> None:
        """Add a line."""

    def close(self, outcome: Outcome) -> RunRecord:
        """Add the last line, seal the record and read it."""


def conduct(  # noqa: PLR0913 - each is a part of the run that somebody else owns
    header: Header,
    recipe: AnyRecipe,
    *,
    launcher: Launcher,
    writer: Writer,
    limits: Limits = DEFAULT_LIMITS,
    progress: Callable[[str], None] | None = None,
    interference: InterferenceMeter | None = None,
    watch: DeviceWatch | None = None,
    evaluation: EvaluationPlan = _DEFAULT_EVALUATION,
    leased_at: float | None = None,
    data_root: Path | None = None,
    folder: Path | None = None,
    make_job: Callable[[JobSetup], Job] = job_for,
) -> RunRecord:
    """Run one run to its end and return its record. A run that fails is a record too; its failure is not raised.

    Args:
        header: the run, as it was registered.
        recipe: its workload.
        launcher: how its workers are started.
        writer: where its lines go; closed when this returns or raises.
        limits: how long silence of a worker is borne.
        progress: told in a sentence how far the run is.
        interference: who else uses the cores of the pool; None leaves it unknown.
        watch: what becomes of the devices meanwhile, while this runs; None leaves it unknown.
        evaluation: the declared evaluator of final weights.
        leased_at: `time.monotonic()` when the devices were leased; None is now.
        data_root: where files of the workload lie.
        folder: of the suite.
        make_job: from the setup to the job.

    Raises:
        PlanError: the settings ask for something that is not known. The record is closed as failed.
        KeyboardInterrupt: a person stopped the run. The record is closed as stopped.
    """
    say = progress if progress is not None else _say_nothing
    setup = JobSetup(
        header=header,
        recipe=recipe,
        launcher=launcher,
        log_dir=Path(writer.folder) / _LOG_FOLDER,
        limits=limits,
        scale=Scale(
            device=evaluation.device, number_format=evaluation.number_format, num_threads=evaluation.num_threads
        ),
        data_root=data_root,
        folder=folder,
        # At the latest now this process looks at the code for the first time.
        code=code_seen(),
        say=say,
    )
    with contextlib.nullcontext() if watch is None else watch:
        watcher = Watcher(header.pool, host=header.host.host, meter=interference, watch=watch)
        return _Conductor(setup, writer, say, watcher, leased_at).conduct(make_job)


class _Conductor:
    def __init__(
        self,
        setup: JobSetup,
        writer: Writer,
        say: Callable[[str], None],
        watcher: Watcher,
        leased_at: float | None,
    ) -> None:
        self._setup = setup
        self._writer = writer
        self._say = say
        self._watcher = watcher
        now_s = time.monotonic()
        self._leased_s = now_s if leased_at is None else leased_at
        self._spans = [Span("lease", 0.0, now_s - self._leased_s)]
        # DistributedDataParallel moves bytes that nobody counts, and so do jobs of a user's own.
        exchange = setup.header.settings.exchange
        is_uncounted = exchange == "ddp" or (setup.header.job and exchange != "none")
        self._moved_bytes = None if is_uncounted else 0
        self._is_moving = False
        """Whether bytes move that are only counted when all have: a run that ends meanwhile does not know its sum."""
        self._job: Job | None = None

    def conduct(self, make_job: Callable[[JobSetup], Job]) -> RunRecord:
        """Run, and close the record in any case."""
        status: Literal["completed", "failed", "stopped"] = "failed"
        reason, raising = "", False
        try:
            with self._span("setup"):
                self._job = make_job(self._setup)
                self._start(self._job)
            self._train(self._job)
            status = "completed"
        except RunFailedError as error:
            status, reason = ("stopped" if error.stopped else "failed"), str(error)
            self._writer.write(self._fault(error))
        except KeyboardInterrupt:
            status, reason, raising = "stopped", "stopped by hand (KeyboardInterrupt)", True
            raise
        except BaseException as error:
            reason, raising = f"{type(error).__name__}: {error}", True
            raise
        finally:
            record = self._close(status, reason, raising=raising)
        return record

    def _start(self, job: Job) -> None:
        header = self._setup.header
        began_s = time.monotonic()
        self._say(describe_start(len(header.pool)))
        with self._moving():
            start = self._watcher.seen_before(job.start())
        self._writer.write(start)
        self._count(_moved_at_start(start, header))
        self._say(f"ready after {time.monotonic() - began_s:.1f} s")

    def _train(self, job: Job) -> None:
        settings = self._setup.header.settings
        lines: list[RoundLine] = []
        for index in range(job.num_rounds):
            with self._span("training"), self._moving():
                line = self._run_round(job, index)
            lines.append(line)
            self._writer.write(line)
            self._count(sum(line.sent_bytes) + sum(line.received_bytes))
            self._say(describe_round(lines, settings, num_rounds=job.num_rounds))
            if settings.evaluate_every and (index + 1) % settings.evaluate_every == 0:
                self._evaluate(job, "validation")
        if settings.to_finish:
            self._say("scoring the test split")
            self._say(describe_evaluation(self._evaluate(job, "test")))
        # After the score, so that what is judged is the schedule and nothing beside it.
        num_instrumented: int = getattr(job, "num_instrumented_rounds", 0)
        for index in range(job.num_rounds, job.num_rounds + num_instrumented):
            with self._span("training"), self._moving():
                line = self._run_round(job, index)
            self._writer.write(line)
            self._say(describe_instrumented(line, lines, number=index - job.num_rounds + 1, total=num_instrumented))

    def _run_round(self, job: Job, index: int) -> RoundLine:
        self._watcher.begin()
        return self._watcher.seen_in(job.run_round(index))

    @contextlib.contextmanager
    def _moving(self) -> Iterator[None]:
        self._is_moving = self._setup.header.settings.exchange != "none"
        yield
        self._is_moving = False

    def _count(self, num_bytes: int) -> None:
        if self._moved_bytes is not None:
            self._moved_bytes += num_bytes

    def _evaluate(self, job: Job, split: Literal["validation", "test"]) -> Evaluation:
        with self._span("evaluation"):
            line = job.evaluate(split)
        self._writer.write(line)
        return line

    def _close(self, status: Literal["completed", "failed", "stopped"], reason: str, *, raising: bool) -> RunRecord:
        """End the workers and close the record; `raising` says that an error is on its way already."""
        try:
            with self._span("teardown"):
                if self._job is not None:
                    self._job.stop()
        except BaseException as error:
            # A run whose workers may live on is none that completed; what ended it first stays the first reason.
            by_hand = status == "stopped" or isinstance(error, KeyboardInterrupt)
            status = "stopped" if by_hand else "failed"
            told = f"the workers were not ended in order: {type(error).__name__}: {error}"
            reason = f"{reason}; {told}" if reason else told
            # An error that is on its way, a Ctrl-C among them, must not be replaced by this one; and that a run failed
            # is what its record says.
            if not ((raising and isinstance(error, Exception)) or isinstance(error, RunFailedError)):
                raise
        finally:
            # In any case: an open record stays locked for as long as this process lives.
            code = code_seen()
            record = self._writer.close(
                self._watcher.seen_after(
                    Outcome(
                        status=status,
                        finished_at=utc_now(),
                        reason=reason,
                        spans=tuple(self._spans),
                        leased_s=time.monotonic() - self._leased_s,
                        moved_bytes=None if self._is_moving else self._moved_bytes,
                        code_digest=code.digest,
                        code_touched=code.touched,
                    )
                )
            )
        return record

    def _fault(self, error: RunFailedError) -> Fault:
        header = self._setup.header
        names = {f"participant-{index}": device for index, device in enumerate(header.pool.devices)}
        device = names.get(error.worker)
        log = Path(error.log_path)
        with contextlib.suppress(ValueError):
            log = log.relative_to(Path(self._writer.folder).absolute())
        return Fault(
            at=utc_now(),
            worker=error.worker,
            device=device.id if device is not None else "",
            host=device.host if device is not None else header.coordinator or header.host.host,
            phase=error.phase,
            round_index=error.round_index,
            message=str(error),
            log=str(log) if error.log_path else "",
        )

    @contextlib.contextmanager
    def _span(self, name: str) -> Iterator[None]:
        start_s = time.monotonic() - self._leased_s
        try:
            yield
        finally:
            self._spans.append(Span(name, start_s, time.monotonic() - self._leased_s - start_s))


def _moved_at_start(start: Start, header: Header) -> int:
    """Payload before the first round: the first model to each participant, and the probes of the links."""
    models = start.update_bytes * len(header.pool)
    return models + sum(2 * link.probe_bytes * link.num_probes for link in start.links)


def _say_nothing(_text: str) -> None:
    return None
