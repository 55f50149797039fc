"""Who is to blame: from what is seen of all workers to the first cause, never to its consequence. Imports no torch.

Pure functions of what was seen: nothing here reads a clock, a file or a process.
"""

import signal
from collections.abc import Sequence

import msgspec

from pytest_mixgpu.launch.board import Status
from pytest_mixgpu.launch.protocol import OPENING_PHASES, WAITING_PHASES, Limits

_FATAL_SIGNALS = frozenset({signal.SIGKILL, signal.SIGSEGV, signal.SIGBUS, signal.SIGILL, signal.SIGFPE})
"""Signals that come from outside or from a bug; others, as SIGABRT, may be a library's answer to a lost peer."""

_STOPPED = frozenset({"T", "t"})
"""The kernel's letters for a process that was stopped, or is held by a debugger."""


class Failure(msgspec.Struct, frozen=True, kw_only=True):
    """What a worker's entry raised."""

    type: str
    text: str
    at_s: float
    lost_peer: bool
    """Whether it looks like the consequence of another worker's end."""
    peer: str
    """The other worker, where it is known. One that was not lost is accused: it did what it must not."""
    phase: str = ""
    """In which of its phases an accused one did it; empty is the one that it says it is in."""


class Sight(msgspec.Struct, frozen=True, kw_only=True):
    """What is seen of one worker."""

    name: str
    status: Status | None = None
    greeted: bool = True
    """Whether it said its first word."""
    beat_age_s: float = 0.0
    """Since its last sign of life, as far as the supervisor was awake."""
    asked_age_s: float = 0.0
    """Since it was asked for."""
    progress_age_s: float = 0.0
    """Since its last change of (round, phase)."""
    process_state: str = ""
    """The kernel's letter: `R`, `S`, `D`, `T` for stopped; empty when unknown."""
    exit_code: int | None = None
    exit_signal: int | None = None
    lost_zygote: str = ""
    """Why the process that forked it is gone."""
    failure: Failure | None = None
    returned: bool = False
    """Whether its entry came to its end."""

    @property
    def ended(self) -> bool:
        """Whether its process is gone."""
        return self.exit_code is not None or self.exit_signal is not None or bool(self.lost_zygote)

    @property
    def awaits_supervisor(self) -> bool:
        """Whether it is the supervisor's turn."""
        return self.status is not None and self.status.awaits_supervisor

    @property
    def waits_for_others(self) -> bool:
        """Whether it says that others must act first."""
        return self.awaits_supervisor or (self.status is not None and self.status.phase in WAITING_PHASES)


class Cause(msgspec.Struct, frozen=True, kw_only=True):
    """The worker to blame, and why."""

    worker: str
    reason: str
    rank: int
    """The lower, the surer that it is the first cause; `CERTAIN` and less need no further look."""
    phase: str = ""
    """In which of its phases it happened; empty is the one that it says it is in."""


CERTAIN = 0
_RAISED = 1
_OTHER_SIGNAL = 2
_LEFT = 3
_SILENT = 4
_LOST_PEER = 5
_HUNG = 6


def find_cause(
    sights: Sequence[Sight], limits: Limits, *, listening_s: float = 0.0, all_waited_s: float = 0.0
) -> Cause | None:
    """Name the first cause of trouble among the workers; None while all is well.

    Args:
        sights: what is seen of each worker.
        limits: how long silence is borne.
        listening_s: how long the supervisor itself has waited for a word.
        all_waited_s: for how long no worker was seen at work.
    """
    causes = [cause for sight in sights if (cause := _own_cause(sight, limits)) is not None]
    if not causes:
        return _find_hang(sights, limits, listening_s=listening_s, all_waited_s=all_waited_s)
    first = min(causes, key=lambda cause: (cause.rank, _instant(sights, cause.worker)))
    if first.rank == _RAISED:
        return _follow_accusation(first, sights)
    return _follow_peer(first, sights) if first.rank == _LOST_PEER else first


def _instant(sights: Sequence[Sight], worker: str) -> float:
    sight = next(sight for sight in sights if sight.name == worker)
    return sight.failure.at_s if sight.failure is not None else 0.0


def _own_cause(sight: Sight, limits: Limits) -> Cause | None:
    found = _end_of(sight) or (None if sight.ended or sight.returned else _silence_of(sight, limits))
    return Cause(worker=sight.name, rank=found[0], reason=found[1]) if found is not None else None


def _end_of(sight: Sight) -> tuple[int, str] | None:
    """Rank and reason of an end that was not the entry's own."""
    if sight.returned:
        return None
    if sight.exit_signal is not None:
        fatal = sight.exit_signal in _FATAL_SIGNALS
        return CERTAIN if fatal else _OTHER_SIGNAL, f"was killed by {_signal_name(sight.exit_signal)}"
    if sight.failure is not None:
        rank = _LOST_PEER if sight.failure.lost_peer else _RAISED
        return rank, f"raised {sight.failure.type}: {sight.failure.text}"
    if sight.lost_zygote:
        return CERTAIN, f"died: {sight.lost_zygote}"
    if sight.exit_code is not None:
        return _LEFT, f"ended with exit code {sight.exit_code} before its work was done and without a word"
    return None


