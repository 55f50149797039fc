"""Lets the time of one made-up run pass, from its lease to its release; for `tests/samples.py`."""

import random
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from functools import cache
from typing import NamedTuple

import msgspec

from pytest_mixgpu.records.bits import encode_bits
from pytest_mixgpu.records.model import Evaluation, Fault, Header, Line, Outcome, RoundLine, Span, Start
from tests.sample_parts import PARTS, hex_of, make_host, make_links, make_workers
from tests.sample_rounds import plain_round, solo_round, star_round


class Profile(NamedTuple):
    """What is known of a workload before it runs."""

    num_parameters: int
    data_counts: dict[str, int]
    correct: dict[str, int]
    """Right test images by name of role."""
    setup_s: float
    num_threads: int
    """Of the evaluator."""


PROFILES = {
    True: Profile(
        136_074,
        {"train": 1212, "validation": 135, "test": 450},
        {"fleet": 441, "reference": 442, "control-a": 439, "control-b": 441, "mixed": 440},
        1.9,
        1,
    ),
    False: Profile(
        85_827_109,
        {"train": 3312, "validation": 368, "test": 3669},
        {"fleet": 3405, "reference": 3417, "control-a": 3408, "control-b": 3416, "mixed": 3405},
        48.0,
        16,
    ),
}
"""By whether it is a rehearsal."""


class MadeRun(NamedTuple):
    """One run, line by line, not yet sealed. Without an outcome it is left open, as a crash leaves it."""

    header: Header
    start: Start | None
    rounds: tuple[RoundLine, ...]
    evaluations: tuple[Evaluation, ...]
    outcome: Outcome | None
    faults: tuple[Fault, ...] = ()

    def lines(self) -> Iterator[Line]:
        """All lines but the outcome, in the order in which they are written."""
        yield self.header
        if self.start is not None:
            yield self.start
        for line in self.rounds:
            yield line
            yield from (one for one in self.evaluations if one.after_round == line.index)
        yield from self.faults


