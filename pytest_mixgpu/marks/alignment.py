"""Where things lie on the coordinator's clock, and whom a round waited for: from stamps to instants. Arithmetic."""

from heapq import nlargest

from pytest_mixgpu.marks.git import parse_moment
from pytest_mixgpu.records.model import RoundLine, RunRecord
from pytest_mixgpu.timing.model import CoordinatorStamps, ParticipantStamps
from pytest_mixgpu.timing.offset import Offset, bound_offset


def begun_on_coordinator(own: ParticipantStamps, seen: CoordinatorStamps) -> Offset | None:
    """Return when a participant's round began, in seconds since the coordinator said GO, and how unsure that is.

    The messages of the round bound it: GO and the new model came after they were sent, READY and HELD were heard after
    they were said. None where a stamp is missing.
    """
    if own.return_first_s is None or own.hold_s is None:
        return None
    return bound_offset(
        at_least_s=(0.0, seen.first_out_s - own.return_first_s),
        at_most_s=(seen.ready_s - own.compute_end_s, seen.held_s - own.hold_s),
    )


def round_starts_s(run: RunRecord) -> list[float] | None:
    """Return when each round began, in seconds since the first one; None where a moment cannot be read.

    The moments are those of one host's clock, kept to the millisecond.
    """
    moments = [parse_moment(line.started_at) for line in run.rounds]
    known = [moment for moment in moments if moment is not None]
    if len(known) < len(moments):
        return None
    return [(moment - known[0]).total_seconds() for moment in known]


def waited_for(line: RoundLine) -> tuple[int, float] | None:
    """Return the participant whose READY came last, and how many seconds after the one before it.

    None for a round that went through no coordinator or had one participant: nobody was waited for.
    """
    if len(line.coordinator) < 2 or len(line.coordinator) != len(line.participants):
        return None
    ready = zip((stamps.ready_s for stamps in line.coordinator), line.participants, strict=True)
    last, before = nlargest(2, ready)
    return last[1], last[0] - before[0]
