"""The worker that runs a command line: orders to it, lines from it, and its end, whatever becomes of it. No torch.

The command is a process group below this worker: when the worker ends, by whatever cause, so does the group.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self, TypeVar

import msgspec

from pytest_mixgpu.jobs.commandlines import (
    MAX_LINE_BYTES,
    AliveLine,
    CommandError,
    CommandLine,
    EvaluationLine,
    Process,
    RoundLineOf,
    StartLine,
    check_participants,
    own_rounds,
    parse_line,
)
from pytest_mixgpu.jobs.facts import Asked, worker_facts
from pytest_mixgpu.jobs.messages import Scale, Scored
from pytest_mixgpu.jobs.wire import WireError
from pytest_mixgpu.jobs.words import (
    End,
    Ended,
    Opened,
    OpenedTogether,
    RoundTogether,
    RunRound,
    Score,
    Scores,
    any_word,
    to_message,
)
from pytest_mixgpu.records.bits import encode_bits
from pytest_mixgpu.records.digests import code_digest
from pytest_mixgpu.records.environment import kernel_environment
from pytest_mixgpu.records.ledger import utc_now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pytest_mixgpu.launch.protocol import Channel, Message
    from pytest_mixgpu.records.model import WorkerFacts

    Wanted = TypeVar("Wanted", StartLine, RoundLineOf, EvaluationLine)

_LOOK_EVERY_S = 0.1
_READS_AT_ONCE = 256
_GRACE_S = 2.0
"""From SIGTERM to SIGKILL; shorter than what a worker itself is given."""


class CommandPayload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the worker is started with."""

    name: str
    asked: Asked
    command: tuple[str, ...]
    folder: str
    environment: dict[str, str]
    participants: tuple[int, ...]
    device_ids: tuple[str, ...]
    scale: Scale
    start_s: float
    silence_s: float


def run_command(channel: Channel, payload: Message) -> None:
    """Entry of the worker: start the command, then do as the supervisor says."""
    task = msgspec.convert(payload, CommandPayload)
    channel.status(phase="open")
    with tempfile.TemporaryDirectory(prefix="mixgpu-") as folder, _Command(channel, task, Path(folder)) as command:
        opened = command.open()
        channel.send(to_message(opened))
        while True:
            word = any_word(channel.receive())
            if isinstance(word, RunRound):
                channel.send(to_message(command.run_round(word)))
            elif isinstance(word, Score):
                channel.send(to_message(command.score(word)))
            elif isinstance(word, End):
                command.end()
                channel.send(to_message(Ended()))
            else:
                raise WireError(f"the supervisor sent `{type(word).__name__}` out of turn")


