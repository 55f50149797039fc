"""Who is to blame, judged from what is seen of the workers."""

import signal

import pytest

from pytest_mixgpu.launch.board import Status
from pytest_mixgpu.launch.protocol import Limits
from pytest_mixgpu.launch.supervise import Failure, Sight, find_cause, find_silent, is_anybody_at_work

LIMITS = Limits(start_s=10.0, heartbeat_s=5.0, opening_heartbeat_s=30.0, progress_s=60.0)


def status(phase: str, *, awaits_supervisor: bool = False) -> Status:
    return Status(phase=phase, round_index=3, since_s=0.0, awaits_supervisor=awaits_supervisor)


def failure(*, at_s: float = 1.0, lost_peer: bool = False, peer: str = "") -> Failure:
    return Failure(type="ValueError", text="no batch", at_s=at_s, lost_peer=lost_peer, peer=peer)


WELL = Sight(name="well", status=status("compute"), progress_age_s=3.0)


def test_nobody_is_blamed_while_all_is_well() -> None:
    """Live workers, workers that wait for the supervisor and workers that came to their end are no trouble."""
    waiting = Sight(name="b", status=status("idle", awaits_supervisor=True), progress_age_s=1e6)
    returned = Sight(name="c", returned=True, exit_code=0, beat_age_s=1e6, progress_age_s=1e6)

    assert find_cause([WELL, waiting, returned], LIMITS) is None


KILLED = Sight(name="killed", exit_signal=signal.SIGKILL)
ABORTED = Sight(name="aborted", exit_signal=signal.SIGABRT)
RAISED = Sight(name="raised", failure=failure(at_s=5.0), exit_code=70)
LEFT = Sight(name="left", exit_code=0)
SILENT = Sight(name="silent", beat_age_s=5.1, process_state="T")
LOST = Sight(name="lost", failure=failure(lost_peer=True), exit_code=70)
ORDER = [KILLED, RAISED, ABORTED, LEFT, SILENT, LOST]


@pytest.mark.parametrize("index", range(len(ORDER) - 1), ids=[sight.name for sight in ORDER[:-1]])
def test_the_first_cause_goes_before_its_consequences(index: int) -> None:
    """A kill explains an exception, an exception explains an abort, and all explain a lost peer."""
    for sights in ([WELL, *ORDER[index:]], [*reversed(ORDER[index:]), WELL]):
        cause = find_cause(sights, LIMITS)

        assert cause is not None
        assert ORDER[index].name == cause.worker


def test_of_two_exceptions_the_earlier_counts() -> None:
    """The clock of the machine tells which worker raised first, not the order of the reports."""
    later = Sight(name="later", failure=failure(at_s=5.0))
    earlier = Sight(name="earlier", failure=failure(at_s=4.9))

    cause = find_cause([later, earlier], LIMITS)

    assert cause is not None
    assert ("earlier", "raised ValueError: no batch") == (cause.worker, cause.reason)


@pytest.mark.parametrize(
    ("peer", "expected"),
    [
        (Sight(name="peer", progress_age_s=30.0), "peer"),
        (Sight(name="peer", returned=True, exit_code=0), "raiser"),
        (Sight(name="other", progress_age_s=30.0), "raiser"),
        (Sight(name="peer", exit_signal=signal.SIGSEGV), "peer"),
    ],
    ids=["lives-and-is-mute", "came-to-its-end", "is-unknown", "died"],
)
def test_a_lost_peer_is_looked_at_before_the_one_that_lost_it(peer: Sight, expected: str) -> None:
    """The raiser is blamed only where the peer gives no reason."""
    raiser = Sight(name="raiser", failure=failure(lost_peer=True, peer="peer"))

    cause = find_cause([raiser, peer], LIMITS)

    assert cause is not None
    assert expected == cause.worker


def test_a_stopped_process_explains_a_lost_connection_to_nobody_in_particular() -> None:
    """Transports that name no peer leave the blame with the process that the kernel shows as stopped."""
    raiser = Sight(name="raiser", failure=failure(lost_peer=True))
    stopped = Sight(name="stopped", process_state="T", beat_age_s=1.0)

    cause = find_cause([WELL, raiser, stopped], LIMITS)

    assert cause is not None
    assert "stopped" == cause.worker
    assert "SIGSTOP" in cause.reason


@pytest.mark.parametrize(
    ("age_s", "blamed"), [(59.9, False), (60.0, False), (60.1, True)], ids=["under", "equal", "over"]
)
def test_a_hang_begins_beyond_the_limit(age_s: float, *, blamed: bool) -> None:
    """Progress at exactly the limit is progress."""
    cause = find_cause([WELL, Sight(name="slow", status=status("compute"), progress_age_s=age_s)], LIMITS)

    assert blamed == (cause is not None)


