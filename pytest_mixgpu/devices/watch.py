"""Watches the devices of a run while it goes on: a thread that looks twice a second, and on request.

A thread and not a process: it needs no start, and what it waits for (a driver) lets other threads run meanwhile. A
driver that hangs holds nobody up: who asks waits a stated time once, and from then on what is not seen is unknown.
"""

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, NamedTuple, Self

import msgspec

from pytest_mixgpu.devices.eyes import open_eyes
from pytest_mixgpu.devices.glance import Eye, Family, Glance, seen, sees_all_processes
from pytest_mixgpu.devices.interference import own_family
from pytest_mixgpu.devices.model import Device, DeviceSeen, Sampling
from pytest_mixgpu.devices.pressure import cpu_pressure_s

RATE_HZ: Final = 2.0
"""How often all devices are looked at unasked."""
FRESH_S: Final = 0.1
"""A look that is no older need not be made again when a round begins or ends."""
PATIENCE_S: Final = 0.2
"""For so long somebody waits for a look that was asked for: less than what may lie between two rounds."""

OpenEyes = Callable[[Sequence[Device]], AbstractContextManager[Mapping[str, Eye]]]


class Moment(NamedTuple):
    """Where a stretch begins."""

    at_s: float
    """On the monotonic clock."""
    pressure_s: float | None


class Watched(msgspec.Struct, frozen=True, kw_only=True):
    """What was seen in a stretch."""

    devices: dict[str, DeviceSeen]
    """By id; a device that nobody could look at is not among them."""
    cpu_pressure: float | None
    """Share of the stretch in which some process of this host waited for a core."""


class _Look(NamedTuple):
    at_s: float
    glances: dict[str, Glance]


class Watch:
    """Looks at devices from entering to leaving the block.

    Args:
        devices: of the pool.
        rate_hz: how often it looks unasked.
        patience_s: how long somebody waits for a look that was asked for.
        open_eyes: from devices to eyes on them; opened and used in the thread alone.
        pressure_s: the counter of CPU pressure.
    """

    def __init__(
        self,
        devices: Sequence[Device],
        *,
        rate_hz: float = RATE_HZ,
        patience_s: float = PATIENCE_S,
        open_eyes: OpenEyes = open_eyes,
        pressure_s: Callable[[], float | None] = cpu_pressure_s,
    ) -> None:
        self._devices = tuple(devices)
        self._rate_hz, self._patience_s = rate_hz, patience_s
        self._open_eyes, self._pressure_s = open_eyes, pressure_s
        self._sees_all = sees_all_processes()
        self._has_news = threading.Condition()
        self._looks: list[_Look] = []
        self._num_looks, self._num_asked, self._num_answered = 0, 0, 0
        self._cpu_s = self._thread_used_s = 0.0
        self._failure = ""
        self._is_over = self._is_silent = False
        self._began_s = time.monotonic()
        self._thread = threading.Thread(target=self._run, name="mixgpu-watch", daemon=True)

    def __enter__(self) -> Self:
        self._began_s = time.monotonic()
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        with self._has_news:
            self._is_over = True
            self._has_news.notify_all()
        # A thread that hangs in a driver is left to it: it is a daemon and holds no end up.
        self._thread.join(0 if self._is_silent else self._patience_s)

    @property
    def beginning(self) -> Moment:
        """The stretch that begins with the watch. Nobody waits for its first look: drivers take time to open."""
        return Moment(self._began_s, None)

    def moment(self) -> Moment:
        """Begin a stretch: what was counted before it is known from a look that is no older than a moment."""
        began_s = time.thread_time()
        self._ensure(lambda look: look.at_s >= time.monotonic() - FRESH_S)
        with self._has_news:
            # Earlier looks are in no stretch that begins now.
            del self._looks[:-1]
            moment = Moment(time.monotonic(), self._pressure_s())
            self._cpu_s += time.thread_time() - began_s
        return moment

    def since(self, moment: Moment) -> Watched:
        """End a stretch, and say what was seen in it.

        Args:
            moment: where it began; stretches do not overlap.
        """
        began_s = time.thread_time()
        end_s, pressure_s = time.monotonic(), self._pressure_s()
        self._ensure(lambda look: look.at_s >= max(moment.at_s, end_s - FRESH_S))
        family = self._family()
        with self._has_news:
            within = [look for look in self._looks if look.at_s >= moment.at_s]
            before = next((look for look in reversed(self._looks) if look.at_s < moment.at_s), None)
            devices = {
                id_: seen(
                    [look.glances[id_] for look in within if id_ in look.glances],
                    None if before is None else before.glances.get(id_),
                    family,
                )
                for id_ in {name for look in within for name in look.glances}
            }
            self._cpu_s += time.thread_time() - began_s
        return Watched(devices=devices, cpu_pressure=_share(moment, end_s, pressure_s))

    @property
    def sampling(self) -> Sampling:
        """How often was looked, what it cost, and why no more was seen, if so."""
        with self._has_news:
            return Sampling(
                rate_hz=self._rate_hz,
                num_samples=self._num_looks,
                cpu_s=self._cpu_s,
                watched_s=time.monotonic() - self._began_s,
                failure=self._failure,
            )

    def _family(self) -> Family | None:
        """Ours, where some device told of any process: finding them costs more than a look."""
        with self._has_news:
            is_needed = any(glance.pids for look in self._looks for glance in look.glances.values())
        pids = own_family() if is_needed else frozenset[int]()
        return Family(pids=pids, sees_all=self._sees_all)

    def _ensure(self, is_fresh: Callable[[_Look], bool]) -> None:
        """Ask for a look unless there is one; one that does not come in time is asked for no more until one comes."""
        with self._has_news:
            if self._is_silent or self._failure or (self._looks and is_fresh(self._looks[-1])):
                return
            self._num_asked += 1
            wanted = self._num_asked
            self._has_news.notify_all()
            if not self._has_news.wait_for(lambda: self._num_answered >= wanted or self._failure, self._patience_s):
                self._is_silent = True
                self._failure = f"the devices could not be looked at: no answer within {self._patience_s:g} s"

    def _run(self) -> None:
        try:
            with self._open_eyes(self._devices) as eyes:
                while not self._is_over:
                    self._look(eyes)
                    self._rest()
        except Exception as error:  # noqa: BLE001 - a driver may raise anything; what is not seen is unknown, and said
            with self._has_news:
                self._failure = f"the devices could not be looked at: {type(error).__name__}: {error}"
                self._has_news.notify_all()

    def _look(self, eyes: Mapping[str, Eye]) -> None:
        with self._has_news:
            asked = self._num_asked
        glances = {id_: eye.look() for id_, eye in eyes.items()}
        with self._has_news:
            self._looks.append(_Look(time.monotonic(), glances))
            self._num_looks += 1
            self._num_answered = asked
            if self._is_silent:
                self._is_silent, self._failure = False, ""
            self._has_news.notify_all()

    def _rest(self) -> None:
        """Wait for the next look that is due or asked for; what the thread used so far is counted."""
        with self._has_news:
            used_s = time.thread_time()
            self._cpu_s += used_s - self._thread_used_s
            self._thread_used_s = used_s
            self._has_news.wait_for(lambda: self._is_over or self._num_asked > self._num_answered, 1 / self._rate_hz)


def _share(moment: Moment, end_s: float, pressure_s: float | None) -> float | None:
    if pressure_s is None or moment.pressure_s is None or end_s <= moment.at_s:
        return None
    return min(1.0, max(0.0, (pressure_s - moment.pressure_s) / (end_s - moment.at_s)))
