"""The coordinator of the averaging job: keeps the model, combines updates, scores final weights. Runs inside a worker.

It holds no device. While participants compute it sleeps, since it may share their cores.
"""

import socket
from pathlib import Path
from typing import NoReturn

import msgspec

from pytest_mixgpu.devices.hosts import host_address, host_name
from pytest_mixgpu.jobs.facts import worker_facts
from pytest_mixgpu.jobs.links import measure_link
from pytest_mixgpu.jobs.messages import Validate, Validated
from pytest_mixgpu.jobs.scoring import score_model
from pytest_mixgpu.jobs.star import Star, accept_all, listen
from pytest_mixgpu.jobs.state import flatten, unflatten
from pytest_mixgpu.jobs.training import compute_in_float32
from pytest_mixgpu.jobs.wire import WireError
from pytest_mixgpu.jobs.words import (
    Listening,
    Opened,
    RunRound,
    Score,
    Scores,
    StarRound,
    WorkerPayload,
    any_word,
    to_message,
)
from pytest_mixgpu.jobs.workloads.build import open_workload
from pytest_mixgpu.launch.protocol import Channel, Message
from pytest_mixgpu.records.ledger import utc_now
from pytest_mixgpu.records.model import Link


def coordinate(channel: Channel, payload: Message) -> None:
    """Entry of the worker: listen, measure links, hand out the first model, then do as the supervisor says."""
    task = msgspec.convert(payload, WorkerPayload)
    coordinator = _Coordinator(channel, task, spawned_s=task.asked.age_s())
    with listen(task.bind, len(task.hosts)) as server:
        # Participants connect whenever they are ready; the model is made meanwhile.
        channel.send(to_message(Listening(host=task.bind or host_address(), port=server.getsockname()[1])))
        star, links = coordinator.open(server)
    coordinator.serve(star, links)


class _Coordinator:
    def __init__(self, channel: Channel, task: WorkerPayload, *, spawned_s: float | None) -> None:
        self._channel = channel
        self._task = task
        self._spawned_s = spawned_s
        self._round_index: int | None = None
        self._phase = "open"
        self._enter("open")
        compute_in_float32()
        training = task.training
        self._workload = open_workload(
            training.recipe, data_root=Path(training.data_root) if training.data_root else None
        )
        self._model = self._workload.make_model(training.seed)

    def open(self, server: socket.socket) -> tuple[Star, tuple[Link, ...]]:
        """Let the participants in, measure their links, and hand them the model that the run starts from."""
        hosts = self._task.hosts
        self._enter("wait")
        lines = accept_all(
            server, self._task.token, num_participants=len(hosts), alive=self._alive, cut_s=self._task.cut_s
        )
        links = tuple(
            measure_link(line, participant=index, from_host=hosts[index], to_host=host_name())
            for index, line in enumerate(lines)
        )
        star = Star(flatten(self._model), lines, status=self._enter, stall_s=self._task.stall_s)
        star.distribute()
        return star, links

    def serve(self, star: Star, links: tuple[Link, ...]) -> NoReturn:
        """Do what the supervisor says until it ends this process."""
        self._channel.send(to_message(self._describe(star, links)))
        while True:
            self._enter("idle")
            word = any_word(self._channel.receive())
            if isinstance(word, RunRound):
                self._round_index = word.index
                self._channel.send(to_message(self._run_round(star, word)))
            elif isinstance(word, Score):
                self._channel.send(to_message(self._score(star, word)))
            else:
                raise WireError(f"the supervisor sent `{type(word).__name__}` out of turn")

    def _run_round(self, star: Star, word: RunRound) -> StarRound:
        started_at = utc_now()
        seen = star.run_round(word.index, word.steps)
        return StarRound(started_at=started_at, seen=seen)

    def _score(self, star: Star, word: Score) -> Scores:
        if word.split == "validation":
            # By the first participant, on its own device: it holds the same model, and this process has none.
            self._enter("wait")
            first = star.connections[0]
            first.send(Validate(round_index=word.after_round))
            answer = first.expect(Validated)
            return Scores(scored=answer.scored, scale=answer.scale)
        self._enter("evaluate")
        unflatten(self._model, star.model)
        scored = score_model(
            self._model,
            self._workload,
            word.split,
            self._task.scale,
            alive=self._alive,
            say=lambda scoring: self._channel.send(to_message(scoring)),
            cores=self._task.scoring_cores,
        )
        return Scores(scored=scored, scale=self._task.scale)

    def _describe(self, star: Star, links: tuple[Link, ...]) -> Opened:
        return Opened(
            facts=worker_facts(
                self._task.name,
                device_id=None,
                spawned_s=self._spawned_s,
                first_step_s=None,
                code=self._task.asked.code,
            ),
            host_facts=self._task.asked.other_host_facts(),
            data_digest=self._workload.digest,
            data_counts=self._workload.counts,
            num_parameters=sum(parameter.numel() for parameter in self._model.parameters()),
            update_bytes=star.model.nbytes,
            links=links,
        )

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._alive()

    def _alive(self) -> None:
        self._channel.status(phase=self._phase, round_index=self._round_index)