def test_in_a_hang_the_working_one_is_blamed_and_not_those_that_wait_for_it() -> None:
    """Workers that wait went quiet before the one that they wait for, and are not its fault."""
    coordinator = Sight(name="coordinator", status=status("wait"), progress_age_s=61.0)
    hung = Sight(name="hung", status=status("compute"), progress_age_s=60.5)
    peer = Sight(name="peer", status=status("queue"), progress_age_s=60.2)

    cause = find_cause([coordinator, hung, peer], LIMITS)

    assert cause is not None
    assert "hung" == cause.worker


def test_waiting_is_no_hang_while_one_works() -> None:
    """A long evaluation at the coordinator is no fault of the participants that idle meanwhile."""
    idle = Sight(name="idle", status=status("idle"), progress_age_s=1e6)

    assert find_cause([idle, WELL], LIMITS, listening_s=1e6) is None


@pytest.mark.parametrize(
    ("listening_s", "blamed"), [(0.0, None), (60.0, None), (60.1, "idle")], ids=["speaks", "equal", "over"]
)
def test_when_everybody_waits_the_supervisor_too_the_run_is_stuck(listening_s: float, blamed: str | None) -> None:
    """It is a hang only once the supervisor has waited as long: until then the next word may be its own."""
    idle = Sight(name="idle", status=status("idle"), progress_age_s=61.0)
    waiting = Sight(name="waiting", status=status("compute", awaits_supervisor=True), progress_age_s=70.0)

    cause = find_cause([waiting, idle], LIMITS, listening_s=listening_s)

    assert blamed == (cause.worker if cause is not None else None)


@pytest.mark.parametrize(
    ("all_waited_s", "listening_s", "blamed"),
    [(60.0, 90.0, False), (60.1, 90.0, True), (90.0, 60.0, False)],
    ids=["equal", "over", "the supervisor was busy"],
)
def test_workers_that_keep_saying_that_they_wait_are_stuck_too(
    all_waited_s: float, listening_s: float, *, blamed: bool
) -> None:
    """A ring of workers that wait for each other shows signs of patience for ever, and does nothing."""
    ring = [Sight(name=name, status=status("collective"), progress_age_s=1.0) for name in ("a", "b")]

    cause = find_cause(ring, LIMITS, listening_s=listening_s, all_waited_s=all_waited_s)

    assert blamed == (cause is not None)


def test_a_worker_at_work_is_told_from_those_that_wait_or_are_gone() -> None:
    """Only work counts: not waiting, not an end."""
    waiting = Sight(name="waiting", status=status("wait"))

    assert is_anybody_at_work([waiting, WELL])
    assert not is_anybody_at_work([waiting, KILLED, Sight(name="done", returned=True, status=status("compute"))])


@pytest.mark.parametrize(
    ("phase", "state", "age_s", "blamed"),
    [
        ("open", "R", 30.0, False),
        ("first step", "S", 30.0, False),
        ("first step", "S", 30.1, True),
        ("open", "T", 5.1, True),
        ("compute", "R", 5.1, True),
    ],
    ids=["opening", "equal", "over", "stopped", "later"],
)
def test_the_first_call_into_a_device_may_be_long(phase: str, state: str, age_s: float, *, blamed: bool) -> None:
    """Until the first step is done a process may hold its interpreter for longer, unless it was stopped."""
    sight = Sight(name="slow", status=status(phase), process_state=state, beat_age_s=age_s)

    assert blamed == (find_cause([WELL, sight], LIMITS) is not None)


@pytest.mark.parametrize(("age_s", "blamed"), [(4.9, False), (5.0, False), (5.1, True)], ids=["under", "equal", "over"])
def test_a_process_is_silent_beyond_the_limit(age_s: float, *, blamed: bool) -> None:
    """A heartbeat at exactly the limit is a heartbeat."""
    assert blamed == (find_cause([WELL, Sight(name="slow", beat_age_s=age_s)], LIMITS) is not None)


def test_a_worker_that_does_not_start_is_named() -> None:
    """Silence before the first word has a limit of its own."""
    cause = find_cause([WELL, Sight(name="late", greeted=False, asked_age_s=10.1)], LIMITS)

    assert cause is not None
    assert ("late", "did not start within 10 s (Limits.start_s)") == (cause.worker, cause.reason)


def test_when_nobody_speaks_the_working_one_is_named() -> None:
    """The supervisor's own patience ends with the name of the worker that it most likely waits for."""
    waiting = Sight(name="waiting", status=status("wait"), progress_age_s=9.0)

    assert "well" == find_silent([waiting, WELL], timeout_s=2.0).worker


def test_when_all_wait_for_the_supervisor_it_says_so() -> None:
    """A job whose two sides wait for each other is told apart from a worker that hangs."""
    waiting = Sight(name="waiting", status=status("compute", awaits_supervisor=True))

    assert "every worker waits for the supervisor" in find_silent([waiting], timeout_s=2.0).reason
