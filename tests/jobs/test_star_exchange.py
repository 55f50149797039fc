"""The star from its middle: participants are threads that speak the protocol, so that every order can be tried."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress

import numpy as np
import pytest
from numpy.typing import NDArray

from pytest_mixgpu.jobs.links import answer, measure_link, scratch_for_probes
from pytest_mixgpu.jobs.messages import Close, Go, Holding, Message, Model, Ready, Report, Update
from pytest_mixgpu.jobs.star import Seen, Star
from pytest_mixgpu.jobs.wire import Connection, WireError
from pytest_mixgpu.launch.protocol import PeerLostError
from pytest_mixgpu.timing.model import ParticipantStamps
from tests.jobs.made_lines import tcp_pair

_STAMPS = ParticipantStamps(compute_end_s=0.0, prepare_end_s=0.0, hold_s=0.0, close_s=0.0)
_SIZE = 1 << 18
Behaviour = Callable[[Connection, NDArray[np.float32]], None]


@contextmanager
def _star(*behaviours: Behaviour) -> Iterator[tuple[Star, list[NDArray[np.float32]]]]:
    """A star whose participants behave as told; the rows are what each of them holds."""
    with ExitStack() as stack:
        lines, rows, threads = [], [], []
        for index, behaviour in enumerate(behaviours):
            here, there = (stack.enter_context(end) for end in tcp_pair())
            row = np.zeros(_SIZE, dtype=np.float32)
            room = row.data.cast("B")
            own = Connection(there, peer="coordinator", room=lambda _message, room=room: room)  # type: ignore[misc]
            lines.append(Connection(here, peer=f"participant-{index}"))
            rows.append(row)
            threads.append(threading.Thread(target=_until_lost, args=(behaviour, own, row), daemon=True))
        star = Star(np.full(_SIZE, 10, dtype=np.float32), lines)
        for thread in threads:
            thread.start()
        try:
            yield star, rows
        finally:
            # A reader that waits is woken by this, where closing alone would leave it asleep.
            for line in lines:
                with suppress(OSError):
                    line.sock.shutdown(socket.SHUT_RDWR)
            for thread in threads:
                thread.join(timeout=20)


def _until_lost(behaviour: Behaviour, line: Connection, row: NDArray[np.float32]) -> None:
    with suppress(PeerLostError):
        behaviour(line, row)


def _participant(*, change: float, samples: int = 1, compute_s: float = 0.0) -> Behaviour:
    def behave(line: Connection, row: NDArray[np.float32]) -> None:
        line.expect(Go)
        time.sleep(compute_s)
        line.send(Ready())
        line.send(Update(samples=samples), np.full(_SIZE, change, dtype=np.float32).data.cast("B"))
        line.expect(Model)
        line.send(Holding())
        line.expect(Close)
        line.send(Report(stamps=_STAMPS, clock_at_go_s=0.0, train_loss=row[0].item()))

    return behave


def _run(*behaviours: Behaviour) -> tuple[Seen, Star, list[NDArray[np.float32]]]:
    with _star(*behaviours) as (star, rows):
        return star.run_round(0, [1] * len(behaviours)), star, rows


def test_everybody_holds_the_combined_model() -> None:
    """The weighted mean of the updates is added, and the same bytes reach all."""
    seen, star, rows = _run(_participant(change=1, samples=3), _participant(change=5, samples=1))

    assert 12.0 == star.model[0] == star.model[-1]
    assert all(np.array_equal(star.model, row) for row in rows)
    assert (3, 1) == seen.samples
    assert [12.0, 12.0] == [report.train_loss for report in seen.reports]


@pytest.mark.parametrize("slowest", [0, 1, 2])
def test_the_order_of_arrival_changes_no_bit(slowest: int) -> None:
    """Updates are summed in the order of participants, whoever came first."""
    changes = (0.1, 0.7, -0.3)
    behaviours = [
        _participant(change=change, samples=3 + index, compute_s=0.1 * (index == slowest))
        for index, change in enumerate(changes)
    ]
    weights = [np.float32(count / 12) for count in (3, 4, 5)]
    parts = [np.float32(change) * weight for change, weight in zip(changes, weights, strict=True)]

    _, star, _ = _run(*behaviours)

    assert np.float32(10) + ((parts[0] + parts[1]) + parts[2]) == star.model[0]


def test_ready_is_stamped_when_it_is_said() -> None:
    """A fast participant's READY, bytes and idle time are told apart from a slow one's."""
    seen, _, _ = _run(_participant(change=1), _participant(change=1, compute_s=0.2))

    fast, slow = seen.stamps
    assert fast.ready_s <= fast.first_in_s <= fast.last_in_s < slow.ready_s
    assert slow.first_in_s <= seen.combine_start_s <= min(fast.first_out_s, slow.first_out_s)
    assert slow.last_in_s <= seen.combine_end_s <= min(fast.last_out_s, slow.last_out_s)
    assert slow.last_in_s <= slow.first_out_s
    assert max(fast.held_s, slow.held_s) <= seen.round_s


def test_the_model_returns_while_a_slow_update_still_comes_in() -> None:
    """A participant whose update is in is handed what is combined; here the slow one waits until it saw that."""
    first_bytes_out = threading.Event()
    update = np.full(_SIZE, 2, dtype=np.float32).data.cast("B")

    def slow(line: Connection, _row: NDArray[np.float32]) -> None:
        line.expect(Go)
        line.send(Ready())
        line.queue(Update(samples=1), update)
        while line.can_push(_SIZE * 3):
            line.push(_SIZE * 3)
        assert first_bytes_out.wait(20)
        while line.can_push(_SIZE * 4):
            line.push(_SIZE * 4)
        _end(line)

    def fast(line: Connection, row: NDArray[np.float32]) -> None:
        line.expect(Go)
        line.send(Ready())
        line.send(Update(samples=1), update)
        while not line.under_way[1]:
            line.pump()
        assert not row[-1]
        first_bytes_out.set()
        _end(line)

    seen, star, rows = _run(slow, fast)

    assert first_bytes_out.is_set()
    assert 12.0 == star.model[0] == star.model[-1]
    assert all(np.array_equal(star.model, row) for row in rows)
    assert seen.combine_start_s < seen.stamps[1].first_out_s < seen.stamps[0].last_in_s < seen.combine_end_s


def _end(line: Connection) -> None:
    line.expect(Model)
    line.send(Holding())
    line.expect(Close)
    line.send(Report(stamps=_STAMPS, clock_at_go_s=0.0, train_loss=None))


def test_while_participants_compute_the_coordinator_sleeps() -> None:
    """No polling: the cores are the participants'."""
    with _star(_participant(change=1, compute_s=1.0)) as (star, _):
        before_s = time.thread_time()
        star.run_round(0, [1])
        used_s = time.thread_time() - before_s

    assert used_s < 0.25


