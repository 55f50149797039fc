"""What all our jobs share on the supervisor's side: from a run's header to tasks, a crew, and lines of the record."""

import os
import secrets
from collections import deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, TypeVar

import msgspec

from pytest_mixgpu.devices.numa import place_beside
from pytest_mixgpu.errors import PlanError, RunFailedError
from pytest_mixgpu.jobs.code import CodeSeen
from pytest_mixgpu.jobs.facts import Asked
from pytest_mixgpu.jobs.messages import Scale
from pytest_mixgpu.jobs.progress import describe_scoring
from pytest_mixgpu.jobs.training import TrainingTask
from pytest_mixgpu.jobs.words import Opened, Score, Scores, Scoring, Word, WorkerPayload, to_message, to_word
from pytest_mixgpu.jobs.workloads.recipe import AnyRecipe, OwnRecipe, for_own_job_only
from pytest_mixgpu.launch.protocol import Crew, Launcher, Limits, Message, Task
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.model import Evaluation, Header, Link, RoundLine, Start

W = TypeVar("W", bound=Word)
LOOPBACK = "127.0.0.1"
_SCORING = Scoring.__struct_config__.tag


class JobSetup(msgspec.Struct, frozen=True, kw_only=True):
    """What a job is made from."""

    header: Header
    recipe: AnyRecipe
    launcher: Launcher
    log_dir: Path
    limits: Limits
    scale: Scale
    """The declared evaluator of final weights."""
    data_root: Path | None = None
    folder: Path | None = None
    """The suite's folder; None where there is no suite."""
    code: CodeSeen | None = None
    """The code as it lay here when the run began; workers on this host need not read it again."""
    say: Callable[[str], None] = lambda _text: None
    """Told in a sentence how far something long is."""

    @property
    def num_rounds(self) -> int:
        """Rounds of one schedule, warm-ups included."""
        return self.header.settings.warmup_rounds + self.header.settings.rounds

    @property
    def bind(self) -> str:
        """The address to listen on: this machine's loopback where all run here, else all addresses."""
        here = self.header.host.host
        hosts = {self.coordinator_host, *(device.host for device in self.header.pool.devices)}
        return LOOPBACK if hosts == {here} else ""

    @property
    def coordinator_host(self) -> str:
        """Where updates are combined, if they are; the header says it."""
        return self.header.coordinator or self.header.host.host


def worker_task(  # noqa: PLR0913 - what sets one participant apart
    setup: JobSetup, entry: str, *, index: int, num_participants: int, steps_a_round: int, token: str = ""
) -> Task:
    """The task of the participant that works on device `index` of the pool."""
    devices = setup.header.pool.devices
    device = devices[index]
    name = f"participant-{index}"
    # Which cores are near a device of another host is known there; a core is named by its number everywhere.
    is_here = device.host == setup.header.host.host
    place = place_beside(device, allowed=None if is_here else ())
    payload = WorkerPayload(
        name=name,
        asked=Asked.now(code=setup.code),
        training=_training(
            setup,
            device=device.torch_device,
            participant=index if num_participants > 1 else 0,
            num_participants=num_participants,
            total_steps=setup.num_rounds * steps_a_round,
        ),
        scale=setup.scale,
        device_id=device.id,
        token=token,
        bind=setup.bind,
        hosts=tuple(each.host for each in devices),
        scoring_cores=_cores_of(setup, device.host),
        takes_digest=device.host not in {each.host for each in devices[:index]},
        # Longer than the coordinator's: of a line that is cut, the end that knows all others is to say so first.
        cut_s=3 * setup.limits.heartbeat_s,
    )
    return Task(
        name=name,
        entry=entry,
        payload=to_message(payload),
        device=device,
        cores=place.cores,
        memory_node=place.memory_node,
        num_threads=setup.header.settings.num_threads,
    )


def coordinator_task(setup: JobSetup, entry: str, *, token: str) -> Task:
    """The task of the worker that combines: it has no device and no core of its own."""
    payload = WorkerPayload(
        name="coordinator",
        asked=Asked.now(code=setup.code),
        training=_training(setup, device="cpu", participant=0, num_participants=1, total_steps=1),
        scale=setup.scale,
        token=token,
        bind=setup.bind,
        hosts=tuple(device.host for device in setup.header.pool.devices),
        scoring_cores=_cores_of(setup, setup.coordinator_host),
        cut_s=setup.limits.heartbeat_s,
        # Whoever knows which line is still speaks before the supervisor, who only sees that all wait.
        stall_s=setup.limits.progress_s / 2,
    )
    return Task(
        name="coordinator",
        entry=entry,
        payload=to_message(payload),
        host=setup.coordinator_host,
        num_threads=setup.scale.num_threads,
    )


def _cores_of(setup: JobSetup, host: str) -> tuple[int, ...]:
    """The cores that this session may use; those of another host are not known here."""
    return tuple(sorted(os.sched_getaffinity(0))) if host == setup.header.host.host else ()


def new_token() -> str:
    """A secret of this run, known to its own workers only."""
    return secrets.token_hex(32)


