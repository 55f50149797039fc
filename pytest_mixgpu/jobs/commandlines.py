"""What a command line that trains writes, one JSON object a line, and what it is told: strict both ways. No torch.

It reads orders from the file that `MIXGPU_ORDERS` names and writes lines to the one that `MIXGPU_RECORDS` names, both
pipes. First it writes `start`; to each order `round` one `round`, to each `evaluate` one `evaluation`; after `end` it
exits with status 0. In between it may write `alive`, which shows that it goes on.
"""

import math
from collections.abc import Sequence
from typing import Literal

import msgspec

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.jobs.words import OwnRound
from pytest_mixgpu.timing.model import ParticipantStamps, Phase, Segment

MAX_LINE_BYTES = 8 << 20
"""No line is longer: a score of a million samples has 2 MB."""
ROUNDING_S = 1e-3
"""What phases of a round may differ from it by, written by hand as they are; the last one takes it."""
_SHOWN = 200


class CommandError(MixgpuError, RuntimeError):
    """A command line did not do what it was to do; says what was found."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line"):
    """A line; `line` says which."""


class Process(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A process of the command that computes on one device."""

    participant: int
    """Counts from 0 within the command."""
    pid: int
    torch: str | None = None
    """Its version."""
    cpu_capability: str | None = None
    num_threads: int = 1


class StartLine(_Line, frozen=True, kw_only=True, tag="start"):
    """All is open, and whatever is done only once is done."""

    processes: tuple[Process, ...]
    data_digest: str
    data_counts: dict[str, int]
    num_parameters: int
    update_bytes: int = 0


class Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One participant's round."""

    participant: int
    samples: int
    seconds: float
    """From the order to the end of the round, its device idle."""
    compute_s: float | None = None
    """From there to the end of its own work; without it all of the round is."""
    train_loss: float | None = None
    communication_s: float | None = None
    phases: tuple[tuple[Phase, float], ...] = ()
    """In their order, with their lengths, which add up to the round; of instrumented rounds only."""


class RoundLineOf(_Line, frozen=True, kw_only=True, tag="round"):
    """A round is over."""

    index: int
    participants: tuple[Part, ...]


class EvaluationLine(_Line, frozen=True, kw_only=True, tag="evaluation"):
    """The present weights were scored."""

    split: Literal["validation", "test"]
    correct: tuple[Literal[0, 1], ...]
    weights_digest: str
    loss: float | None = None


class AliveLine(_Line, frozen=True, kw_only=True, tag="alive"):
    """It goes on."""


CommandLine = StartLine | RoundLineOf | EvaluationLine | AliveLine
_DECODER: msgspec.json.Decoder[CommandLine] = msgspec.json.Decoder(CommandLine)


def parse_line(raw: bytes) -> CommandLine:
    """Read one line.

    Raises:
        CommandError: it is no line of the schema; says what it is, cut to a readable length.
    """
    try:
        return _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        shown = raw[:_SHOWN].decode("utf-8", "backslashreplace")
        more = f"… ({len(raw):,} bytes)" if len(raw) > _SHOWN else ""
        raise CommandError(f"the command wrote a line that cannot be read: {error}: {shown!r}{more}") from error


def own_rounds(line: RoundLineOf, *, num_participants: int, started_at: str) -> tuple[OwnRound, ...]:
    """Return what each participant said of a round, in their order.

    Raises:
        CommandError: others spoke than those that worked, or phases do not add up.
    """
    check_participants(f"round {line.index}", [part.participant for part in line.participants], num_participants)
    parts = sorted(line.participants, key=lambda part: part.participant)
    return tuple(_own_round(part, line.index, started_at) for part in parts)


def check_participants(what: str, found: Sequence[int], num_participants: int) -> None:
    """Refuse a line of other participants than those of the command, which count from 0.

    Raises:
        CommandError: it names others, or one of them twice or not at all.
    """
    if sorted(found) != list(range(num_participants)):
        raise CommandError(f"{what} names participants {list(found)}, expected 0 to {num_participants - 1}, each once")


def _own_round(part: Part, index: int, started_at: str) -> OwnRound:
    compute_s = part.seconds if part.compute_s is None else part.compute_s
    where = f"round {index}, participant {part.participant}"
    if not 0 <= compute_s <= part.seconds:
        raise CommandError(f"{where}: compute_s {compute_s} of a round of {part.seconds} s")
    if any(length_s < 0 for _, length_s in part.phases):
        raise CommandError(f"{where}: a phase is shorter than nothing: {list(part.phases)}")
    total_s = math.fsum(length_s for _, length_s in part.phases)
    if part.phases and abs(total_s - part.seconds) > ROUNDING_S:
        raise CommandError(f"{where}: phases add up to {total_s:.6f} s, the round lasted {part.seconds:.6f} s")
    segments: list[Segment] = []
    start_s = 0.0
    for number, (phase, length_s) in enumerate(part.phases, start=1):
        end_s = part.seconds if number == len(part.phases) else min(part.seconds, start_s + length_s)
        segments.append(Segment(phase, start_s, end_s - start_s))
        start_s = end_s
    return OwnRound(
        started_at=started_at,
        stamps=ParticipantStamps(compute_end_s=compute_s, close_s=part.seconds),
        samples=part.samples,
        train_loss=part.train_loss,
        segments=tuple(segments),
        communication_s=part.communication_s,
    )
