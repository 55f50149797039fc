"""Where things of a run lie on one axis: from moments and durations of a record to whole nanoseconds, checked.

A record is from a stranger: a duration can be negative or longer than the universe is old, a moment can be no moment.
Nothing here fails on that; what has no place on the axis has none, and is counted as left out by whoever draws it.
"""

from datetime import UTC, datetime
from typing import Final

import msgspec

from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.timing.offset import Offset, bound_offset

LONGEST_S: Final = 366 * 86_400.0
"""Of one stretch; also the longest pause in a run that is believed."""


class Stretch(msgspec.Struct, frozen=True, kw_only=True):
    """A stretch of time on the axis, in nanoseconds."""

    start_ns: int
    end_ns: int


def nanoseconds(seconds: float | None) -> int | None:
    """Give whole nanoseconds; None for what is not known, not finite, negative, or longer than `LONGEST_S`."""
    if seconds is None or not 0 <= seconds <= LONGEST_S:
        return None
    return round(seconds * 1e9)


def stretch(start_s: float, duration_s: float, *, after_ns: int = 0) -> Stretch | None:
    """Place a stretch that starts so long after an instant of the axis; None where that is impossible."""
    start_ns, duration_ns = nanoseconds(start_s), nanoseconds(duration_s)
    if start_ns is None or duration_ns is None:
        return None
    # Both ends are rounded from the same sums, so that neighbours touch and do not cross.
    end_ns = nanoseconds(start_s + duration_s)
    return None if end_ns is None else Stretch(start_ns=after_ns + start_ns, end_ns=after_ns + end_ns)


def moment_ns(text: str) -> int | None:
    """Give the nanoseconds since 1970 of an ISO 8601 moment; None where it is none, or states no zone."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    if moment.tzinfo is None:
        return None
    since = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 1_000_000_000 + since.microseconds * 1000


def lease_ns(record: RunRecord) -> int | None:
    """Give the moment of the lease, from which a record counts its spans: its end minus the time it was held."""
    registered = moment_ns(record.header.registered_at)
    if record.outcome is None:
        return registered
    finished, leased = moment_ns(record.outcome.finished_at), nanoseconds(record.outcome.leased_s)
    return registered if finished is None or leased is None else finished - leased


def start_of_participant(line: RoundLine, place: int) -> Offset:
    """Say how long after GO a participant's own clock of the round started, on the coordinator's clock.

    These are the messages from which the record's `clock_offset_s` is bounded, without the two clocks' own readings:
    GO and the first byte of the model were received after they were sent, READY and HELD were sent before they were
    heard. Without a coordinator nothing was exchanged by which two clocks could be compared: all start at 0, and how
    wrong that is nobody knows (infinite), unless there is only one.
    """
    if place >= len(line.coordinator):
        return Offset(offset_s=0.0, uncertainty_s=0.0 if len(line.participants) == 1 else float("inf"))
    own, seen = line.stamps[place], line.coordinator[place]
    received_s = [0.0]
    sent_s = [seen.ready_s - own.compute_end_s]
    if own.return_first_s is not None:
        received_s.append(seen.first_out_s - own.return_first_s)
    if own.hold_s is not None:
        sent_s.append(seen.held_s - own.hold_s)
    return bound_offset(at_least_s=received_s, at_most_s=sent_s)


def last_ready(line: RoundLine) -> int | None:
    """Name the participant whose READY came last: the one that held the round back."""
    stamps = [seen.ready_s for seen in line.coordinator]
    return line.participants[stamps.index(max(stamps))] if stamps else None