def _silence_of(sight: Sight, limits: Limits) -> tuple[int, str] | None:
    """Rank and reason of a worker that lives and does not show it."""
    is_opening = sight.status is not None and sight.status.phase in OPENING_PHASES
    name = "opening_heartbeat_s" if is_opening and sight.process_state not in _STOPPED else "heartbeat_s"
    limit_s: float = getattr(limits, name)
    if sight.beat_age_s > limit_s:
        state = {"T": "stopped (SIGSTOP)", "t": "held by a debugger", "D": "blocked in the kernel"}.get(
            sight.process_state, f"in state {sight.process_state or 'unknown'}"
        )
        limit = f"limit {limit_s:g} s, Limits.{name}"
        return _SILENT, f"gave no sign of life for {sight.beat_age_s:.1f} s ({limit}): its process is {state}"
    if not sight.greeted and sight.asked_age_s > limits.start_s:
        return _SILENT, f"did not start within {limits.start_s:g} s (Limits.start_s)"
    return None


def _follow_accusation(cause: Cause, sights: Sequence[Sight]) -> Cause:
    """A worker that says what another one did wrong is no cause: that one is."""
    failure = next(sight.failure for sight in sights if sight.name == cause.worker)
    accused = next((sight for sight in sights if failure is not None and sight.name == failure.peer), None)
    if failure is None or accused is None:
        return cause
    state = ": its process is stopped (SIGSTOP)" if accused.process_state == "T" else ""
    reason = f"{failure.text.removeprefix(accused.name).strip()}{state}, says {cause.worker}"
    return Cause(worker=accused.name, reason=reason, rank=cause.rank, phase=failure.phase)


def _follow_peer(cause: Cause, sights: Sequence[Sight]) -> Cause:
    """A worker that lost a peer is no cause while the peer lives and does not answer."""
    raiser = next(sight for sight in sights if sight.name == cause.worker)
    named = raiser.failure.peer if raiser.failure is not None else ""
    # Where the transport named nobody, a stopped process explains it; any other live worker would be a guess.
    peers = [s for s in sights if s.name == named or (not named and s.process_state == "T")]
    peer = next((s for s in peers if s is not raiser and not s.returned and not s.ended), None)
    if peer is None:
        return cause
    state = ": its process is stopped (SIGSTOP)" if peer.process_state == "T" else ""
    said = f" ({raiser.failure.text})" if raiser.failure is not None and named else ""
    reason = f"did not answer {cause.worker}{said}, and made no progress for {peer.progress_age_s:.1f} s{state}"
    return Cause(worker=peer.name, reason=reason, rank=cause.rank)


def _find_hang(sights: Sequence[Sight], limits: Limits, *, listening_s: float, all_waited_s: float) -> Cause | None:
    live = [sight for sight in sights if sight.greeted and not sight.ended and not sight.returned]
    # Workers that wait for the silent one went quiet before it, so while any works only those that do are looked at.
    if working := [sight for sight in live if not sight.waits_for_others]:
        culprit = max(working, key=lambda sight: sight.progress_age_s)
        quiet_s, reason = culprit.progress_age_s, "made no progress"
    elif live:
        # Nobody is left to act, the supervisor neither: quiet since the last of them came to wait. Those that say again
        # and again that they wait are no better off: for them it counts since one was last seen at work.
        culprit = max(live, key=lambda sight: (not sight.awaits_supervisor, sight.progress_age_s))
        quiet_s = min(listening_s, max(all_waited_s, min(sight.progress_age_s for sight in live)))
        reason = "waits, as every other worker and the supervisor do,"
    else:
        return None
    if quiet_s <= limits.progress_s:
        return None
    limit = f"limit {limits.progress_s:g} s, Limits.progress_s"
    return Cause(worker=culprit.name, reason=f"{reason} for {quiet_s:.1f} s ({limit})", rank=_HUNG)


def is_anybody_at_work(sights: Sequence[Sight]) -> bool:
    """Whether a worker that lives does something else than to wait for others."""
    return any(not (sight.waits_for_others or sight.ended or sight.returned) for sight in sights)


def find_silent(sights: Sequence[Sight], *, timeout_s: float) -> Cause:
    """Name the worker that most likely keeps the supervisor waiting, after nobody said anything for `timeout_s`."""
    live = [sight for sight in sights if not sight.ended and not sight.returned]
    working = [sight for sight in live if not sight.waits_for_others]
    acting = [sight for sight in live if not sight.awaits_supervisor]
    culprit = max(working or acting or live or list(sights), key=lambda sight: sight.progress_age_s)
    reason = f"said nothing within {timeout_s:g} s; it made no progress for {culprit.progress_age_s:.1f} s"
    if not acting:
        reason = f"said nothing within {timeout_s:g} s: every worker waits for the supervisor's next word"
    return Cause(worker=culprit.name, reason=reason, rank=_HUNG)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
