"""The plan of an experiment: from `benchmark.toml` to a `Plan` with a canonical digest. Holds no opinion.

A plan says what is asked, on what, with which settings, in which roles, and what was left out. Unknown keys are
refused.
"""

import msgspec
from msgspec import UNSET, UnsetType

from pytest_mixgpu.records.model import Role


class Source(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A published text that the plan follows, with its own dates."""

    title: str
    published: str
    """ISO 8601 date or month."""
    marks: tuple[str, ...] = ()
    """What it set as pass marks, and when."""
    amendments: tuple[str, ...] = ()
    unpublished: tuple[str, ...] = ()
    """What it does not say and this plan had to choose."""


class Workload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is trained, and what counts as done."""

    recipe: str
    description: str
    target: float
    """Share of the test set that a model must get right to count as done, 0 to 1."""
    done: str
    """The rule of completion in words: by quality, not by steps."""
    says_nothing_about: str = ""


class RunSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Settings that roles share; a role may replace some of them for itself."""

    number_format: str = "float32"
    batch_size: int
    round_steps: int
    rounds: int
    warmup_rounds: int = 1
    exchange: str = "star"
    payload: str = "float32"
    split: str = "equal"
    num_threads: int = 1
    evaluate_every: int = 0


class RolePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why a kind of run is made, on which pool, and what differs from the shared settings."""

    name: str
    role: Role
    pool: str
    make_up: str = ""
    """Why this pool, where the source leaves it open."""
    to_finish: bool = False
    num_devices: int = 1
    """Baseline only: on how many of the fleet's devices it is taken, one after the other."""
    round_steps: int | None = None
    rounds: int | None = None
    warmup_rounds: int | None = None


class EvaluationPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The one evaluator of all final weights."""

    device: str = "cpu"
    number_format: str = "float32"
    num_threads: int = 1


class Seeds(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Repeat k of every role uses base + k."""

    base: int
    runs: int = 1
    """How many runs of each role the plan asks for."""


class BaselinePlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the fleet is compared with, and what it was not compared with."""

    description: str
    not_compared: tuple[str, ...]
    exceptions: tuple[str, ...] = ()
    """Stated exceptions, printed with the verdict."""


class PlacementPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Where participants and coordinator are meant to stand."""

    coordinator: str
    description: str


class Prices(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What an hour or a byte costs. A price that is missing is `not stated`, never 0."""

    currency: str
    date: str
    source: str
    device_hour: dict[str, float] = {}
    """By kind."""
    coordinator_hour: float | None = None
    host_hour: float | None = None
    """Other hosts of the run."""
    moved_gigabyte: float | None = None
    storage_gigabyte_month: float | None = None
    person_hour: float | None = None


class WaitPlan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The wait for GPUs: measured apart, or out of scope, with the reason."""

    status: str
    """`measured` or `out-of-scope`."""
    reason: str = ""
    records: str = ""
    """Where scheduler records lie, if measured."""


class Disturbance(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """From where on a round or a baseline is called disturbed. Frozen by the lock."""

    foreign_share: float = 0.10
    """Share of a leased core that foreign processes may take in a round."""
    drift: float = 0.10
    """Difference of the baseline before and after the fleet, as a share of their mean."""
    clock_share: float | UnsetType = UNSET
    """Share of the allowed clock below which a device that computes is disturbed. Unset, as those below: the
    judge's own default, and no part of the digest."""
    ecc_errors: int | UnsetType = UNSET
    """New uncorrected memory errors that a round may have."""
    link_errors: int | UnsetType = UNSET
    """New replays and errors of links that a round may have."""
    power_cap_disturbs: bool | UnsetType = UNSET
    """Whether a device at its power cap is disturbed, whatever the cap."""
    cpu_pressure: float | UnsetType = UNSET
    """Share of a round in which some process waited for a core, from where on it is stated."""


class Rehearsal(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The stand-in: what is run where the plan's devices are not."""

    pool: str
    workload: Workload
    settings: RunSettings
    roles: tuple[RolePlan, ...]
    seeds: Seeds
    evaluation: EvaluationPlan | None = None
    """None is the plan's own."""
    prices: Prices | None = None


class Plan(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `benchmark.toml`."""

    schema: int
    id: str
    question: str
    workload: Workload
    settings: RunSettings
    roles: tuple[RolePlan, ...]
    evaluation: EvaluationPlan
    seeds: Seeds
    baseline: BaselinePlan
    placement: PlacementPlan
    wait: WaitPlan
    disturbance: Disturbance = Disturbance()
    prices: Prices | None = None
    sources: tuple[Source, ...] = ()
    rehearsal: Rehearsal | None = None
    job: str | UnsetType = UNSET
    """`module:factory` of a user's own job, for all roles; unset, and no part of the digest: one of ours."""

    @property
    def own_job(self) -> str:
        """The user's own job; empty where ours runs."""
        return "" if isinstance(self.job, UnsetType) else self.job
