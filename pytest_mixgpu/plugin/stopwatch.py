"""The `stopwatch` fixture: from a piece of work to samples, taken with a clock that waits for the device.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from msgspec.structs import replace

from pytest_mixgpu.devices.hosts import host_name
from pytest_mixgpu.devices.interference import Interference
from pytest_mixgpu.devices.watch import Watch
from pytest_mixgpu.errors import PoolShortfallError
from pytest_mixgpu.marks.comparison import exceeds
from pytest_mixgpu.marks.device_seen import DeviceLimits, disturbances, named
from pytest_mixgpu.records.plan import Disturbance
from pytest_mixgpu.timing.clocks import clock_for
from pytest_mixgpu.timing.model import Samples
from pytest_mixgpu.timing.sampling import take_samples

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    import pytest

    from pytest_mixgpu.devices.model import Device, Pool


class Stopwatch:
    """Times work on one device of the session's pool.

    Where pytest-benchmark is enabled, the first measurement of a test goes through its fixture, so that its table, its
    JSON and its compare hold the same samples.
    """

    def __init__(
        self,
        device: Device,
        name: str,
        find_benchmark: Callable[[], Any | None],
        *,
        watch: Callable[[tuple[Device, ...]], Watch] = Watch,
    ) -> None:
        self._watch = watch
        self.device = device
        """What the work is meant to run on; torch's name of it is `stopwatch.device.torch_device`."""
        self._name = name
        # Asked for at the first measurement only: pytest-benchmark warns of a fixture that was never used.
        self._find_benchmark: Callable[[], Any | None] | None = find_benchmark

    def __call__(
        self,
        work: Callable[[], object],
        *,
        num_samples: int = 10,
        num_warmups: int = 3,
        name: str = "",
        on: Pool | None = None,
    ) -> Samples:
        """Do the work `num_warmups + num_samples` times and time each go; warm-ups are kept and not judged.

        Args:
            work: called without arguments; what it starts on the device is waited for.
            num_samples: durations that count, at least 1.
            num_warmups: goes before those.
            name: what the samples are called; the test's name if empty.
            on: the devices that the work uses, where these are more than the first: `gpus`, or a part of it.

        Returns:
            Durations in seconds, with the id and kind of the device that did the work, and what disturbed it.

        Raises:
            ValueError: no sample was asked for.
        """
        used = (self.device,) if on is None else on.devices
        cores = [device.ordinal for device in used if device.vendor == "cpu"]
        meter = Interference(cores)
        with self._watch(used) as watch:
            mark, moment = meter.sample(), watch.moment()
            samples = self._take(work, num_samples=num_samples, num_warmups=num_warmups, name=name, used=used)
            watched, shares = watch.since(moment), meter.foreign_share(mark)
        said = [
            f"{text} while {samples.name} was timed, {named(device)}"
            for device in used
            if (seen := watched.devices.get(device.id)) is not None
            for text in disturbances(seen, DeviceLimits())
        ]
        limit = Disturbance().foreign_share
        said += [
            f"other processes took {100 * share:.0f} % of core {core} while {samples.name} was timed, the limit is "
            f"{100 * limit:g} %"
            for core, share in shares.items()
            if share is not None and exceeds(share, limit)
        ]
        return replace(samples, disturbed=tuple(said))

    def _take(
        self, work: Callable[[], object], *, num_samples: int, num_warmups: int, name: str, used: tuple[Device, ...]
    ) -> Samples:
        clock = clock_for(self.device.torch_device)
        name = name or self._name
        devices, kinds = tuple(device.id for device in used), tuple(device.kind for device in used)
        find_benchmark, self._find_benchmark = self._find_benchmark, None
        benchmark = None if find_benchmark is None else find_benchmark()
        if benchmark is None:
            return take_samples(
                work,
                name=name,
                num_warmups=num_warmups,
                num_samples=num_samples,
                clock=clock,
                devices=devices,
                kinds=kinds,
            )
        warmups_s: tuple[float, ...] = ()
        if num_warmups:
            warmups_s = take_samples(work, name=name, num_warmups=0, num_samples=num_warmups, clock=clock).values_s

        def work_and_wait() -> None:
            work()
            clock.now_s()

        # The device is idle before the first go, and each go waits for its own work.
        clock.now_s()
        benchmark.pedantic(work_and_wait, rounds=num_samples, warmup_rounds=0, iterations=1)
        return Samples(
            name=name,
            values_s=tuple(float(value) for value in benchmark.stats.stats.data),
            warmups_s=warmups_s,
            clock=clock.name,
            devices=devices,
            kinds=kinds,
        )


def stopwatch_for(request: pytest.FixtureRequest) -> Stopwatch:
    """A stopwatch on the first device of the session's pool, handed to pytest-benchmark where that is enabled."""

    def find_benchmark() -> Any | None:
        if not request.config.pluginmanager.hasplugin("benchmark"):
            return None
        benchmark = request.getfixturevalue("benchmark")
        if not benchmark.disabled:
            return benchmark
        # It warns of a fixture that was never called. Where it is disabled, a call measures nothing.
        benchmark(lambda: None)
        return None

    device = request.getfixturevalue("gpus").devices[0]
    if device.host != host_name():
        raise PoolShortfallError(
            f"the stopwatch measures in this process, on {host_name()}, and {device.id} is on {device.host}: measure "
            "with the fixture `runs`, or leave --mixgpu-launcher=ray out"
        )
    return Stopwatch(device, request.node.name, find_benchmark)
