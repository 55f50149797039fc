"""One exchange at the star's middle: from updates that come in to a model that everybody holds. Imports no torch.

One thread and one selector. The three parts of it overlap: a piece of the model is combined as soon as every
participant's update has come in that far, and goes out at once to those whose own update has come in whole. So a slow
link keeps the others waiting for what it has not delivered yet, and for nothing else.
"""

from __future__ import annotations

import selectors
import time
from typing import TYPE_CHECKING

from pytest_mixgpu.jobs.combine import Combination, NotFiniteError
from pytest_mixgpu.jobs.messages import Holding, Model, Ready, Update
from pytest_mixgpu.jobs.wire import REFRESH_S, Connection, PeerWireError
from pytest_mixgpu.timing.model import CoordinatorStamps

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import numpy as np
    from numpy.typing import NDArray

_VALUE_BYTES = 4


class Marks:
    """Instants of one participant in the exchange that runs, as they come in; seconds since its start."""

    def __init__(self) -> None:
        self.ready_s = self.first_in_s = self.last_in_s = 0.0
        self.first_out_s = self.last_out_s = self.held_s = 0.0
        self.samples = 0
        self.is_in = False
        """Whether its update has come in whole, so that it listens."""

    def stamps(self) -> CoordinatorStamps:
        """What the record keeps of them."""
        return CoordinatorStamps(
            ready_s=self.ready_s,
            first_in_s=self.first_in_s,
            last_in_s=self.last_in_s,
            first_out_s=self.first_out_s,
            last_out_s=self.last_out_s,
            held_s=self.held_s,
        )


