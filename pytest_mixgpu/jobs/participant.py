"""A participant of the averaging job: from GO to the new model, stamped at every step. Runs inside a worker.

Its rounds are driven by the coordinator over one TCP line; the supervisor only starts it and hears of its failure.
"""

import time
from typing import NoReturn

import msgspec

from pytest_mixgpu.jobs.cputime import CpuMeter
from pytest_mixgpu.jobs.links import answer, scratch_for_probes
from pytest_mixgpu.jobs.messages import (
    Close,
    Go,
    Holding,
    Message,
    Model,
    Ping,
    Ready,
    Report,
    Update,
    Validate,
    Validated,
)
from pytest_mixgpu.jobs.opening import describe, open_trainer
from pytest_mixgpu.jobs.scoring import own_scale, score_model
from pytest_mixgpu.jobs.state import FlatState
from pytest_mixgpu.jobs.training import Trainer
from pytest_mixgpu.jobs.wire import Connection, PeerWireError, join
from pytest_mixgpu.jobs.words import Connect, WorkerPayload, to_message, to_word
from pytest_mixgpu.launch.protocol import Channel
from pytest_mixgpu.launch.protocol import Message as Payload
from pytest_mixgpu.timing.model import ParticipantStamps


def participate(channel: Channel, payload: Payload) -> None:
    """Entry of the worker: open, join, train, until the supervisor ends this process."""
    task = msgspec.convert(payload, WorkerPayload)
    spawned_s = task.asked.age_s()
    trainer = open_trainer(channel, task)
    first_step_s = task.asked.age_s()
    state = FlatState(trainer.model)
    channel.send(
        to_message(
            describe(task, trainer, spawned_s=spawned_s, first_step_s=first_step_s, update_bytes=state.incoming.nbytes)
        )
    )
    address = to_word(channel.receive(), Connect)
    channel.status(phase="idle")
    sock = join((address.host, address.port), task.token, participant=task.training.participant)
    _Participant(channel, trainer, state, Connection(sock, peer="coordinator", cut_s=task.cut_s)).serve()


class _Participant:
    def __init__(self, channel: Channel, trainer: Trainer, state: FlatState, connection: Connection) -> None:
        self._channel = channel
        self._trainer = trainer
        self._state = state
        self._line = connection
        self._line.room = self._room
        self._line.alive = self._alive
        self._scratch = scratch_for_probes()
        self._phase = "idle"
        self._round_index: int | None = None

    def serve(self) -> NoReturn:
        """Answer the coordinator until the supervisor ends this process."""
        while True:
            self._enter("idle")
            message = self._line.receive()
            if isinstance(message, Go):
                self._run_round(message, start_s=time.perf_counter())
            elif isinstance(message, Model):
                self._take_model()
                self._line.expect(Close)
            elif isinstance(message, Ping):
                answer(self._line, message, self._scratch)
            elif isinstance(message, Validate):
                self._validate()
            else:
                raise PeerWireError("coordinator", f"sent `{type(message).__name__}` out of turn")

    def _run_round(self, go: Go, *, start_s: float) -> None:
        self._round_index = go.round_index
        self._enter("compute")
        cpu = CpuMeter(self._trainer.task.device)
        steps = self._trainer.run_steps(go.steps, self._alive)
        compute_end_s = self._trainer.clock.now_s() - start_s
        compute_cpu_s = cpu.used_s()
        self._line.send(Ready())
        self._enter("prepare")
        update = self._state.prepare_update()
        prepare_end_s = time.perf_counter() - start_s
        self._enter("send")
        self._line.send(Update(samples=steps.samples), update)
        send_end_s = time.perf_counter() - start_s
        self._enter("wait")
        self._line.expect(Model)
        return_last_s = time.perf_counter() - start_s
        return_first_s = self._line.first_byte_s - start_s
        self._enter("return")
        hold_s = self._take_model() - start_s
        self._enter("wait")
        self._line.expect(Close)
        stamps = ParticipantStamps(
            compute_end_s=compute_end_s,
            prepare_end_s=prepare_end_s,
            send_end_s=send_end_s,
            return_first_s=return_first_s,
            return_last_s=return_last_s,
            hold_s=hold_s,
            close_s=time.perf_counter() - start_s,
        )
        self._line.send(
            Report(stamps=stamps, clock_at_go_s=start_s, train_loss=steps.mean_loss(), compute_cpu_s=compute_cpu_s)
        )

    def _take_model(self) -> float:
        """Load the model that came in and say so; the clock when it was loaded."""
        expected = self._state.incoming.nbytes
        if self._line.payload_bytes != expected:
            raise PeerWireError(
                "coordinator", f"sent a model of {self._line.payload_bytes} bytes; {expected} are expected"
            )
        self._state.load_incoming()
        held_s = self._trainer.clock.now_s()
        self._line.send(Holding())
        return held_s

    def _validate(self) -> None:
        self._enter("evaluate")
        trainer, scale = self._trainer, own_scale(self._trainer)
        scored = score_model(
            trainer.model,
            trainer.workload,
            "validation",
            scale,
            alive=self._alive,
            say=lambda scoring: self._channel.send(to_message(scoring)),
        )
        self._line.send(Validated(scored=scored, scale=scale))

    def _room(self, message: Message) -> memoryview:
        return self._state.incoming if isinstance(message, Model) else self._scratch

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._alive()

    def _alive(self) -> None:
        self._channel.status(phase=self._phase, round_index=self._round_index)
