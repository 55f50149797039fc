"""A model of E1's size crosses everything that it crosses in a round: row, line, star and back."""

import threading
from contextlib import ExitStack

import numpy as np
import torch

from pytest_mixgpu.jobs.messages import Close, Go, Holding, Model, Ready, Report, Update
from pytest_mixgpu.jobs.star import Star
from pytest_mixgpu.jobs.state import FlatState
from pytest_mixgpu.jobs.wire import NOTHING, Connection
from pytest_mixgpu.timing.model import ParticipantStamps
from tests.jobs.made_lines import tcp_pair

_SHAPES = ((86_000, 1000), (600_000,), (37, 1))
"""86.6 million values, of which the last do not fill a stretch."""
_SIZE = 86_600_037
_STAMPS = ParticipantStamps(compute_end_s=0.0, prepare_end_s=0.0, hold_s=0.0, close_s=0.0)


class _Participant(threading.Thread):
    """Trains nothing: its update is what it was told."""

    def __init__(self, line: Connection) -> None:
        super().__init__(daemon=True)
        self._line = line
        line.room = lambda message: self.incoming if isinstance(message, Model) else NOTHING

    @property
    def incoming(self) -> memoryview:
        """Where the model lands."""
        raise NotImplementedError

    def load(self) -> None:
        """Take it over."""

    def update(self) -> memoryview:
        """Change it and say by what."""
        raise NotImplementedError

    def run(self) -> None:
        self._hold()
        go = self._line.expect(Go)
        self._line.send(Ready())
        self._line.send(Update(samples=go.steps), self.update())
        self._hold()
        self._line.send(Report(stamps=_STAMPS, clock_at_go_s=0.0, train_loss=None))

    def _hold(self) -> None:
        self._line.expect(Model)
        self.load()
        self._line.send(Holding())
        self._line.expect(Close)


class _WithModel(_Participant):
    """Holds a model; adds 1 to the first and last values of its tensors."""

    def __init__(self, line: Connection) -> None:
        super().__init__(line)
        self.model = torch.nn.ParameterList([torch.nn.Parameter(torch.zeros(shape)) for shape in _SHAPES])
        self._state = FlatState(self.model)

    @property
    def incoming(self) -> memoryview:
        return self._state.incoming

    def load(self) -> None:
        self._state.load_incoming()

    def update(self) -> memoryview:
        with torch.no_grad():
            for tensor in self.model:
                tensor[0] += 1
                tensor[-1] += 1
        return self._state.prepare_update()


class _WithRow(_Participant):
    """Spares the memory of a model: one row is what comes in, and then the update; its ends are 5, the rest is 0."""

    def __init__(self, line: Connection) -> None:
        super().__init__(line)
        self.row = np.empty(_SIZE, dtype=np.float32)

    @property
    def incoming(self) -> memoryview:
        return self.row.data.cast("B")

    def update(self) -> memoryview:
        self.row[:] = 0
        self.row[[0, -1]] = 5
        return self.incoming


def test_86_million_values_make_a_round() -> None:
    """Two participants, one round: both hold the weighted mean, to the last value."""
    with ExitStack() as stack:
        pairs = [[stack.enter_context(end) for end in tcp_pair()] for _ in range(2)]
        whole = _WithModel(Connection(pairs[0][1], peer="coordinator"))
        spare = _WithRow(Connection(pairs[1][1], peer="coordinator"))
        star = Star(np.full(_SIZE, 10, dtype=np.float32), [Connection(here, peer="p") for here, _ in pairs])
        for participant in (whole, spare):
            participant.start()
        star.distribute()
        seen = star.run_round(0, [3, 1])
        for participant in (whole, spare):
            participant.join(timeout=60)

    assert (3, 1) == seen.samples
    assert [12.0, 12.0, 10.0] == [star.model[0], star.model[-1], star.model[_SIZE // 2]]
    assert np.array_equal(star.model, spare.row)
    ends = np.cumsum([tensor.numel() for tensor in whole.model])
    for tensor, values in zip(whole.model, np.split(star.model, ends[:-1]), strict=True):
        assert torch.equal(tensor.flatten(), torch.from_numpy(values))
