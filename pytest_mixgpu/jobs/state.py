"""Model state as one flat row of float32: from a model to its update, and from a new row back into it.

All parameters and all floating buffers travel; counters (whole numbers) stay local. Imports torch when used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray


def floating_tensors(model: torch.nn.Module) -> tuple[torch.Tensor, ...]:
    """The tensors that travel: parameters, then floating buffers, each in the model's own order."""
    return tuple(
        tensor.detach() for tensor in (*model.parameters(), *model.buffers()) if tensor.dtype.is_floating_point
    )


class FlatState:
    """A model's floating state beside the row that the present round started from.

    On a GPU both rows that cross to the host lie in pinned memory.

    Args:
        model: the model, on its device.
    """

    def __init__(self, model: torch.nn.Module) -> None:
        import torch

        self._tensors = floating_tensors(model)
        self._device = self._tensors[0].device
        self.size = sum(tensor.numel() for tensor in self._tensors)
        pinned = self._device.type != "cpu"
        self._update = torch.empty(self.size, dtype=torch.float32, pin_memory=pinned)
        self._incoming = torch.empty(self.size, dtype=torch.float32, pin_memory=pinned)
        # On a CPU the row that came in is itself the round's start: it is not written to before the next return.
        self._start = torch.empty(self.size, dtype=torch.float32, device=self._device) if pinned else self._incoming

    @property
    def incoming(self) -> memoryview:
        """Where the bytes of a new model are to be written."""
        return _bytes_of(self._incoming)

    def load_incoming(self) -> None:
        """Take the row that came in as the model and as the start of the next round."""
        if self._start is not self._incoming:
            self._start.copy_(self._incoming, non_blocking=True)
        offset = 0
        for tensor in self._tensors:
            count = tensor.numel()
            tensor.copy_(self._start[offset : offset + count].view(tensor.shape))
            offset += count

    def prepare_update(self) -> memoryview:
        """Work out what changed since the round's start; the bytes lie in host memory when this returns."""
        import torch

        if self._start is not self._incoming:
            row = torch.cat([tensor.reshape(-1).to(torch.float32) for tensor in self._tensors])
            self._update.copy_(row.sub_(self._start))
        else:
            offset = 0
            for tensor in self._tensors:
                stretch = slice(offset, offset + tensor.numel())
                torch.sub(tensor.reshape(-1), self._start[stretch], out=self._update[stretch])
                offset += tensor.numel()
        return _bytes_of(self._update)


def flatten(model: torch.nn.Module) -> NDArray[np.float32]:
    """Copy a model's floating state into a new row."""
    import torch

    row = torch.cat([tensor.reshape(-1).to("cpu", torch.float32) for tensor in floating_tensors(model)])
    flat: NDArray[np.float32] = row.numpy()
    return flat


def unflatten(model: torch.nn.Module, row: NDArray[np.float32]) -> None:
    """Copy a row into a model.

    Raises:
        ValueError: the row is not as long as the model's state.
    """
    import torch

    tensors = floating_tensors(model)
    expected = sum(tensor.numel() for tensor in tensors)
    if row.size != expected:
        raise ValueError(f"a row of {row.size} values does not fit a model of {expected}")
    values = torch.from_numpy(row)
    offset = 0
    for tensor in tensors:
        tensor.copy_(values[offset : offset + tensor.numel()].view(tensor.shape))
        offset += tensor.numel()


def _bytes_of(row: torch.Tensor) -> memoryview:
    """The memory of a row on the host, to be read from and written to."""
    array: NDArray[np.float32] = row.numpy()
    return array.data.cast("B")