class Talk:
    """A crew that is spoken to in words; what comes early from others is kept for later.

    Args:
        crew: the workers.
        say: told in a sentence how far a scoring is, whoever scores.
    """

    def __init__(self, crew: Crew, *, say: Callable[[str], None] = lambda _text: None) -> None:
        self._crew = crew
        self._say = say
        self._early: dict[str, deque[Message]] = {}

    def tell(self, worker: str, word: Word) -> None:
        """Say a word to a worker."""
        self._crew.send(worker, to_message(word))

    def hear(self, worker: str, kind: type[W]) -> W:
        """Wait for a word of one worker.

        Raises:
            RunFailedError: a worker is at fault, or this one said something else.
        """
        waiting = self._early.setdefault(worker, deque())
        while not waiting:
            sender, message = self._crew.receive()
            if message.get("kind") == _SCORING:
                self._say(describe_scoring(to_word(message, Scoring)))
            else:
                self._early.setdefault(sender, deque()).append(message)
        try:
            return to_word(waiting.popleft(), kind)
        except ConnectionError as error:
            raise RunFailedError(f"{worker} broke the protocol: {error}", worker=worker) from error

    def stop(self) -> None:
        """End all workers."""
        self._crew.stop()


class Tally:
    """How much training stands behind the present model."""

    def __init__(self) -> None:
        self.samples = 0
        self.training_s = 0.0
        self.last_round = -1

    def add(self, line: RoundLine) -> None:
        """Count a round."""
        self.samples += sum(line.samples)
        self.training_s += line.round_s
        self.last_round = line.index

    def evaluation(self, split: Literal["validation", "test"], scores: Scores, *, evaluator_digest: str) -> Evaluation:
        """The line of the record that says how the present model did."""
        scored, scale = scores.scored, scores.scale
        return Evaluation(
            split=split,
            after_round=self.last_round,
            samples_seen=self.samples,
            training_s=self.training_s,
            duration_s=scored.duration_s,
            num_correct=scored.num_correct,
            num_total=scored.num_total,
            loss=scored.loss,
            device=scale.device,
            number_format=scale.number_format,
            num_threads=scored.num_threads,
            weights_digest=scored.weights_digest,
            correct_bits=scored.correct_bits,
            evaluator_digest=evaluator_digest,
        )


class CrewJob:
    """What every job of ours is: a crew that is started once, spoken to, and stopped.

    Args:
        setup: what the job is made from.
    """

    def __init__(self, setup: JobSetup) -> None:
        self._setup = setup
        self._talk: Talk | None = None
        self._tally = Tally()

    def _assemble(self, tasks: Sequence[Task]) -> Talk:
        """Start the workers; from here on `stop` ends them."""
        setup = self._setup
        crew = setup.launcher.start(tasks, log_dir=setup.log_dir, limits=setup.limits)
        self._talk = Talk(crew, say=setup.say)
        return self._talk

    def _score(self, worker: str, split: Literal["validation", "test"]) -> Evaluation:
        """Let a worker score the present model."""
        self._running.tell(worker, Score(split=split, after_round=self._tally.last_round))
        scores = self._running.hear(worker, Scores)
        return self._tally.evaluation(split, scores, evaluator_digest=self._setup.header.digests.evaluator)

    def stop(self) -> None:
        """End all workers."""
        if self._talk is not None:
            self._talk.stop()

    @property
    def _running(self) -> Talk:
        if self._talk is None:
            raise RuntimeError("the job was not started")
        return self._talk


def start_line(setup: JobSetup, opened: Sequence[Opened], *, links: tuple[Link, ...] = ()) -> Start:
    """The line of the record that says what the workers found.

    Raises:
        RunFailedError: workers opened different data.
    """
    digests = {word.facts.worker: word.data_digest for word in opened if word.data_digest}
    if len(set(digests.values())) > 1:
        raise RunFailedError(
            f"the workers opened different data: {digests}; all must train and score on the same files", worker=""
        )
    hosts = {setup.header.host.host: setup.header.host}
    for facts in (word.host_facts for word in opened if word.host_facts is not None):
        # Each worker of another host knows its own device alone.
        known = hosts[facts.host].devices if facts.host in hosts else ()
        hosts[facts.host] = msgspec.structs.replace(facts, devices=(*known, *facts.devices))
    return Start(
        started_at=utc_now(),
        workers=tuple(word.facts for word in opened),
        hosts=tuple(hosts.values()),
        links=links,
        data_digest=next(iter(digests.values())),
        data_counts=opened[0].data_counts,
        num_parameters=opened[0].num_parameters,
        update_bytes=opened[0].update_bytes,
    )


def _training(
    setup: JobSetup, *, device: str, participant: int, num_participants: int, total_steps: int
) -> TrainingTask:
    settings = setup.header.settings
    if isinstance(setup.recipe, OwnRecipe):
        raise PlanError(for_own_job_only(setup.recipe.name))
    return TrainingTask(
        recipe=setup.recipe,
        data_root=str(setup.data_root.absolute()) if setup.data_root is not None else None,
        device=device,
        seed=setup.header.seed,
        participant=participant,
        num_participants=num_participants,
        batch_size=settings.batch_size,
        total_steps=total_steps,
        number_format=settings.number_format,
    )
