"""The watch over devices: what a stretch comes to, at which cost, and that neither a hang nor an error holds it up."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import pytest

from pytest_mixgpu.devices.glance import Eye, Family, Glance, foreign_pids, seen
from pytest_mixgpu.devices.model import Device
from pytest_mixgpu.devices.watch import OpenEyes, Watch
from tests.fakes import fake_gpu

GPU = fake_gpu("NVIDIA A40")
OURS = Family(pids=frozenset({10, 11}), sees_all=True)
BUSY = Glance(is_busy=True, clock_mhz=1700.0, allowed_clock_mhz=1740.0, throttle_reasons=(), pids=(10,))


class FakeEye:
    """Shows one glance after the other, the last again and again; hangs or fails where it is told to."""

    def __init__(
        self, *glances: Glance, error: Exception | None = None, hangs_on: threading.Event | None = None
    ) -> None:
        self._glances = list(glances)
        self._error, self._hangs_on = error, hangs_on

    def look(self) -> Glance:
        """Look once."""
        if self._hangs_on is not None:
            self._hangs_on.wait()
        if self._error is not None:
            raise self._error
        return self._glances.pop(0) if len(self._glances) > 1 else self._glances[0]


def eyes_of(eye: Eye) -> OpenEyes:
    """Open this one eye, on the GPU."""

    @contextmanager
    def opened(_devices: Sequence[Device]) -> Iterator[Mapping[str, Eye]]:
        yield {GPU.id: eye}

    return opened


def test_every_stretch_has_a_look_of_its_own() -> None:
    """However short it is: one is asked for when it ends."""
    with Watch([GPU], open_eyes=eyes_of(FakeEye(BUSY)), rate_hz=0.01, patience_s=30) as watch:
        counts = [watch.since(watch.moment()).devices[GPU.id].num_samples for _ in range(3)]
        sampling = watch.sampling

    assert min(counts) >= 1
    assert sampling.num_samples >= len(counts)
    assert sampling.cpu_s >= 0
    assert not sampling.failure


def test_errors_count_from_the_look_before_the_stretch() -> None:
    """An error that came in it is new, one that was there before is not."""
    eye = FakeEye(Glance(ecc_errors=3, link_errors=7), Glance(ecc_errors=5, link_errors=7))
    with Watch([GPU], open_eyes=eyes_of(eye), rate_hz=0.01, patience_s=30) as watch:
        shown = watch.since(watch.moment()).devices[GPU.id]

    assert (2, 0) == (shown.new_ecc_errors, shown.new_link_errors)


def test_a_driver_that_hangs_holds_nobody_up_and_is_told() -> None:
    """Rounds then say nothing of the device, and the run says why."""
    release = threading.Event()
    with Watch([GPU], open_eyes=eyes_of(FakeEye(BUSY, hangs_on=release)), patience_s=0.01) as watch:
        shown = [watch.since(watch.moment()) for _ in range(3)]
        failure = watch.sampling.failure
    release.set()

    assert [{}] * 3 == [one.devices for one in shown]
    assert "no answer within 0.01 s" in failure


@pytest.mark.parametrize("error", [OSError("the device is gone"), ValueError("no number")], ids=type)
def test_a_sampler_that_dies_is_told(error: Exception) -> None:
    """Whatever a driver raises, the run goes on without it."""
    with Watch([GPU], open_eyes=eyes_of(FakeEye(error=error)), patience_s=30) as watch:
        shown = watch.since(watch.moment())
        failure = watch.sampling.failure

    assert {} == shown.devices
    assert f"could not be looked at: {type(error).__name__}: {error}" in failure


def test_pressure_is_the_share_of_the_stretch() -> None:
    """It can be no more than all of it, and what the kernel does not say is unknown."""
    counter = iter([1.0, 1e6, None])
    with Watch([], open_eyes=eyes_of(FakeEye(BUSY)), pressure_s=lambda: next(counter, None), patience_s=30) as watch:
        first = watch.since(watch.moment())
        second = watch.since(watch.moment())

    assert (1.0, None) == (first.cpu_pressure, second.cpu_pressure)


def test_slowest_clock_counts_only_while_the_device_computes() -> None:
    """Idle devices are slow, and may be."""
    idle = Glance(is_busy=False, clock_mhz=210.0, allowed_clock_mhz=1740.0)
    slow = Glance(is_busy=True, clock_mhz=900.0, allowed_clock_mhz=1740.0)

    shown = seen([idle, BUSY, slow], None, OURS)

    assert (900.0, 1740.0, 3) == (shown.lowest_clock_mhz, shown.allowed_clock_mhz, shown.num_samples)
    assert seen([idle], None, OURS).lowest_clock_mhz is None


def test_what_nobody_says_is_unknown() -> None:
    """None, never zero or empty."""
    shown = seen([Glance()], Glance(), None)

    assert {None, 1} == {getattr(shown, name) for name in shown.__struct_fields__}


def test_a_counter_that_was_set_back_has_counted_what_it_shows() -> None:
    """A driver that was loaded again counts from nothing."""
    assert 2 == seen([Glance(ecc_errors=2)], Glance(ecc_errors=9), OURS).new_ecc_errors


@pytest.mark.parametrize(
    ("pids", "sees_all", "foreign"),
    [
        ((10, 11), True, ()),
        ((), True, ()),
        ((10, 4242), True, (4242,)),
        ((10, 666), True, ()),
        ((4242,), False, None),
        ((), False, None),
        ((10, 4242), False, (4242,)),
    ],
    ids=["ours", "nobody", "foreign", "ended", "container", "container-shows-none", "container-that-translates"],
)
def test_foreign_processes_are_those_that_are_none_of_ours(
    pids: tuple[int, ...], *, sees_all: bool, foreign: tuple[int, ...] | None
) -> None:
    """Where numbers mean something else, whose they are is unknown."""
    family = Family(pids=OURS.pids, sees_all=sees_all)

    assert foreign == foreign_pids(pids, family, is_alive=lambda pid: pid != 666)