class Exchange:
    """One exchange.

    Args:
        model: the model, flat; changed in place.
        updates: where updates land, one row a participant.
        connections: their lines.
        round_index: the round, which the model's frame names.
        status: called with a phase when it changes, when something moved, and every few seconds of waiting.
        stall_s: how long a participant that has something to send or to take may move no byte.
    """

    def __init__(  # noqa: PLR0913 - what one exchange works on, and how long it bears silence
        self,
        model: NDArray[np.float32],
        updates: Sequence[NDArray[np.float32]],
        connections: Sequence[Connection],
        *,
        round_index: int,
        status: Callable[[str], None],
        stall_s: float = 60.0,
    ) -> None:
        self._model, self._updates, self._connections = model, updates, connections
        self._payload = model.data.cast("B")
        self._round_index = round_index
        self._status = status
        self._stall_s = stall_s
        self._moved_s: dict[int, float] = {}
        """When each participant that is to move bytes last did, by its index."""
        self._phase = "wait"
        self._combination: Combination | None = None
        self._num_ready_bytes = 0
        self._selector = selectors.DefaultSelector()
        self._asked_for: dict[int, int] = {}
        self.start_s = time.perf_counter()
        self.marks = [Marks() for _ in connections]
        self.combine_start_s = self.combine_end_s = 0.0

    def hand_out(self) -> None:
        """Give the present model to everybody; return when all hold it."""
        self._num_ready_bytes = self._payload.nbytes
        for index in range(len(self.marks)):
            self._begin_return(index)
        self._enter("return")
        self._run()

    def run(self) -> None:
        """Take updates in, combine them and give the new model to everybody; return when all hold it.

        Raises:
            PeerLostError: a participant is gone.
            WireError: a participant spoke out of turn, sent what is no update, or stopped in the middle.
        """
        self._enter("wait")
        self._run()

    def _run(self) -> None:
        with self._selector as selector:
            for index in range(len(self.marks)):
                self._ask(index)
            while selector.get_map():
                events = selector.select(min(REFRESH_S, self._stall_s / 2))
                # Where nothing comes this is no work, whatever was begun: others must act first.
                self._status(self._phase if events else "wait")
                if not events:
                    self._refuse_stall()
                for key, mask in events:
                    if mask & selectors.EVENT_WRITE:
                        self._push(key.data)
                    if mask & selectors.EVENT_READ:
                        self._pull(key.data)
                if self._advance():
                    for index in range(len(self.marks)):
                        self._ask(index)

    def _pull(self, index: int) -> None:
        mark, connection = self.marks[index], self._connections[index]
        message = connection.pump()
        now_s = self._now_s()
        if message is not None or connection.under_way[1] or index in self._moved_s:
            self._moved_s[index] = now_s
        if message is None:
            return
        if isinstance(message, Ready) and not mark.ready_s:
            mark.ready_s = now_s
        elif isinstance(message, Update) and mark.ready_s and not mark.is_in:
            self._check_size(index)
            mark.first_in_s = connection.first_byte_s - self.start_s
            mark.last_in_s = now_s
            mark.samples = message.samples
            self._begin_return(index)
            self._ask(index)
        elif isinstance(message, Holding) and mark.last_out_s:
            mark.held_s = now_s
            self._selector.unregister(connection.sock)
            del self._asked_for[index], self._moved_s[index]
        else:
            raise PeerWireError(connection.peer, f"sent `{type(message).__name__}` out of turn")

    def _refuse_stall(self) -> None:
        """Name a participant that said READY, or that the model goes out to, and then moves no byte."""
        for index, moved_s in self._moved_s.items():
            mark, connection = self.marks[index], self._connections[index]
            quiet_s = self._now_s() - moved_s
            # Who took all that is ready for it waits for the others.
            is_served = mark.is_in and not mark.last_out_s and not connection.can_push(self._num_ready_bytes)
            if quiet_s < self._stall_s or is_served:
                continue
            if not mark.is_in:
                num_bytes = connection.under_way[1]
                detail = f"sent {num_bytes:,} of {self._payload.nbytes:,} bytes of its update, and nothing more"
                raise PeerWireError(connection.peer, f"{detail} for {quiet_s:.1f} s", phase="send")
            what = "does not say that it holds the model" if mark.last_out_s else "does not take the model"
            raise PeerWireError(connection.peer, f"{what}: nothing moved for {quiet_s:.1f} s")

    def _begin_return(self, index: int) -> None:
        self.marks[index].is_in = True
        self._connections[index].queue(Model(round_index=self._round_index), self._payload)

    def _push(self, index: int) -> None:
        mark = self.marks[index]
        mark.first_out_s = mark.first_out_s or self._now_s()
        self._moved_s[index] = self._now_s()
        if self._connections[index].push(self._num_ready_bytes):
            mark.last_out_s = self._now_s()
        self._ask(index)

    def _advance(self) -> bool:
        """Combine what has come in from everybody; whether more of the model can go out."""
        if self._num_ready_bytes == self._payload.nbytes:
            return False
        there_bytes = min(map(self._arrived_bytes, range(len(self.marks))))
        if not there_bytes:
            return False
        if self._combination is None:
            self._enter("combine")
            num_samples = [self._samples(index) for index in range(len(self.marks))]
            self._combination = Combination(self._model, self._updates, num_samples)
        began_s = self._now_s()
        try:
            if not self._combination.advance(there_bytes // _VALUE_BYTES):
                return False
        except NotFiniteError as error:
            size = self._model.size
            detail = f"sent an update that is not finite: value {error.place:,} of {size:,} is {error.value}"
            raise PeerWireError(self._connections[error.participant].peer, detail, phase="send") from error
        self.combine_start_s = self.combine_start_s or began_s
        self.combine_end_s = self._now_s()
        self._num_ready_bytes = self._combination.num_done * _VALUE_BYTES
        if self._num_ready_bytes == self._payload.nbytes:
            self._enter("return")
        return True

    def _arrived_bytes(self, index: int) -> int:
        if self.marks[index].is_in:
            return self._payload.nbytes
        message, num_bytes = self._connections[index].under_way
        if isinstance(message, Update):
            self._check_size(index)
            return num_bytes
        return 0

    def _samples(self, index: int) -> int:
        message, _ = self._connections[index].under_way
        return message.samples if isinstance(message, Update) else self.marks[index].samples

    def _ask(self, index: int) -> None:
        """Wait for what this participant can do next: send, or take what is ready for it."""
        mark, connection = self.marks[index], self._connections[index]
        if mark.held_s:
            return
        wanted = selectors.EVENT_READ
        if mark.is_in and connection.can_push(self._num_ready_bytes):
            wanted |= selectors.EVENT_WRITE
        if index not in self._asked_for:
            self._selector.register(connection.sock, wanted, index)
        elif self._asked_for[index] != wanted:
            self._selector.modify(connection.sock, wanted, index)
        self._asked_for[index] = wanted

    def _check_size(self, index: int) -> None:
        connection = self._connections[index]
        if connection.payload_bytes != self._payload.nbytes:
            raise PeerWireError(
                connection.peer,
                f"sent an update of {connection.payload_bytes} bytes; the model has {self._payload.nbytes}: "
                "do all participants run the same model?",
                phase="send",
            )

    def _enter(self, phase: str) -> None:
        self._phase = phase
        self._status(phase)

    def _now_s(self) -> float:
        return time.perf_counter() - self.start_s
