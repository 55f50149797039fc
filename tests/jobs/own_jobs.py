"""Jobs as users write them, honest and not: in this process, in workers, and as a command line. No torch."""

import os
import socket
import time
from typing import Any, Literal

import msgspec

from pytest_mixgpu.jobs.crewjob import JobSetup
from pytest_mixgpu.jobs.own import Answers, Done, OwnJob, OwnRoundContext, WorkContext, crew_job
from pytest_mixgpu.launch.protocol import Task
from pytest_mixgpu.records.bits import encode_bits
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.model import Evaluation, RoundLine, Start, WorkerFacts
from pytest_mixgpu.timing.model import ParticipantStamps, Segment

COUNTS = {"train": 800, "validation": 40, "test": 50}


class PlainJob:
    """A job that starts nothing and is held to everything: each round lasts as long as it says."""

    def __init__(self, setup: JobSetup) -> None:
        self.setup = setup
        self.num_rounds = setup.num_rounds
        self.seen = 0
        self.last = -1

    def start(self) -> Start:
        header = self.setup.header
        workers = tuple(
            WorkerFacts(
                worker=f"participant-{place}", host=device.host, pid=1000 + place, device_id=device.id, num_threads=1
            )
            for place, device in enumerate(header.pool.devices)
        )
        return Start(
            started_at=utc_now(),
            workers=workers,
            hosts=(header.host,),
            data_digest="d1" * 32,
            data_counts=COUNTS,
            num_parameters=10,
            update_bytes=0,
        )

    def run_round(self, index: int) -> RoundLine:
        settings, num = self.setup.header.settings, len(self.setup.header.pool)
        began_s, started_at = time.perf_counter(), utc_now()
        time.sleep(0.002)
        round_s = time.perf_counter() - began_s
        self.seen += settings.round_steps * settings.batch_size
        self.last = index
        return RoundLine(
            index=index,
            warmup=index < settings.warmup_rounds,
            started_at=started_at,
            round_s=round_s,
            participants=tuple(range(num)),
            samples=tuple(share * settings.batch_size for share in settings.shares),
            stamps=(ParticipantStamps(compute_end_s=round_s, close_s=round_s),) * num,
            segments=((Segment("compute", 0.0, round_s),),) * num,
            train_loss=(1.0,) * num,
        )

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        correct = [True] * (COUNTS[split] - 3) + [False] * 3
        return Evaluation(
            split=split,
            after_round=self.last,
            samples_seen=self.seen,
            training_s=1.0,
            duration_s=0.1,
            num_correct=sum(correct),
            num_total=len(correct),
            loss=0.5,
            device="cpu",
            number_format="float32",
            num_threads=1,
            weights_digest="e1" * 32,
            correct_bits=encode_bits(correct),
        )

    def stop(self) -> None:
        """Nothing was started."""


def plain(setup: JobSetup) -> PlainJob:
    return PlainJob(setup)


class Doctored(PlainJob):
    """The same, and one thing of it is another: an error that is raised, or fields of what a method returns."""

    def __init__(self, setup: JobSetup, method: str, change: Any) -> None:
        super().__init__(setup)
        self._method, self._change = method, change

    def start(self) -> Start:
        start: Start = self._do("start", super().start())
        return start

    def run_round(self, index: int) -> RoundLine:
        line = super().run_round(index)
        return self._do("run_round", line) if index == 1 else line

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        line = super().evaluate(split)
        return self._do("evaluate", line) if split == "test" else line

    def stop(self) -> None:
        self._do("stop", None)

    def _do(self, method: str, value: Any) -> Any:
        if method != self._method:
            return value
        if isinstance(self._change, BaseException):
            raise self._change
        if isinstance(self._change, dict):
            return msgspec.structs.replace(value, **self._change)
        return self._change


class Careless(PlainJob):
    """Starts a crew and forgets it."""

    def start(self) -> Start:
        task = Task(name="forgotten", entry="tests.jobs.own_jobs:idle", payload={})
        self.setup.launcher.start([task], log_dir=self.setup.log_dir, limits=self.setup.limits)
        return super().start()


def idle(channel: Any, _payload: Any) -> None:
    """A worker that waits for a word for ever."""
    channel.receive()


def in_workers(setup: JobSetup) -> OwnJob:
    return crew_job(setup, work, instrumented_rounds=2)


def in_faulty_workers(fault: str, setup: JobSetup) -> OwnJob:
    return crew_job(setup, f"tests.jobs.own_jobs:{fault}")


def work(context: WorkContext) -> None:
    """Meets the others, sleeps for work, and answers."""
    address = context.rendezvous(_listen)
    assert address[1] > 0
    open_(context)
    context.serve(one_round, score)


def returns(context: WorkContext) -> None:
    """Forgets to serve."""
    open_(context)


def without_opening(context: WorkContext) -> None:
    """Serves before it said what there is."""
    context.serve(one_round, score)


def meets_alone(context: WorkContext) -> None:
    """Only the second worker wants to meet."""
    if context.rank:
        context.rendezvous(_listen)
    open_(context)
    context.serve(one_round, score)


def raises(context: WorkContext) -> None:
    """Fails in its second round."""

    def run_round(this: OwnRoundContext) -> Done:
        if this.index == 1 and context.rank == 1:
            raise FloatingPointError("the gradient blew up")
        return one_round(this)

    open_(context)
    context.serve(run_round, score)


def answers_too_few(context: WorkContext) -> None:
    """Scores half of the test set."""
    open_(context)
    context.serve(one_round, lambda split: Answers(correct=[True] * (COUNTS[split] // 2), weights_digest="e1"))


def works_less(context: WorkContext) -> None:
    """Takes half of its steps, and says so."""
    open_(context)
    context.serve(lambda this: Done(samples=8 * this.steps), score)


def no_phase(context: WorkContext) -> None:
    """Enters a phase that there is not."""

    def run_round(this: OwnRoundContext) -> Done:
        this.enter("forward")  # type: ignore[arg-type]
        return one_round(this)

    open_(context)
    context.serve(run_round, score)


def open_(context: WorkContext) -> None:
    context.opened(data_digest="d1" * 32, data_counts=COUNTS, num_parameters=10)


def one_round(this: OwnRoundContext) -> Done:
    """Two phases, and bytes that move in the second of them and a little before."""
    this.alive()
    done = this.moving()
    time.sleep(0.002)
    with this.phase("send"):
        time.sleep(0.003)
        done()
    return Done(samples=16 * this.steps, train_loss=float("nan") if this.index == 0 else 0.5)


def score(split: Literal["validation", "test"]) -> Answers:
    return Answers(correct=[True] * (COUNTS[split] - 5) + [False] * 5, weights_digest=f"{os.getpid():064x}")


def _listen() -> tuple[str, int]:
    server = socket.create_server(("127.0.0.1", 0))
    return "127.0.0.1", server.getsockname()[1]
