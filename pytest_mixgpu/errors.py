"""What can go wrong, one class a kind. A message says what was found, what was expected and where to change it.

Standard library only: every room may import this one.
"""


class MixgpuError(Exception):
    """Base of all errors that a user can cause or meet."""


class SpecError(MixgpuError, ValueError):
    """A request for devices cannot be read, or names something that is not one exact kind."""


class CatalogError(MixgpuError, ValueError):
    """A file of a user's own kinds cannot be read, or names what the shipped catalog already holds."""


class PoolShortfallError(MixgpuError, LookupError):
    """The devices that were asked for are not here."""


class DeviceBusyError(MixgpuError, RuntimeError):
    """A device that was asked for is leased by somebody else."""


class ClusterError(MixgpuError, ConnectionError):
    """A cluster cannot be joined, or its nodes do not fit this session."""


class PlanError(MixgpuError, ValueError):
    """A plan (`benchmark.toml`) or a recipe cannot be read or contradicts itself."""


class MarkError(MixgpuError, ValueError):
    """A pass mark or claim is written in a way that cannot be judged."""


class LockError(MixgpuError, ValueError):
    """A lock file cannot be read, or a change to it was refused."""


class LedgerError(MixgpuError, ValueError):
    """A ledger cannot be read, or its chain is broken."""


class AnchorError(MixgpuError, RuntimeError):
    """What is to be kept outside could not be committed, signed or stamped, or what was kept cannot be looked at."""


class RecordError(MixgpuError, ValueError):
    """A record cannot be read, or does not follow its schema."""


class RepositoryError(MixgpuError, LookupError):
    """A git repository does not say what it was asked.

    Args:
        message: one sentence on what is in the way.
        problem: the same as one word, for programs: `no-git`, `shallow`.
        remedy: what to do about it.
    """

    def __init__(self, message: str, *, problem: str = "unreadable", remedy: str = "") -> None:
        super().__init__(message)
        self.problem = problem
        self.remedy = remedy


class WorkloadError(MixgpuError, FileNotFoundError):
    """Files of a workload are missing; the message says which, and where they were looked for."""


class MissingExtraError(MixgpuError, ImportError):
    """An optional part is needed and not installed."""


class RunFailedError(MixgpuError, RuntimeError):
    """A run ended before its time.

    Args:
        message: one sentence with device, host, phase and round.
        worker: name of the worker that is to blame, for example `participant-1`.
        log_tail: the last lines that this worker wrote.
        log_path: where the rest of its log is.
        stopped: whether a person or signal stopped the run, rather than a fault.
        phase: what this worker last said that it does.
        round_index: the round that it was in; None outside of rounds.
    """

    def __init__(  # noqa: PLR0913 - each is a part of where it happened
        self,
        message: str,
        *,
        worker: str = "",
        log_tail: str = "",
        log_path: str = "",
        stopped: bool = False,
        phase: str = "",
        round_index: int | None = None,
    ) -> None:
        super().__init__(message)
        self.worker = worker
        self.log_tail = log_tail
        self.log_path = log_path
        self.stopped = stopped
        self.phase = phase
        self.round_index = round_index
