"""What is seen of the devices of one run: from a watch and a meter to the fields of its lines. Holds no opinion."""

from __future__ import annotations

import time
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from msgspec.structs import replace

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_mixgpu.devices.model import DeviceSeen, Pool, Sampling
    from pytest_mixgpu.devices.watch import Moment, Watched
    from pytest_mixgpu.records.model import Outcome, RoundLine, Start


class InterferenceMeter(Protocol):
    """Who else uses the leased cores."""

    def sample(self) -> Any:
        """Read all counters now."""

    def foreign_share(self, since: Any) -> Mapping[int, float | None]:
        """By core, the share that foreign processes took from then to now."""


class DeviceWatch(AbstractContextManager["DeviceWatch"], Protocol):
    """What becomes of devices, watched from entering to leaving the block."""

    @property
    def beginning(self) -> Moment:
        """The stretch that begins with the watch."""

    def moment(self) -> Moment:
        """Begin a stretch."""

    def since(self, moment: Moment) -> Watched:
        """End a stretch, and say what was seen in it."""

    @property
    def sampling(self) -> Sampling:
        """How often was looked, and what it cost."""


class Watcher:
    """Fills in what was seen before, in and after the rounds of one run.

    Args:
        pool: the devices of the run.
        host: the one on which the watch is.
        meter: who else uses its cores; None leaves it unknown.
        watch: of its devices; None leaves all unknown.
    """

    def __init__(self, pool: Pool, *, host: str, meter: InterferenceMeter | None, watch: DeviceWatch | None) -> None:
        self._pool, self._host = pool, host
        self._meter, self._watch = meter, watch
        self._moment = None if watch is None else watch.beginning
        self._mark: Any = None
        self.meter_cpu_s = 0.0
        """CPU time that the meter took."""

    def begin(self) -> None:
        """A round begins."""
        began_s = time.thread_time()
        if self._meter is not None:
            self._mark = self._meter.sample()
        self.meter_cpu_s += time.thread_time() - began_s
        if self._watch is not None:
            self._moment = self._watch.moment()

    def seen_in(self, line: RoundLine) -> RoundLine:
        """A round has ended: fill in what was seen in it."""
        began_s = time.thread_time()
        shares = {} if self._meter is None else self._meter.foreign_share(self._mark)
        self.meter_cpu_s += time.thread_time() - began_s
        devices = [self._pool.devices[participant] for participant in line.participants]
        line = replace(
            line,
            foreign_share=tuple(
                shares.get(each.ordinal) if each.vendor == "cpu" and each.host == self._host else None
                for each in devices
            ),
        )
        watched = self._seen()
        if watched is None:
            return line
        return replace(
            line,
            device_seen=tuple(watched.devices.get(each.id) for each in devices),
            # One host only: what others wait for is not seen from here.
            cpu_pressure=tuple(watched.cpu_pressure if each.host == self._host else None for each in devices),
        )

    def seen_before(self, start: Start) -> Start:
        """All workers are ready: fill in what was seen until now."""
        return replace(start, device_seen=self._of_pool(self._seen()))

    def seen_after(self, outcome: Outcome) -> Outcome:
        """All is over: fill in what was seen since the last round, and what watching cost."""
        if self._watch is None:
            return outcome
        seen, sampling = self._of_pool(self._seen()), self._watch.sampling
        return replace(outcome, device_seen=seen, sampling=replace(sampling, cpu_s=sampling.cpu_s + self.meter_cpu_s))

    def _seen(self) -> Watched | None:
        """What was seen since the last moment; the next stretch begins where this one ends."""
        if self._watch is None or self._moment is None:
            return None
        watched = self._watch.since(self._moment)
        self._moment = self._watch.moment()
        return watched

    def _of_pool(self, watched: Watched | None) -> tuple[DeviceSeen | None, ...]:
        return () if watched is None else tuple(watched.devices.get(device.id) for device in self._pool.devices)
