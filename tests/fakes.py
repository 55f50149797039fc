"""Stand-ins for what tests do not have: clocks, devices, clusters. One small class each."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Self

from pytest_mixgpu.devices.catalog import kind_of
from pytest_mixgpu.devices.inventory import Inventory
from pytest_mixgpu.devices.model import Device, Vendor
from pytest_mixgpu.launch.protocol import Crew, Limits, Message, Task
from pytest_mixgpu.records.model import Evaluation, RoundLine, Start
from pytest_mixgpu.timing.model import ParticipantStamps, Segment

if TYPE_CHECKING:
    from pytest_mixgpu.jobs.crewjob import JobSetup


class StepClock:
    """A clock that moves only when it is told to."""

    name = "step"

    def __init__(self) -> None:
        self._now_s = 0.0

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self._now_s += seconds

    def now_s(self) -> float:
        """The seconds that have passed."""
        return self._now_s


class FakeMachine:
    """A machine with the GPUs and cores that it was given; names are read by the real catalog."""

    def __init__(self, *names: str, num_cores: int = 2, host: str = "fake") -> None:
        gpus = (fake_gpu(name, ordinal=index, host=host) for index, name in enumerate(names))
        self.devices = (*gpus, *(fake_core(index, host=host) for index in range(num_cores)))

    def look(self) -> Inventory:
        """List what this machine was given."""
        return Inventory(devices=self.devices)


def fake_gpu(name: str, *, ordinal: int = 0, host: str = "fake", num_units: int | None = None) -> Device:
    """Make up a GPU under a name that a driver might report."""
    vendor: Vendor = "amd" if name.lower().startswith(("amd", "radeon", "gfx")) or not name else "nvidia"
    naming = kind_of(name, vendor=vendor, num_units=num_units)
    return Device(
        id=f"GPU-{host}-{ordinal}",
        kind=naming.kind,
        name=name,
        vendor=vendor,
        host=host,
        ordinal=ordinal,
        num_units=num_units,
        flags=naming.flags,
    )


def fake_core(ordinal: int, *, host: str = "fake") -> Device:
    """Make up a core."""
    return Device(id=f"cpu:{host}:{ordinal}", kind="cpu", name="Fake CPU", vendor="cpu", host=host, ordinal=ordinal)


class FakeJob:
    """A job that trains nothing: it notes what was asked of it, and fails where it is told to.

    Args:
        num_rounds: how many it claims to have.
        fails_at: the call that fails, for example `round 2`.
        error: with what.
        round_s: how long it claims a round took.
        update_bytes: how many bytes it claims an update has.
        stop_error: what the end of its workers raises.
    """

    def __init__(
        self,
        *,
        num_rounds: int,
        fails_at: str = "",
        error: BaseException | None = None,
        round_s: float = 1.0,
        update_bytes: int = 0,
        stop_error: BaseException | None = None,
    ) -> None:
        self.num_rounds = num_rounds
        self.calls: list[str] = []
        self.setup: JobSetup | None = None
        self._fails_at, self._error = fails_at, error
        self._round_s, self._update_bytes = round_s, update_bytes
        self._stop_error = stop_error

    def start(self) -> Start:
        """Claim to be ready."""
        self._note("start")
        return Start(
            started_at="2026-11-29T12:00:00.000+00:00",
            workers=(),
            hosts=(),
            data_digest="data",
            data_counts={},
            num_parameters=1,
            update_bytes=self._update_bytes,
        )

    def run_round(self, index: int) -> RoundLine:
        """Claim that two participants took 40 samples each."""
        self._note(f"round {index}")
        stamps = ParticipantStamps(compute_end_s=self._round_s, close_s=self._round_s)
        return RoundLine(
            index=index,
            warmup=index == 0,
            started_at="2026-11-29T12:00:00.000+00:00",
            round_s=self._round_s,
            participants=(0, 1),
            samples=(40, 40),
            stamps=(stamps, stamps),
            segments=((Segment("compute", 0.0, self._round_s),),) * 2,
            sent_bytes=(self._update_bytes,) * 2,
            received_bytes=(self._update_bytes,) * 2,
        )

    def evaluate(self, split: Literal["validation", "test"]) -> Evaluation:
        """Claim nine of ten."""
        self._note(split)
        return Evaluation(
            split=split,
            after_round=0,
            samples_seen=0,
            training_s=0.0,
            duration_s=0.0,
            num_correct=9,
            num_total=10,
            loss=None,
            device="cpu",
            number_format="float32",
            num_threads=1,
            weights_digest="weights",
        )

    def stop(self) -> None:
        """Note that it was stopped."""
        self.calls.append("stop")
        if self._stop_error is not None:
            raise self._stop_error

    def _note(self, call: str) -> None:
        self.calls.append(call)
        if call == self._fails_at and self._error is not None:
            raise self._error


class FakeInterference:
    """Reports the shares that it was given."""

    def __init__(self, shares: Mapping[int, float | None]) -> None:
        self._shares = shares

    def sample(self) -> object:
        """Read nothing."""
        return object()

    def foreign_share(self, since: object) -> Mapping[int, float | None]:  # noqa: ARG002 - the protocol's
        """Say what it was told to."""
        return self._shares


class NoLauncher:
    """A launcher that must not be used."""

    name = "none"

    def start(self, tasks: Sequence[Task], *, log_dir: Path, limits: Limits) -> Crew:  # noqa: ARG002 - the protocol's
        """Refuse."""
        raise AssertionError("nothing is started here")

    def warm(self, environments: Iterable[Iterable[tuple[str, str]]], *, modules: Sequence[str] | None = None) -> None:
        """Prepare nothing."""

    def close(self) -> None:
        """Release nothing."""


class FakeCrew:
    """Workers that say what they were given, one word after the other, and take whatever they are told."""

    def __init__(self, *words: tuple[str, Message]) -> None:
        self._words = list(words)

    def send(self, worker: str, message: Message) -> None:
        """Hear it and do nothing."""

    def receive(self, *, timeout_s: float | None = None) -> tuple[str, Message]:  # noqa: ARG002 - the protocol's
        """Say the next word."""
        return self._words.pop(0)

    def stop(self) -> None:
        """Run nothing, end nothing."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stop()