def test_the_first_model_reaches_all() -> None:
    """Before any round, everybody is handed the coordinator's model."""

    def receive(line: Connection, _row: NDArray[np.float32]) -> None:
        line.expect(Model)
        line.send(Holding())
        line.expect(Close)

    with _star(receive, receive) as (star, rows):
        star.distribute()

    assert all((row == 10).all() for row in rows)


def _leaves(line: Connection, _row: NDArray[np.float32]) -> None:
    line.expect(Go)
    line.send(Ready())
    line.close()


def test_a_participant_that_leaves_is_named() -> None:
    """The line that ended says whose it was."""
    with _star(_participant(change=1), _leaves) as (star, _), pytest.raises(PeerLostError) as caught:
        star.run_round(0, [1, 1])

    assert caught.value.peer == "participant-1"


def _sends(*messages: Message, payload: bytes = b"") -> Behaviour:
    def behave(line: Connection, _row: NDArray[np.float32]) -> None:
        line.expect(Go)
        for message in messages:
            line.send(message, memoryview(payload))

    return behave


@pytest.mark.parametrize(
    ("behaviour", "words"),
    [
        (_sends(Holding()), "participant-0 sent `Holding` out of turn"),
        (_sends(Ready(), Update(samples=1), payload=b""), "an update of 0 bytes"),
        (_sends(Update(samples=1), payload=bytes(4 * _SIZE + 1)), "do all workers run the same model"),
    ],
    ids=["out of turn", "too short", "too long"],
)
def test_what_is_not_an_update_ends_the_round(behaviour: Behaviour, words: str) -> None:
    """An update of another model, or none at all, is refused by name."""
    with _star(behaviour) as (star, _), pytest.raises(WireError, match=words):
        star.run_round(0, [1])


def test_a_link_is_measured_both_ways() -> None:
    """Round trip and bandwidth are taken on the line that the updates take."""
    here, there = tcp_pair()
    scratch = scratch_for_probes()
    own = Connection(there, peer="coordinator", room=lambda _message: scratch)

    def answer_all() -> None:
        try:
            while True:
                answer(own, own.receive(), scratch)
        except PeerLostError:
            return

    with there:
        thread = threading.Thread(target=answer_all, daemon=True)
        thread.start()
        with here:
            link = measure_link(Connection(here, peer="participant-3"), participant=3, from_host="a", to_host="b")
        thread.join(timeout=20)

    assert (3, "a", "b") == (link.participant, link.from_host, link.to_host)
    assert 0 < link.round_trip_s < 1
    assert link.up_bytes_per_s > 0
    assert link.down_bytes_per_s > 0
