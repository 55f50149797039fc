"""The star exchange, seen from its middle: from one connection a participant to a combined round. Imports no torch.

While participants compute, this process sleeps in the kernel, since it may share their cores.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import msgspec

from pytest_mixgpu.jobs.exchange import Exchange
from pytest_mixgpu.jobs.messages import Close, Go, Message, Report, Update
from pytest_mixgpu.jobs.wire import REFRESH_S, Connection, WireError, welcome
from pytest_mixgpu.timing.model import CoordinatorStamps  # noqa: TC001 - a field of a value that is decoded

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
    """When the first piece was combined: updates may still have been coming in."""
    combine_end_s: float
    """When the last piece was: much of the model may have gone out before."""
    samples: tuple[int, ...]
    reports: tuple[Report, ...]


class Star:
    """The coordinator's end of all lines.

    Args:
        model: the model that is trained, flat; combined in place.
        connections: one line a participant, in their order.
        status: called with a phase when it changes, when something moved, and every few seconds of waiting.
        stall_s: how long a participant that has something to send or to take may move no byte.
    """

    def __init__(
        self,
        model: NDArray[np.float32],
        connections: Sequence[Connection],
        *,
        status: Callable[[str], None] = lambda _phase: None,
        stall_s: float = 60.0,
    ) -> None:
        import numpy as np

        self.model = model
        self.connections = tuple(connections)
        self._status = status
        self._stall_s = stall_s
        self._updates = [np.zeros_like(model) for _ in self.connections]
        for connection, update in zip(self.connections, self._updates, strict=True):
            connection.room = _only_updates(update.data.cast("B"))

    def distribute(self, *, round_index: int = -1) -> None:
        """Hand the present model to everybody and return when all hold it."""
        self._exchange(round_index).hand_out()
        self._close()

    def run_round(self, round_index: int, steps: Sequence[int]) -> Seen:
        """Run one round to its end.

        Args:
            round_index: its number.
            steps: local steps of each participant.

        Raises:
            PeerLostError: a participant is gone.
            WireError: a participant spoke out of turn.
        """
        exchange = self._exchange(round_index)
        for connection, count in zip(self.connections, steps, strict=True):
            connection.send(Go(round_index=round_index, steps=count))
        exchange.run()
        self._close()
        # What is left is the participants' to say.
        self._status("wait")
        stamps = tuple(mark.stamps() for mark in exchange.marks)
        return Seen(
            clock_at_go_s=exchange.start_s,
            # The round ends when the last one holds the new model, not when this loop has noticed that it was the last.
            round_s=max(stamp.held_s for stamp in stamps),
            stamps=stamps,
            combine_start_s=exchange.combine_start_s,
            combine_end_s=exchange.combine_end_s,
            samples=tuple(mark.samples for mark in exchange.marks),
            reports=tuple(connection.expect(Report, within_s=self._stall_s) for connection in self.connections),
        )

    def _exchange(self, round_index: int) -> Exchange:
        return Exchange(
            self.model,
            self._updates,
            self.connections,
            round_index=round_index,
            status=self._status,
            stall_s=self._stall_s,
        )

    def _close(self) -> None:
        for connection in self.connections:
            connection.send(Close())


def _only_updates(room: memoryview) -> Callable[[Message], memoryview]:
    return lambda message: room if isinstance(message, Update) else room[:0]


def listen(host: str, num_participants: int) -> socket.socket:
    """Open a port of the kernel's choice on one address, for this many participants."""
    return socket.create_server((host, 0), backlog=num_participants + 8)


def accept_all(
    server: socket.socket,
    token: str,
    *,
    num_participants: int,
    alive: Callable[[], None] = lambda: None,
    cut_s: float = 60.0,
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
            joined[participant] = Connection(sock, peer=f"participant-{participant}", alive=alive, cut_s=cut_s)
    return tuple(joined[index] for index in range(num_participants))
