"""Participants that fail at a stated round: the real ones, on a line to the supervisor that brings the fault."""

import importlib
import os
import signal
import time
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from pytest_mixgpu.launch.protocol import Channel, Crew, Launcher, Limits, Message, Task


class Fault(msgspec.Struct, frozen=True, kw_only=True):
    """What is to happen, when, and to the entry of which worker."""

    fault: str
    round_index: int
    phase: str
    entry: str = ""


class FaultyChannel:
    """A line that does something to its worker when a phase of a round is entered."""

    def __init__(self, channel: Channel, *, fault: str, round_index: int, phase: str) -> None:
        self._channel = channel
        self._fault = fault
        self._at = (round_index, phase)

    def send(self, message: Message) -> None:
        self._channel.send(message)

    def receive(self) -> Message:
        return self._channel.receive()

    def status(self, *, phase: str, round_index: int | None = None) -> None:
        self._channel.status(phase=phase, round_index=round_index)
        if (round_index, phase) == self._at:
            _do(self._fault)


def _do(fault: str) -> None:
    if fault == "raise":
        raise FloatingPointError("the gradient blew up")
    if fault == "hang":
        time.sleep(600)
    os.kill(os.getpid(), signal.Signals[fault])


def fail(channel: Channel, payload: Message) -> None:
    """Entry: the worker that the payload is for, on a faulty line."""
    own = {key: value for key, value in payload.items() if key != "fault"}
    fault = msgspec.convert(payload["fault"], Fault)
    module, _, function = fault.entry.partition(":")
    line = FaultyChannel(channel, fault=fault.fault, round_index=fault.round_index, phase=fault.phase)
    getattr(importlib.import_module(module), function)(line, own)


class FaultyLauncher:
    """A launcher that makes one worker fail.

    Args:
        inner: what really starts workers.
        worker: the one that is to fail.
        fault: `raise`, `hang`, or the name of a signal.
        round_index: when.
        phase: and in which phase.
    """

    name = "faulty"

    def __init__(self, inner: Launcher, *, worker: str, fault: str, round_index: int, phase: str) -> None:
        self._inner = inner
        self._worker = worker
        self._fault = Fault(fault=fault, round_index=round_index, phase=phase)

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> Crew:
        return self._inner.start([self._spoil(task) for task in tasks], log_dir=log_dir, limits=limits)

    def warm(self, environments: Iterable[Iterable[tuple[str, str]]], *, modules: Sequence[str] | None = None) -> None:
        self._inner.warm(environments, modules=modules)

    def close(self) -> None:
        self._inner.close()

    def _spoil(self, task: Task) -> Task:
        if task.name != self._worker:
            return task
        fault = msgspec.to_builtins(msgspec.structs.replace(self._fault, entry=task.entry))
        payload = {**task.payload, "fault": fault}
        return msgspec.structs.replace(task, entry="tests.jobs.faulty_workers:fail", payload=payload)
