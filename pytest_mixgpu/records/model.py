"""The run record: what one run observed, line by line. Holds no opinion.

A record is a file of JSON lines with one writer. Its lines, in order: `header` before anything starts, `start` once all
workers are ready, then `round`, `evaluation` and `fault` lines as things happen, `outcome` last. All durations are
seconds, all sizes bytes. Unknown fields are refused.

Schema history:
    1: first version.
    2: `challenge` in the header; what became of the code while the run went on, in `start` and `outcome`.
    3: what hosts say of their devices and what was seen of these in each round; NUMA nodes; a user's own job.
"""

from typing import TYPE_CHECKING, Literal

import msgspec

from pytest_mixgpu.devices.model import Device, DeviceFacts, DeviceLink, DeviceSeen, Pool, Sampling
from pytest_mixgpu.timing.model import CoordinatorStamps, ParticipantStamps, Segment

if TYPE_CHECKING:
    from pytest_mixgpu.records.long_rounds import LongRounds

SCHEMA_VERSION = 3

Role = Literal["baseline", "fleet", "control", "mixed", "reference"]
Status = Literal["completed", "failed", "stopped", "aborted"]
"""`stopped`: by a person or signal; `aborted`: never closed, as a crash leaves it (derived, never written)."""


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Everything numeric that a run was told to do. Two runs that differ here are not the same experiment."""

    workload: str
    number_format: str
    batch_size: int
    round_steps: int
    """Optimizer steps of one round, summed over the participants."""
    shares: tuple[int, ...]
    """Local steps of each participant in a round; they add up to `round_steps`."""
    rounds: int
    """Measured rounds."""
    warmup_rounds: int
    """Rounds before those, kept in the record and not judged. They train as the others do."""
    to_finish: bool
    """Whether the run trains to the end of its schedule and is scored on the test set."""
    exchange: str
    """`none` (no exchange), `star`, `ddp` (the reference's own)."""
    payload: str
    split: str
    num_threads: int
    evaluate_every: int
    """Rounds between two looks at the validation split; 0 means never."""
    recipe: dict[str, object] = {}
    """The workload's recipe in full: model, data, optimizer."""


class Digests(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """SHA-256 of what was in force, hexadecimal. Empty: there was none (no lock file)."""

    plan: str
    lock: str
    code: str
    """Of the modules that produce the number."""
    evaluator: str
    data: str = ""
    """Of the data manifest; known once a worker has opened the data, so empty in the header and stated in `start`."""


class HostFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Hardware and software of one host, once a run."""

    host: str
    boot_id: str | None = None
    os: str
    kernel: str
    cpu_model: str | None = None
    num_cores: int
    memory_bytes: int | None = None
    python: str
    packages: dict[str, str] = {}
    """Version of each distribution that can change a number."""
    driver: str | None = None
    environment: dict[str, str] = {}
    """Variables on an allow-list of names that can change a number; never the whole environment."""
    load_average_1min: float | None = None
    devices: tuple[DeviceFacts, ...] = ()
    """Of the devices of this run that are on this host."""
    device_links: tuple[DeviceLink, ...] = ()


class WorkerFacts(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What one worker found when it was ready."""

    worker: str
    host: str
    pid: int
    device_id: str | None = None
    torch: str | None = None
    accelerator: str | None = None
    """CUDA or HIP version of the torch build; None on CPU."""
    cpu_capability: str | None = None
    """The instruction set that torch's own kernels use."""
    num_threads: int
    cores: tuple[int, ...] = ()
    memory_nodes: str = ""
    """NUMA nodes that its memory may come from, as the kernel writes them, `0-1`; empty is unknown."""
    device_seen_as: str = ""
    """Name, and UUID or PCI address, that torch gave for the device that it computes on; empty on a CPU."""
    environment: dict[str, str] = {}
    """Variables that decide about kernels, as this process had them."""
    spawned_s: float | None = None
    """From the request to the first word."""
    first_step_s: float | None = None
    """From the request to the end of the first training step (a preparation step whose result is thrown away)."""
    code_digest: str = ""
    """Of the code that produces the number, as it lay on this worker's host when it was ready; empty: not taken."""
    code_touched: tuple[str, ...] = ()
    """Files of that code that somebody wrote between the start of the worker's parent process and now: what the worker
    has loaded may be neither what they held before nor what they hold."""
    own_modules: dict[str, str] = {}
    """SHA-256 of each module that it had loaded and that is not installed: a user's own model or data."""


class Link(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The measured path of one participant to the coordinator."""

    participant: int
    from_host: str
    to_host: str
    round_trip_s: float
    """Median of the probes."""
    up_bytes_per_s: float
    down_bytes_per_s: float
    probe_bytes: int
    num_probes: int


class Header(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line", tag="header"):
    """Written before anything starts."""

    schema: int = SCHEMA_VERSION
    run_id: str
    suite: str
    """The plan's id, for example `e1`."""
    session: str
    role: Role
    name: str
    """Which of several with one role: `control-a`; else the role's own name."""
    leg: str = ""
    """Which part of a bracket: `before`, `after`, `with-exchange`; else empty."""
    repeat: int
    """Counts from 0; seed = seed base + repeat."""
    seed: int
    rehearsal: bool
    registered_at: str
    """UTC, ISO 8601, as the host's clock said."""
    nonce: str
    """Random; two records that share it are one run under two names."""
    challenge: str = ""
    """What a verifier handed out for this session, hexadecimal, so that its records cannot be older; empty: nothing."""
    digests: Digests
    settings: Settings
    pool: Pool
    coordinator: str
    """Host of the coordinator; empty where there is none."""
    launcher: str
    job: str = ""
    """`module:factory` of a user's own job, whose records are what that job says of itself; empty: one of ours."""
    job_modules: dict[str, str] = {}
    """SHA-256 of the factory's module, and of what this process had loaded beside it that is not installed, by name."""
    host: HostFacts
    """The supervisor's host."""
    command: tuple[str, ...] = ()
    """How the session was started, without values that look like secrets."""


class Start(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line", tag="start"):
    """Written once all workers are ready."""

    started_at: str
    workers: tuple[WorkerFacts, ...]
    hosts: tuple[HostFacts, ...]
    links: tuple[Link, ...] = ()
    data_digest: str
    data_counts: dict[str, int]
    """Samples per split."""
    num_parameters: int
    update_bytes: int
    """Bytes of one update on the wire; 0 without an exchange."""
    device_seen: tuple[DeviceSeen | None, ...] = ()
    """What was seen of each device of the pool before the first round; None is nothing."""


class RoundLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line", tag="round"):
    """One round. Arrays run over `participants`, which are indices into the pool."""

    index: int
    warmup: bool
    instrumented: bool = False
    """Whether it ran with instruments that cost time: it shows phases and is not judged."""
    started_at: str
    round_s: float
    """From GO to the moment the last participant held the new model, on the coordinator's clock (solo: its own)."""
    participants: tuple[int, ...]
    samples: tuple[int, ...]
    """Training samples that each processed."""
    stamps: tuple[ParticipantStamps, ...]
    coordinator: tuple[CoordinatorStamps, ...] = ()
    combine_start_s: float | None = None
    combine_end_s: float | None = None
    segments: tuple[tuple[Segment, ...], ...]
    """The phases of each, from its stamps by the stated precedence; they add up to its round."""
    overlap_s: tuple[float, ...] = ()
    """Time in which more than one phase went on, per participant."""
    clock_offset_s: tuple[float | None, ...] = ()
    """Coordinator's clock minus its own, estimated; serves the timeline only."""
    clock_uncertainty_s: tuple[float | None, ...] = ()
    sent_bytes: tuple[int, ...] = ()
    received_bytes: tuple[int, ...] = ()
    train_loss: tuple[float | None, ...] = ()
    """Mean over the local steps; None where it was not finite."""
    foreign_share: tuple[float | None, ...] = ()
    """Share of each participant's core that other processes took meanwhile; None is unknown."""
    compute_cpu_s: tuple[float | None, ...] = ()
    """CPU seconds that the worker's process used during its compute phase; None is unknown."""
    communication_s: tuple[float | None, ...] = ()
    """Time in which bytes moved, beside computing or not, where a job tells both apart; None is unknown."""
    device_seen: tuple[DeviceSeen | None, ...] = ()
    """What was seen of each participant's device; None is nothing."""
    cpu_pressure: tuple[float | None, ...] = ()
    """Share of the round in which some process of each participant's host waited for a core; None is unknown."""


class Evaluation(
    msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line", tag="evaluation"
):
    """The model looked at on a held-out split."""

    split: Literal["validation", "test"]
    after_round: int
    samples_seen: int
    """Training samples processed by all participants up to here."""
    training_s: float
    """Sum of the rounds up to here."""
    duration_s: float
    num_correct: int
    num_total: int
    loss: float | None
    device: str
    number_format: str
    num_threads: int
    weights_digest: str
    correct_bits: str = ""
    """Hexadecimal, one bit a sample in the order of the split, first sample in the highest bit; test split only."""
    evaluator_digest: str = ""


class Fault(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line", tag="fault"):
    """Something that went wrong, with who and when."""

    at: str
    worker: str
    device: str
    host: str
    phase: str
    round_index: int | None
    message: str
    log: str = ""
    """File name of the worker's log, relative to the run's folder."""


class Span(msgspec.Struct, frozen=True, array_like=True):
    """A stretch of the run from lease to release, counted from the lease."""

    name: str
    """`lease`, `setup`, `training`, `evaluation`, `teardown`."""
    start_s: float
    duration_s: float


class Outcome(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, tag_field="line", tag="outcome"):
    """The last line."""

    status: Literal["completed", "failed", "stopped"]
    finished_at: str
    reason: str = ""
    spans: tuple[Span, ...] = ()
    leased_s: float
    """From lease to release of the devices."""
    moved_bytes: int | None = None
    """Payload that crossed links in either direction; None is not known: nobody counted it."""
    people_minutes: float | None = None
    """Work of people during the run; None is not stated."""
    files: dict[str, str] = {}
    """SHA-256 of every other file in the run's folder, by name."""
    code_digest: str = ""
    """Of the code that produced the number, taken again at the end; empty: not taken."""
    code_touched: tuple[str, ...] = ()
    """Files of that code that somebody wrote since the session first looked at them, whatever they held in the end."""
    device_seen: tuple[DeviceSeen | None, ...] = ()
    """What was seen of each device of the pool after the last round; None is nothing."""
    sampling: Sampling | None = None
    """How the devices were watched; None: they were not."""


Line = Header | Start | RoundLine | Evaluation | Fault | Outcome


class RunRecord(msgspec.Struct, frozen=True, kw_only=True):
    """One run, read whole. `outcome` is None for a run that never closed."""

    header: Header
    start: Start | None
    rounds: "tuple[RoundLine, ...] | LongRounds"
    """In order. Of a very long run those that are many to hold are made anew each time somebody looks."""
    evaluations: tuple[Evaluation, ...]
    faults: tuple[Fault, ...]
    outcome: Outcome | None
    digest: str
    """SHA-256 of the file's bytes."""
    path: str = ""

    @property
    def id(self) -> str:
        """The run's id."""
        return self.header.run_id

    @property
    def status(self) -> Status:
        """How it ended."""
        return "aborted" if self.outcome is None else self.outcome.status

    @property
    def measured_rounds(self) -> "tuple[RoundLine, ...] | LongRounds":
        """The rounds after the warm-up, without those that ran with instruments."""
        if not isinstance(self.rounds, tuple):
            return self.rounds.measured
        return tuple(line for line in self.rounds if not line.warmup and not line.instrumented)

    @property
    def num_instrumented(self) -> int:
        """How many rounds a user's own job ran with instruments; ours have none."""
        return sum(line.instrumented for line in self.rounds) if self.header.job else 0

    @property
    def test(self) -> Evaluation | None:
        """The score on the test set, if the run got there."""
        return next((line for line in self.evaluations if line.split == "test"), None)

    @property
    def devices(self) -> tuple[Device, ...]:
        """The devices of its participants, in order."""
        return self.header.pool.devices