class _Command:
    def __init__(self, channel: Channel, task: CommandPayload, folder: Path) -> None:
        self._channel, self._task = channel, task
        self._rest = b""
        self._lines: list[bytes] = []
        orders, records = folder / "orders", folder / "records"
        for path in (orders, records):
            os.mkfifo(path, 0o600)
        # Open for both ways: nothing here waits for the command to open its end, nor ends when it opens it twice.
        self._orders = os.open(orders, os.O_RDWR | os.O_CLOEXEC)
        self._records = os.open(records, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
        self._heard_s = time.monotonic()
        port = _free_port()
        environment = {
            **os.environ,
            **task.environment,
            "MIXGPU_ORDERS": str(orders),
            "MIXGPU_RECORDS": str(records),
            "MASTER_ADDR": "127.0.0.1",
            "MASTER_PORT": str(port),
        }
        try:
            self._process = subprocess.Popen(
                task.command, cwd=task.folder, env=environment, stdin=subprocess.DEVNULL, process_group=0
            )
        except OSError as error:
            raise CommandError(
                f"the command {task.command[0]!r} cannot be started in {task.folder}: {error}"
            ) from error

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End the command and all that it started."""
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(_GRACE_S)
        os.close(self._orders)
        os.close(self._records)

    def open(self) -> OpenedTogether:
        """Wait until it is ready."""
        line = self._hear(StartLine, phase="open", within_s=self._task.start_s)
        age_s = self._task.asked.age_s()
        check_participants("the start", [one.participant for one in line.processes], len(self._task.participants))
        processes = sorted(line.processes, key=lambda one: one.participant)
        return OpenedTogether(
            opened=tuple(
                Opened(
                    facts=self._facts(process, device_id, age_s),
                    host_facts=self._task.asked.other_host_facts(),
                    data_digest=line.data_digest,
                    data_counts=line.data_counts,
                    num_parameters=line.num_parameters,
                    update_bytes=line.update_bytes,
                )
                for process, device_id in zip(processes, self._task.device_ids, strict=True)
            )
        )

    def run_round(self, word: RunRound) -> RoundTogether:
        """Have a round run."""
        started_at = utc_now()
        self._order(order="round", index=word.index, steps=word.steps, instrumented=word.instrumented)
        line = self._hear(RoundLineOf, phase="compute", round_index=word.index)
        if line.index != word.index:
            raise CommandError(f"the command wrote round {line.index}, expected round {word.index}")
        return RoundTogether(
            rounds=own_rounds(line, num_participants=len(self._task.participants), started_at=started_at)
        )

    def score(self, word: Score) -> Scores:
        """Have the present weights scored."""
        began_s = time.perf_counter()
        self._order(order="evaluate", split=word.split)
        line = self._hear(EvaluationLine, phase="evaluate", round_index=word.after_round)
        if line.split != word.split:
            raise CommandError(f"the command scored the {line.split} split, expected {word.split}")
        scored = Scored(
            num_correct=sum(line.correct),
            num_total=len(line.correct),
            loss=line.loss,
            correct_bits=encode_bits(bool(one) for one in line.correct) if word.split == "test" else "",
            duration_s=time.perf_counter() - began_s,
            weights_digest=line.weights_digest,
            num_threads=self._task.scale.num_threads,
        )
        return Scores(scored=scored, scale=self._task.scale)

    def end(self) -> None:
        """Have it end in order: with status 0, and without another word."""
        self._order(order="end")
        deadline_s = time.monotonic() + self._task.silence_s
        while (status := self._process.poll()) is None:
            if time.monotonic() > deadline_s:
                raise CommandError(f"the command did not exit within {self._task.silence_s:g} s after the end")
            self._channel.status(phase="end")
            time.sleep(_LOOK_EVERY_S)
        self._refuse_unasked("after the end")
        if status != 0:
            raise CommandError(f"the command {_exit_text(status)} after the end, expected status 0")

    def _order(self, **order: object) -> None:
        self._refuse_unasked(f"before it was told to {order['order']}")
        self._heard_s = time.monotonic()
        os.write(self._orders, json.dumps(order).encode() + b"\n")

    def _refuse_unasked(self, when: str) -> None:
        self._take_in()
        for raw in self._lines:
            if not isinstance(parse_line(raw), AliveLine):
                raise CommandError(f"the command wrote {raw[:80]!r} {when}: nothing was asked")
        self._lines.clear()

    def _hear(
        self, kind: type[Wanted], *, phase: str, round_index: int | None = None, within_s: float | None = None
    ) -> Wanted:
        limit_s = self._task.silence_s if within_s is None else within_s
        while True:
            # The limit of silence is the command's own; this worker shows that it watches.
            self._channel.status(phase=phase, round_index=round_index)
            for line in self._next_lines():
                if isinstance(line, kind):
                    return line
                if not isinstance(line, AliveLine):
                    found, wanted = line.__struct_config__.tag, kind.__struct_config__.tag
                    raise CommandError(f"the command wrote a line `{found}`, expected `{wanted}`")
            if time.monotonic() - self._heard_s > limit_s:
                raise CommandError(f"the command wrote nothing for {limit_s:g} s ({phase})")

    def _next_lines(self) -> Iterator[CommandLine]:
        status = self._process.poll()
        select.select([self._records], [], [], 0 if status is not None else _LOOK_EVERY_S)
        self._take_in()
        while self._lines:
            yield parse_line(self._lines.pop(0))
        if status is not None:
            raise CommandError(f"the command {_exit_text(status)} before it was told to end; its log says more")

    def _take_in(self) -> None:
        # Only so much at once: one that writes without end must not keep this worker from saying so.
        for _ in range(_READS_AT_ONCE):
            try:
                data = os.read(self._records, 1 << 16)
            except BlockingIOError:
                break
            self._heard_s = time.monotonic()
            *whole, self._rest = (self._rest + data).split(b"\n")
            self._lines += whole
            if max(map(len, (*whole, self._rest))) > MAX_LINE_BYTES:
                raise CommandError(f"the command wrote a line of more than {MAX_LINE_BYTES:,} bytes")

    def _facts(self, process: Process, device_id: str, age_s: float | None) -> WorkerFacts:
        import psutil

        try:
            found = psutil.Process(process.pid)
            family = {process.pid, *(parent.pid for parent in found.parents())}
            cores, environment = found.cpu_affinity() or [], found.environ()
        except psutil.Error as error:
            raise CommandError(f"the start names process {process.pid} for a participant: {error}") from error
        if self._process.pid not in family:
            raise CommandError(f"the start names process {process.pid}, which the command did not start")
        own = worker_facts(
            f"participant-{self._task.participants[process.participant]}",
            device_id=device_id,
            spawned_s=age_s,
            first_step_s=age_s,
            code=self._task.asked.code,
        )
        return msgspec.structs.replace(
            own,
            pid=process.pid,
            torch=process.torch,
            accelerator=None,
            cpu_capability=process.cpu_capability,
            num_threads=process.num_threads,
            cores=tuple(sorted(cores)),
            environment=kernel_environment(environment),
            own_modules={word: code_digest((path,), path.parent) for word, path in self._files()},
        )

    def _files(self) -> Iterator[tuple[str, Path]]:
        """The files of the suite that stand in the command: its script, its configuration."""
        folder = Path(self._task.folder)
        for word in self._task.command:
            path = folder / word
            if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
                yield word, path


def _free_port() -> int:
    """A port that nobody listens on now. Whoever takes it before the command does makes the command fail and say so."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def _exit_text(status: int) -> str:
    return f"exited with status {status}" if status >= 0 else f"was ended by {signal.Signals(-status).name}"
