"""From what workers saw of a round to its line in the record. Pure arithmetic."""

from collections.abc import Sequence

from pytest_mixgpu.jobs.messages import Report
from pytest_mixgpu.jobs.star import Seen
from pytest_mixgpu.jobs.words import OwnRound, StarRound
from pytest_mixgpu.records.model import RoundLine
from pytest_mixgpu.timing.model import CoordinatorStamps
from pytest_mixgpu.timing.offset import Offset, bound_offset
from pytest_mixgpu.timing.phases import attribute


def star_line(word: StarRound, *, index: int, warmup: bool, update_bytes: int) -> RoundLine:
    """The line of a round that went through a coordinator."""
    seen = word.seen
    num_participants = len(seen.reports)
    last_ready_s = max(stamps.ready_s for stamps in seen.stamps)
    attributions = [
        attribute(
            report.stamps,
            stamps,
            last_ready_s=last_ready_s,
            combine_start_s=seen.combine_start_s,
            combine_end_s=seen.combine_end_s,
        )
        for report, stamps in zip(seen.reports, seen.stamps, strict=True)
    ]
    offsets = [_offset(seen, report, stamps) for report, stamps in zip(seen.reports, seen.stamps, strict=True)]
    return RoundLine(
        index=index,
        warmup=warmup,
        started_at=word.started_at,
        round_s=seen.round_s,
        participants=tuple(range(num_participants)),
        samples=seen.samples,
        stamps=tuple(report.stamps for report in seen.reports),
        coordinator=seen.stamps,
        combine_start_s=seen.combine_start_s,
        combine_end_s=seen.combine_end_s,
        segments=tuple(each.segments for each in attributions),
        overlap_s=tuple(each.overlap_s for each in attributions),
        clock_offset_s=tuple(each.offset_s for each in offsets),
        clock_uncertainty_s=tuple(each.uncertainty_s for each in offsets),
        sent_bytes=(update_bytes,) * num_participants,
        received_bytes=(update_bytes,) * num_participants,
        train_loss=tuple(report.train_loss for report in seen.reports),
        compute_cpu_s=tuple(report.compute_cpu_s for report in seen.reports),
    )


def own_line(
    words: Sequence[OwnRound], *, index: int, warmup: bool, participants: Sequence[int], instrumented: bool = False
) -> RoundLine:
    """The line of a round without a coordinator, from what each of its participants saw."""
    attributions = [attribute(word.stamps, None) for word in words]
    return RoundLine(
        index=index,
        warmup=warmup,
        instrumented=instrumented,
        started_at=words[0].started_at,
        round_s=max(word.stamps.close_s for word in words),
        participants=tuple(participants),
        samples=tuple(word.samples for word in words),
        stamps=tuple(word.stamps for word in words),
        segments=tuple(word.segments or each.segments for word, each in zip(words, attributions, strict=True)),
        overlap_s=tuple(each.overlap_s for each in attributions),
        train_loss=tuple(word.train_loss for word in words),
        compute_cpu_s=tuple(word.compute_cpu_s for word in words),
        communication_s=tuple(word.communication_s for word in words) if instrumented else (),
    )


def _offset(seen: Seen, report: Report, stamps: CoordinatorStamps) -> Offset:
    """Bounds from four messages: two that the participant received, two that it sent."""
    own, here = report.clock_at_go_s, seen.clock_at_go_s
    received_s = [here - own]
    sent_s = [here + stamps.ready_s - (own + report.stamps.compute_end_s)]
    if report.stamps.return_first_s is not None:
        received_s.append(here + stamps.first_out_s - (own + report.stamps.return_first_s))
    if report.stamps.hold_s is not None:
        sent_s.append(here + stamps.held_s - (own + report.stamps.hold_s))
    return bound_offset(at_least_s=received_s, at_most_s=sent_s)