class Timeline:
    """The time of one run."""

    def __init__(self, header: Header, *, at: datetime, speed: float) -> None:
        self.header = header
        self.profile = PROFILES[header.rehearsal]
        # A run at another speed is another run: the same scatter, scaled, would be a copy of it.
        other = "" if speed == 1 else f" at {speed}"
        self.noise = noise(f"{header.name} {header.leg} {header.repeat} {header.rehearsal}{other}")
        self.at = at
        self.speed = speed
        self.now_s = 0.0
        self.spans: list[Span] = []
        self.rounds: list[RoundLine] = []
        self.evaluations: list[Evaluation] = []

    def run(self) -> MadeRun:
        settings = self.header.settings
        self._pass("lease", 0.02)
        self._pass("setup", self.profile.setup_s)
        start = self._start()
        for index, (participant, warmup) in enumerate(self._schedule()):
            self._round(index, participant, warmup=warmup, links=start)
            if settings.evaluate_every and (index + 1) % settings.evaluate_every == 0:
                self._evaluate("validation")
        if settings.to_finish:
            self._evaluate("test")
        self._pass("teardown", 0.11)
        # Nobody counts what the usual tool moves.
        moved = None if settings.exchange == "ddp" else counted_bytes(self.rounds)
        outcome = Outcome(
            status="completed",
            finished_at=self._moment(),
            spans=tuple(self.spans),
            leased_s=self.now_s,
            moved_bytes=moved,
        )
        return MadeRun(self.header, start, tuple(self.rounds), tuple(self.evaluations), outcome)

    def _schedule(self) -> Iterator[tuple[int, bool]]:
        """Yield who works in each round (all, or one device of a baseline) and whether it is a warm-up."""
        settings = self.header.settings
        turns = range(len(self.header.pool)) if settings.exchange == "none" else range(1)
        for turn in turns:
            for count in range(settings.warmup_rounds + settings.rounds):
                yield turn, count < settings.warmup_rounds

    def _start(self) -> Start:
        header = self.header
        hosts = {device.host for device in header.pool.devices} | ({header.coordinator} - {""})
        return Start(
            started_at=self._moment(),
            workers=make_workers(
                header.pool, coordinator=header.coordinator if header.settings.exchange == "star" else ""
            ),
            hosts=tuple(make_host(host) for host in sorted(hosts)),
            links=make_links(header.pool, coordinator=header.coordinator if header.settings.exchange == "star" else ""),
            data_digest=hex_of(f"data of {header.settings.workload}"),
            data_counts=self.profile.data_counts,
            num_parameters=self.profile.num_parameters,
            update_bytes=4 * self.profile.num_parameters if header.settings.exchange == "star" else 0,
        )

    def _round(self, index: int, participant: int, *, warmup: bool, links: Start) -> None:
        settings, devices = self.header.settings, self.header.pool.devices
        loss = 2.3 * 0.6**index + noise(f"loss {self.header.seed} {index}").uniform(0.02, 0.03)
        if settings.exchange == "none":
            samples = settings.round_steps * settings.batch_size
            compute_s = self._compute_s(devices[participant].kind, settings.round_steps, warmup=warmup)
            line = solo_round(participant, compute_s, samples=samples, loss=loss)
        else:
            each_s = [
                self._compute_s(device.kind, steps, warmup=warmup)
                for device, steps in zip(devices, settings.shares, strict=True)
            ]
            samples_each = [steps * settings.batch_size for steps in settings.shares]
            if settings.exchange == "star":
                line = star_round(
                    each_s, samples=samples_each, loss=loss, links=links.links, update_bytes=links.update_bytes
                )
            else:
                line = plain_round(each_s, samples=samples_each, loss=loss)
        changes = {"index": index, "warmup": warmup, "started_at": self._moment()}
        self.rounds.append(msgspec.structs.replace(line, **changes))
        self._pass("training", line.round_s)

    def _compute_s(self, kind: str, steps: int, *, warmup: bool) -> float:
        slow = 1.04 if warmup else 1.0
        if self.header.pool.is_cpu and self.header.settings.exchange != "none" and len(self.header.pool) > 1:
            # Cores share their memory.
            slow *= 1.05
        return steps * PARTS[kind].step_s / self.speed * slow * (1 + abs(self.noise.gauss(0, 0.004)))

    def _evaluate(self, split: str) -> None:
        header, is_test = self.header, split == "test"
        total = self.profile.data_counts[split]
        right = self.profile.correct.get(header.name, 0) + (0, -1, 1, 2, -2)[header.repeat % 5]
        if not is_test:
            right = int(total * (right / self.profile.data_counts["test"]) * (1 - 0.6 ** len(self.rounds)))
        duration_s = total * (0.0004 if header.rehearsal else 0.05)
        seen = f"{header.name} {header.seed} {len(self.rounds)}"
        evaluation = Evaluation(
            split="test" if is_test else "validation",
            after_round=self.rounds[-1].index,
            samples_seen=sum(sum(line.samples) for line in self.rounds),
            training_s=sum(line.round_s for line in self.rounds),
            duration_s=duration_s,
            num_correct=right,
            num_total=total,
            loss=0.09,
            device="cpu",
            number_format="float32",
            num_threads=self.profile.num_threads,
            weights_digest=hex_of(f"weights {seen}"),
            correct_bits=made_bits(right, total, key=seen) if is_test else "",
            evaluator_digest=header.digests.evaluator,
        )
        self.evaluations.append(evaluation)
        self._pass("evaluation", duration_s)

    def _pass(self, name: str, duration_s: float) -> None:
        self.spans.append(Span(name, self.now_s, duration_s))
        self.now_s += duration_s

    def _moment(self) -> str:
        return (self.at + timedelta(seconds=self.now_s)).isoformat(timespec="milliseconds")


def counted_bytes(rounds: Sequence[RoundLine]) -> int:
    """Return what crossed links in these rounds."""
    return sum(sum(line.sent_bytes) + sum(line.received_bytes) for line in rounds)


@cache
def made_bits(num_correct: int, num_total: int, *, key: str) -> str:
    """Return which samples were right: most errors fall on the same hard samples, the rest anywhere."""
    order = list(range(num_total))
    noise("hard samples").shuffle(order)
    weights = {sample: place * noise(f"{key} {sample}").uniform(0.7, 1.3) for place, sample in enumerate(order)}
    wrong = set(sorted(order, key=weights.__getitem__)[: num_total - num_correct])
    return encode_bits(sample not in wrong for sample in range(num_total))


def noise(key: str) -> random.Random:
    """Return a source of numbers that is the same for the same key."""
    return random.Random(key)  # noqa: S311 - made-up data needs no secrecy
