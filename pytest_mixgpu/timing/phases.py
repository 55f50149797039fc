"""From the stamps of one participant's round to labelled segments that add up to it. Pure arithmetic, imports no torch.

The coordinator's instants are brought onto the participant's clock by durations since READY: the moment the
participant's compute closed is the moment its READY was heard. No clocks are synchronised for this. What the transit
of READY took is therefore not seen; it is bounded by the round trip of the link, which the record states.

Every instant gets one label. Where several things went on at once, the first of this list wins:

1. `compute`: from GO to the end of compute.
2. `prepare`: from there until the update lies in its wire format.
3. `send`: while the coordinator read from this participant.
4. `return`: from the first byte out to this participant until the new model is held. Pieces go out as they are
   combined, so this holds any wait for pieces that slower participants had not delivered.
5. `combine`: from the first piece that the coordinator combined to the last. It reads from participants in between,
   so this holds any wait for the rest of their updates; `queue` is what was idle before the first piece.
6. `wait`: idle, and somebody else had not said READY, or did not yet hold the new model.
7. `queue`: idle for any other reason: the coordinator was busy with others.
"""

from collections.abc import Iterable
from itertools import pairwise

import msgspec

from pytest_mixgpu.timing.model import PHASES, CoordinatorStamps, ParticipantStamps, Phase, Segment

_PRECEDENCE: tuple[Phase, ...] = ("compute", "prepare", "send", "return", "combine", "wait")
_ACTIVITIES = frozenset(_PRECEDENCE) - {"wait"}


class Attribution(msgspec.Struct, frozen=True, kw_only=True):
    """Where one participant's round went."""

    segments: tuple[Segment, ...]
    """The labelled stretches in order, without gaps, from 0 to the end of the round."""
    overlap_s: float
    """Time in which at least two activities of this participant went on; it is counted once, by the precedence."""


class _Stretch(msgspec.Struct, frozen=True):
    phase: Phase
    start_s: float
    end_s: float


def attribute(
    own: ParticipantStamps,
    seen: CoordinatorStamps | None,
    *,
    last_ready_s: float | None = None,
    combine_start_s: float | None = None,
    combine_end_s: float | None = None,
) -> Attribution:
    """Label every instant of one participant's round.

    Args:
        own: what the participant stamped, on its own clock.
        seen: what the coordinator stamped of it; None for a run without an exchange, in which whatever follows
            compute and prepare is `wait`.
        last_ready_s: the last READY of all participants, on the coordinator's clock.
        combine_start_s: when the coordinator combined the first piece.
        combine_end_s: when it was done with the last.

    Raises:
        ValueError: the coordinator's stamps are given in part only.
    """
    stretches = [_Stretch("compute", 0.0, own.compute_end_s)]
    if own.prepare_end_s is not None:
        stretches.append(_Stretch("prepare", own.compute_end_s, own.prepare_end_s))
    if seen is None:
        stretches.append(_Stretch("wait", own.compute_end_s, own.close_s))
    else:
        if last_ready_s is None or combine_start_s is None or combine_end_s is None or own.hold_s is None:
            raise ValueError(
                "a round with an exchange is attributed from the last READY, both ends of combine and the moment the "
                "model was held; one of them is missing"
            )
        stretches += _exchange(own, seen, own.hold_s, last_ready_s, combine_start_s, combine_end_s)
    return _label(stretches, end_s=own.close_s)


def phase_totals(segments: Iterable[Segment]) -> dict[Phase, float]:
    """Seconds of each phase, all seven named."""
    totals = dict.fromkeys(PHASES, 0.0)
    for segment in segments:
        totals[segment.phase] += segment.duration_s
    return totals


def _exchange(  # noqa: PLR0913, PLR0917 - one value an instant
    own: ParticipantStamps,
    seen: CoordinatorStamps,
    hold_s: float,
    last_ready_s: float,
    combine_start_s: float,
    combine_end_s: float,
) -> list[_Stretch]:
    shift_s = own.compute_end_s - seen.ready_s
    return_start_s = seen.first_out_s + shift_s
    if own.return_first_s is not None:
        # No byte arrives before it was sent: what says so is the unseen transit of READY.
        return_start_s = min(return_start_s, own.return_first_s)
    return [
        _Stretch("send", seen.first_in_s + shift_s, seen.last_in_s + shift_s),
        _Stretch("return", return_start_s, hold_s),
        _Stretch("combine", combine_start_s + shift_s, combine_end_s + shift_s),
        _Stretch("wait", own.compute_end_s, last_ready_s + shift_s),
        _Stretch("wait", hold_s, own.close_s),
    ]


def _label(stretches: list[_Stretch], *, end_s: float) -> Attribution:
    clipped = [
        _Stretch(stretch.phase, max(0.0, stretch.start_s), min(end_s, stretch.end_s))
        for stretch in stretches
        if min(end_s, stretch.end_s) > max(0.0, stretch.start_s)
    ]
    instants = sorted({0.0, end_s, *(s.start_s for s in clipped), *(s.end_s for s in clipped)})
    segments: list[Segment] = []
    overlap_s = 0.0
    for left, right in pairwise(instants):
        going_on = {s.phase for s in clipped if s.start_s <= left and s.end_s >= right}
        phase: Phase = next((phase for phase in _PRECEDENCE if phase in going_on), "queue")
        if len(going_on & _ACTIVITIES) > 1:
            overlap_s += right - left
        start_s = segments.pop().start_s if segments and segments[-1].phase == phase else left
        segments.append(Segment(phase, start_s, right - start_s))
    return Attribution(segments=tuple(segments), overlap_s=overlap_s)
