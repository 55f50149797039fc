"""What disturbed a device while a stopwatch timed on it stands in its samples, with what it was."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from pytest_mixgpu.devices.glance import Eye, Glance
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.watch import Watch
from pytest_mixgpu.plugin.stopwatch import Stopwatch
from pytest_mixgpu.timing.model import Samples
from tests.fakes import fake_core

# A core that no machine has: what others take of it is unknown, and only its eye says anything.
CORE = fake_core(100_000)


class Fixed:
    """Shows always the same."""

    def __init__(self, glance: Glance) -> None:
        self._glance = glance

    def look(self) -> Glance:
        """Look once."""
        return self._glance


def timed(glance: Glance) -> Samples:
    @contextmanager
    def opened(_devices: Sequence[Device]) -> Iterator[Mapping[str, Eye]]:
        yield {CORE.id: Fixed(glance)}

    def watch(devices: tuple[Device, ...]) -> Watch:
        return Watch(devices, open_eyes=opened, patience_s=30)

    return Stopwatch(CORE, "latency", lambda: None, watch=watch)(lambda: None, num_samples=2)


@pytest.mark.parametrize(
    ("glance", "says"),
    [
        (Glance(throttle_reasons=()), ""),
        (Glance(), ""),
        (Glance(throttle_reasons=("thermal-throttle",)), "the driver held clocks back (thermal-throttle)"),
        (Glance(is_busy=True, clock_mhz=400.0, allowed_clock_mhz=1000.0), "40 % of the 1000 MHz"),
    ],
    ids=["quiet", "unknown", "hot", "slow"],
)
def test_samples_say_what_disturbed_them(glance: Glance, says: str) -> None:
    """The sentence names the device; quiet and unknown devices disturb nothing."""
    samples = timed(glance)

    assert bool(says) == bool(samples.disturbed)
    assert all(says in text and CORE.id in text for text in samples.disturbed)
