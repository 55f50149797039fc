"""What supervisor and workers say to each other: values on our side, plain JSON on the launcher's. Imports no torch."""

from typing import Literal, TypeVar

import msgspec

from pytest_mixgpu.jobs.facts import Asked
from pytest_mixgpu.jobs.messages import Scale, Scored
from pytest_mixgpu.jobs.star import Seen
from pytest_mixgpu.jobs.training import TrainingTask
from pytest_mixgpu.launch.protocol import Message
from pytest_mixgpu.records.model import HostFacts, Link, WorkerFacts
from pytest_mixgpu.timing.model import ParticipantStamps, Segment


class _Word(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """A message; `kind` says which."""


class WorkerPayload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What every worker is started with."""

    name: str
    asked: Asked
    training: TrainingTask
    scale: Scale
    """The declared evaluator of final weights."""
    device_id: str | None = None
    token: str = ""
    bind: str = ""
    """Coordinator and first rank: the address to listen on."""
    hosts: tuple[str, ...] = ()
    """Host of each participant, for the names of links."""
    scoring_cores: tuple[int, ...] = ()
    """Cores of this worker's host that it may use beside its own while it scores."""
    takes_digest: bool = True
    """Whether this worker digests the data that it opened; one a host is enough."""
    cut_s: float = 60.0
    """How long the other host's kernel may answer nothing before a line is cut."""
    stall_s: float = 60.0
    """Coordinator: how long a participant that has something to send or to take may move no byte."""


class Listening(_Word, frozen=True, tag="listening"):
    """A coordinator, or a first rank, can be reached here."""

    host: str
    port: int


class Connect(_Word, frozen=True, tag="connect"):
    """Where the others are to connect to."""

    host: str
    port: int


class Opened(_Word, frozen=True, tag="opened"):
    """A worker is ready for its first round."""

    facts: WorkerFacts
    host_facts: HostFacts | None = None
    """Of a host that is not the supervisor's."""
    data_digest: str = ""
    data_counts: dict[str, int] = {}
    num_parameters: int = 0
    update_bytes: int = 0
    links: tuple[Link, ...] = ()


class RunRound(_Word, frozen=True, tag="round"):
    """Run a round."""

    index: int
    steps: tuple[int, ...]
    """Local steps of each participant."""
    instrumented: bool = False
    """Whether to tell phases apart, at a cost; asked of a user's own job only."""


class StarRound(_Word, frozen=True, tag="star-round"):
    """What a coordinator saw of a round, with what its participants said of it."""

    started_at: str
    seen: Seen


class OwnRound(_Word, frozen=True, tag="own-round"):
    """What a participant without a coordinator saw of a round."""

    started_at: str
    stamps: ParticipantStamps
    samples: int
    train_loss: float | None
    compute_cpu_s: float | None = None
    """CPU seconds that the process used during its compute phase; None where no CPU computes."""
    segments: tuple[Segment, ...] = ()
    """The phases as instruments saw them; empty: the stamps say all that is known."""
    communication_s: float | None = None
    """Time in which bytes moved, beside computing or not; None is unknown."""


class Score(_Word, frozen=True, tag="score"):
    """Score the present model."""

    split: Literal["validation", "test"]
    after_round: int


class Scoring(_Word, frozen=True, tag="scoring"):
    """How far a scoring is; said by whoever scores, now and then, and kept by nobody."""

    num_done: int
    num_total: int
    num_threads: int
    num_cores: int
    """Cores that these threads have."""


class Scores(_Word, frozen=True, tag="scores"):
    """What came out."""

    scored: Scored
    scale: Scale


class OpenedTogether(_Word, frozen=True, tag="opened-together"):
    """One command line that runs several participants is ready."""

    opened: tuple[Opened, ...]


class RoundTogether(_Word, frozen=True, tag="round-together"):
    """What the participants of one command line said of a round."""

    rounds: tuple[OwnRound, ...]


class End(_Word, frozen=True, tag="end"):
    """The run is whole: end in order."""


class Ended(_Word, frozen=True, tag="ended"):
    """It did."""


Word = (
    Listening
    | Connect
    | Opened
    | RunRound
    | StarRound
    | OwnRound
    | Score
    | Scoring
    | Scores
    | OpenedTogether
    | RoundTogether
    | End
    | Ended
)
W = TypeVar("W", bound=Word)


def to_message(word: Word | WorkerPayload) -> Message:
    """Turn a word into what a launcher carries."""
    message: Message = msgspec.to_builtins(word)
    return message


def to_word(message: Message, kind: type[W]) -> W:
    """Turn a message back.

    Raises:
        ConnectionError: it is not what was due.
    """
    try:
        return msgspec.convert(message, kind)
    except msgspec.ValidationError as error:
        raise ConnectionError(f"expected `{kind.__name__}`, received {message.get('kind')!r}: {error}") from error


def any_word(message: Message) -> Word:
    """Turn a message of any kind back."""
    word: Word = msgspec.convert(message, Word)
    return word
