"""The star exchange, seen from its middle: from one connection a participant to a combined round. Imports no torch.

One thread and one selector: while participants compute, this process sleeps in the kernel, since it may share their
cores. All participants are read from and written to as their bytes come and go, so that a slow link holds up nobody
but its own participant.
"""

from __future__ import annotations

import selectors
import socket
import time
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.jobs.combine import combine
from pytest_mixgpu.jobs.messages import Close, Go, Holding, Message, Model, Ready, Report, Update
from pytest_mixgpu.jobs.wire import REFRESH_S, Connection, WireError, welcome
from pytest_mixgpu.timing.model import CoordinatorStamps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray


class Seen(msgspec.Struct, frozen=True, kw_only=True):
    """What the coordinator saw of one round; all times are on its own clock and count from GO."""

    clock_at_go_s: float
    """Its own clock when it said GO."""
    round_s: float
    stamps: tuple[CoordinatorStamps, ...]
    combine_start_s: float
    combine_end_s: float
    samples: tuple[int, ...]
    reports: tuple[Report, ...]


class _Marks:
    """Instants of one participant in the round that runs, as they come in."""

    def __init__(self) -> None:
        self.ready_s = self.first_in_s = self.last_in_s = 0.0
        self.first_out_s = self.last_out_s = self.held_s = 0.0
        self.samples = 0

    def stamps(self) -> CoordinatorStamps:
        return CoordinatorStamps(
            ready_s=self.ready_s,
            first_in_s=self.first_in_s,
            last_in_s=self.last_in_s,
            first_out_s=self.first_out_s,
            last_out_s=self.last_out_s,
            held_s=self.held_s,
        )


class Star:
    """The coordinator's end of all lines.

    Args:
        model: the model that is trained, flat; combined in place.
        connections: one line a participant, in their order.
        status: called with a phase when it changes, when something moved, and every few seconds of waiting.
    """

    def __init__(
        self,
        model: NDArray[np.float32],
        connections: Sequence[Connection],
        *,
        status: Callable[[str], None] = lambda _phase: None,
    ) -> None:
        import numpy as np

        self.model = model
        self.connections = tuple(connections)
        self._status = status
        self._phase = "idle"
        self._updates = [np.zeros_like(model) for _ in self.connections]
        for connection, update in zip(self.connections, self._updates, strict=True):
            connection.room = _only_updates(update.data.cast("B"))

    def distribute(self, *, round_index: int = -1) -> None:
        """Hand the present model to everybody and return when all hold it."""
        self._hand_out(round_index, [_Marks() for _ in self.connections], start_s=time.perf_counter())
        for connection in self.connections:
            connection.send(Close())

    def run_round(self, round_index: int, steps: Sequence[int]) -> Seen:
        """Run one round to its end.

        Args:
            round_index: its number.
            steps: local steps of each participant.

        Raises:
            PeerLostError: a participant is gone.
            WireError: a participant spoke out of turn.
        """
        marks = [_Marks() for _ in self.connections]
        self._enter("wait")
        start_s = time.perf_counter()
        for connection, count in zip(self.connections, steps, strict=True):
            connection.send(Go(round_index=round_index, steps=count))
        self._take_in(marks, start_s)
        self._enter("combine")
        combine_start_s = time.perf_counter() - start_s
        combine(self.model, self._updates, [mark.samples for mark in marks])
        combine_end_s = time.perf_counter() - start_s
        self._enter("return")
        self._hand_out(round_index, marks, start_s)
        for connection in self.connections:
            connection.send(Close())
        stamps = tuple(mark.stamps() for mark in marks)
        return Seen(
            clock_at_go_s=start_s,
            # The round ends when the last one holds the new model, not when this loop has noticed that it was the last.
            round_s=max(stamp.held_s for stamp in stamps),
            stamps=stamps,
            combine_start_s=combine_start_s,
            combine_end_s=combine_end_s,
            samples=tuple(mark.samples for mark in marks),
            reports=tuple(connection.expect(Report) for connection in self.connections),
        )

    def _take_in(self, marks: list[_Marks], start_s: float) -> None:
        with self._selector(selectors.EVENT_READ) as selector:
            while selector.get_map():
                for key, _events in self._events(selector):
                    index: int = key.data
                    message = self.connections[index].pump()
                    now_s = time.perf_counter() - start_s
                    if isinstance(message, Ready):
                        marks[index].ready_s = now_s
                    elif isinstance(message, Update):
                        self._check_size(index)
                        marks[index].first_in_s = self.connections[index].first_byte_s - start_s
                        marks[index].last_in_s = now_s
                        marks[index].samples = message.samples
                        selector.unregister(key.fileobj)
                    elif message is not None:
                        raise self._out_of_turn(index, message)

    def _hand_out(self, round_index: int, marks: list[_Marks], start_s: float) -> None:
        payload = self.model.data.cast("B")
        for connection in self.connections:
            connection.queue(Model(round_index=round_index), payload)
        with self._selector(selectors.EVENT_READ | selectors.EVENT_WRITE) as selector:
            while selector.get_map():
                for key, events in self._events(selector):
                    index: int = key.data
                    mark, connection = marks[index], self.connections[index]
                    if events & selectors.EVENT_WRITE:
                        mark.first_out_s = mark.first_out_s or time.perf_counter() - start_s
                        if connection.push():
                            mark.last_out_s = time.perf_counter() - start_s
                            selector.modify(key.fileobj, selectors.EVENT_READ, index)
                    elif (message := connection.pump()) is not None:
                        if not isinstance(message, Holding):
                            raise self._out_of_turn(index, message)
                        mark.held_s = time.perf_counter() - start_s
                        selector.unregister(key.fileobj)

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._status(phase)

    def _events(self, selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
        events = selector.select(REFRESH_S)
        self._status(self._phase)
        return events

    def _selector(self, events: int) -> selectors.BaseSelector:
        selector = selectors.DefaultSelector()
        for index, connection in enumerate(self.connections):
            selector.register(connection.sock, events, index)
        return selector

    def _check_size(self, index: int) -> None:
        connection = self.connections[index]
        if connection.payload_bytes != self.model.nbytes:
            raise WireError(
                f"{connection.peer} sent an update of {connection.payload_bytes} bytes; the model has "
                f"{self.model.nbytes}: do all participants run the same model?"
            )

    def _out_of_turn(self, index: int, message: Message) -> WireError:
        return WireError(f"{self.connections[index].peer} sent `{type(message).__name__}` out of turn")


def _only_updates(room: memoryview) -> Callable[[Message], memoryview]:
    return lambda message: room if isinstance(message, Update) else room[:0]


def listen(host: str, num_participants: int) -> socket.socket:
    """Open a port of the kernel's choice on one address, for this many participants."""
    return socket.create_server((host, 0), backlog=num_participants + 8)


def accept_all(
    server: socket.socket, token: str, *, num_participants: int, alive: Callable[[], None] = lambda: None
) -> tuple[Connection, ...]:
    """Wait until every participant has joined; strangers are turned away.

    Raises:
        WireError: two claim to be the same participant.
    """
    joined: dict[int, Connection] = {}
    server.settimeout(REFRESH_S)
    while len(joined) < num_participants:
        try:
            sock, _address = server.accept()
        except TimeoutError:
            alive()
            continue
        participant = welcome(sock, token, num_participants=num_participants)
        if participant in joined:
            raise WireError(f"participant-{participant} joined twice")
        if participant is not None:
            joined[participant] = Connection(sock, peer=f"participant-{participant}", alive=alive)
    return tuple(joined[index] for index in range(num_participants))
