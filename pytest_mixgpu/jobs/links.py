"""Links: measures round trip and bandwidth between coordinator and participants, on the lines that the updates take.

The participant answers each ping at once (see `answer`), the coordinator times it. Bandwidth is what a probe took
beyond the round trip. Imports no torch.
"""

import statistics
import time

from pytest_mixgpu.jobs.messages import Message, Ping, Pong
from pytest_mixgpu.jobs.wire import NOTHING, Connection
from pytest_mixgpu.records.model import Link

_NUM_PROBES = 7
_SMALL_BYTES = 256 << 10
_LARGE_BYTES = 8 << 20
_FAST_S = 0.02
"""A small probe that took less than this says little: a large one follows."""


def measure_link(connection: Connection, *, participant: int, from_host: str, to_host: str) -> Link:
    """Measure the path of one participant, `from_host`, to the coordinator, `to_host`."""
    round_trip_s = statistics.median(_ping_s(connection) for _ in range(_NUM_PROBES + 2))
    scratch = scratch_for_probes()
    kept, connection.room = connection.room, lambda _message: scratch
    small_s = _ping_s(connection, answer_bytes=_SMALL_BYTES)
    probe_bytes = _SMALL_BYTES if small_s > _FAST_S else _LARGE_BYTES
    num_probes = 1 if small_s > _FAST_S else _NUM_PROBES
    up_s = statistics.median(_ping_s(connection, answer_bytes=probe_bytes) for _ in range(num_probes))
    down_s = statistics.median(_ping_s(connection, payload=scratch[:probe_bytes]) for _ in range(num_probes))
    connection.room = kept
    return Link(
        participant=participant,
        from_host=from_host,
        to_host=to_host,
        round_trip_s=round_trip_s,
        up_bytes_per_s=_rate(probe_bytes, up_s, round_trip_s),
        down_bytes_per_s=_rate(probe_bytes, down_s, round_trip_s),
        probe_bytes=probe_bytes,
        num_probes=num_probes,
    )


def scratch_for_probes() -> memoryview:
    """Room for the largest probe."""
    return memoryview(bytearray(_LARGE_BYTES))


def answer(connection: Connection, message: Message, scratch: memoryview) -> None:
    """Answer a ping, as the participant."""
    ping = connection.check(message, Ping)
    connection.send(Pong(), scratch[: ping.answer_bytes])


def _ping_s(connection: Connection, *, answer_bytes: int = 0, payload: memoryview = NOTHING) -> float:
    start_s = time.perf_counter()
    connection.send(Ping(answer_bytes=answer_bytes), payload)
    connection.expect(Pong)
    return time.perf_counter() - start_s


def _rate(probe_bytes: int, duration_s: float, round_trip_s: float) -> float:
    # A probe that took no longer than the round trip says only that the link is at least this fast.
    return probe_bytes / max(duration_s - round_trip_s, duration_s / 100)
