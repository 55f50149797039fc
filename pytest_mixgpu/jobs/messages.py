"""What coordinator and participants say to each other, one small value a kind. Imports no torch."""

import msgspec

from pytest_mixgpu.timing.model import ParticipantStamps


class _Message(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="kind"):
    """Header of a frame; raw bytes may follow it."""


class Challenge(_Message, frozen=True, tag="challenge"):
    """The coordinator's first word to whoever connects."""

    nonce: str


class Hello(_Message, frozen=True, tag="hello"):
    """A participant's answer: who it is, and the proof that it knows the run's token."""

    participant: int
    proof: str


class Welcome(_Message, frozen=True, tag="welcome"):
    """The proof was right."""


class Ping(_Message, frozen=True, tag="ping"):
    """A message to be answered at once, with as many raw bytes as it asks for; it may carry raw bytes itself."""

    answer_bytes: int = 0


class Pong(_Message, frozen=True, tag="pong"):
    """The answer."""


class Model(_Message, frozen=True, tag="model"):
    """The new model follows as raw float32; round -1 is the model that the run starts from."""

    round_index: int


class Go(_Message, frozen=True, tag="go"):
    """A round begins."""

    round_index: int
    steps: int


class Ready(_Message, frozen=True, tag="ready"):
    """Compute closed. Said before the update is prepared."""


class Update(_Message, frozen=True, tag="update"):
    """The update follows as raw float32."""

    samples: int


class Holding(_Message, frozen=True, tag="holding"):
    """The new model is loaded."""


class Close(_Message, frozen=True, tag="close"):
    """Everybody holds the new model."""


class Report(_Message, frozen=True, tag="report"):
    """What a participant stamped in the round that just closed."""

    stamps: ParticipantStamps
    clock_at_go_s: float
    """Its own clock at the moment that all its stamps count from."""
    train_loss: float | None
    compute_cpu_s: float | None = None
    """CPU seconds that the process used during its compute phase; None where no CPU computes."""


class Validate(_Message, frozen=True, tag="validate"):
    """Score the present model on the validation split."""

    round_index: int


class Scale(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """With what a model is scored."""

    device: str
    number_format: str
    num_threads: int


class Scored(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a model came to on a split."""

    num_correct: int
    num_total: int
    loss: float | None
    correct_bits: str
    duration_s: float
    weights_digest: str
    num_threads: int
    """Threads of torch while it scored, as torch said."""


class Validated(_Message, frozen=True, tag="validated"):
    """The answer of the participant that scored."""

    scored: Scored
    scale: Scale


Message = (
    Challenge
    | Hello
    | Welcome
    | Ping
    | Pong
    | Model
    | Go
    | Ready
    | Update
    | Holding
    | Close
    | Report
    | Validate
    | Validated
)
