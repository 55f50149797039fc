"""Leased devices as this process sees them."""

from types import SimpleNamespace

import pytest

from pytest_mixgpu.devices.here import in_this_process, torch_ordinal
from pytest_mixgpu.devices.model import Pool
from tests.fakes import fake_core, fake_gpu


class FakeCuda:
    """Lists devices as torch does, fastest first."""

    def __init__(self, *uuids: str) -> None:
        self._uuids = uuids

    def device_count(self) -> int:
        """Say how many there are."""
        return len(self._uuids)

    def get_device_properties(self, index: int) -> SimpleNamespace:
        """Say what torch says; old ones say no UUID."""
        return SimpleNamespace(uuid=self._uuids[index]) if self._uuids[index] else SimpleNamespace()


@pytest.mark.parametrize(
    ("uuids", "expected"),
    [
        (("fake-3", "fake-1", "fake-2"), 2),
        (("GPU-fake-2", "GPU-fake-1"), 0),
        (("", "", ""), 2),
        ((), 2),
    ],
)
def test_a_device_is_found_by_its_uuid_then_by_its_ordinal(uuids: tuple[str, ...], expected: int) -> None:
    """Torch's order is not the driver's."""
    assert expected == torch_ordinal(fake_gpu("NVIDIA A40", ordinal=2), FakeCuda(*uuids))


def test_only_gpus_are_named_anew() -> None:
    """All that is said of a device stays."""
    card, core = fake_gpu("NVIDIA A40", ordinal=2), fake_core(0)

    found, same = in_this_process(Pool(devices=(card, core))).devices

    assert (card.id, card.kind, card.environment) == (found.id, found.kind, found.environment)
    assert core == same
