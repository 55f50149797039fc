"""Made-up rounds for `tests/samples.py`: stamps from a small simulation of the star, segments from those stamps."""

from collections.abc import Sequence

from pytest_mixgpu.records.model import Link, RoundLine
from pytest_mixgpu.timing.model import CoordinatorStamps, ParticipantStamps
from pytest_mixgpu.timing.phases import attribute

MEMORY_BYTES_PER_S = 9e9
"""How fast an update is prepared, combined and loaded."""


def solo_round(participant: int, compute_s: float, *, samples: int, loss: float) -> RoundLine:
    """One device does all the work of a round; nothing is exchanged."""
    stamps = ParticipantStamps(compute_end_s=compute_s, close_s=compute_s)
    return _round(compute_s, (participant,), (samples,), (stamps,), losses=(loss,))


def plain_round(compute_s: Sequence[float], *, samples: Sequence[int], loss: float) -> RoundLine:
    """A round of the reference: the usual tool mixes compute and exchange, so that only its ends are seen."""
    round_s = max(compute_s) * 1.06
    stamps = tuple(ParticipantStamps(compute_end_s=round_s, close_s=round_s) for _ in compute_s)
    return _round(round_s, tuple(range(len(stamps))), tuple(samples), stamps, losses=(loss,) * len(stamps))


def star_round(
    compute_s: Sequence[float], *, samples: Sequence[int], loss: float, links: Sequence[Link], update_bytes: int
) -> RoundLine:
    """A round of the star: the coordinator reads one update after the other, combines, and sends one after the other.

    A participant's clock starts when GO reaches it, half a round trip after the coordinator's.
    """
    trips_s = [link.round_trip_s for link in links]
    prepare_s = load_s = update_bytes / MEMORY_BYTES_PER_S + 0.0003
    ready_s = [own + trip for own, trip in zip(compute_s, trips_s, strict=True)]
    first_in_s, last_in_s = [0.0] * len(links), [0.0] * len(links)
    free_s = 0.0
    for index in sorted(range(len(links)), key=ready_s.__getitem__):
        first_in_s[index] = max(ready_s[index] + prepare_s, free_s)
        free_s = last_in_s[index] = first_in_s[index] + update_bytes / links[index].up_bytes_per_s + 0.0001
    combine_start_s = free_s + 0.0001
    combine_end_s = free_s = combine_start_s + update_bytes / MEMORY_BYTES_PER_S + 0.0002
    seen, own_stamps = [], []
    for index, link in enumerate(links):
        first_out_s, free_s = free_s, free_s + update_bytes / link.down_bytes_per_s + 0.0001
        hold_s = free_s + load_s
        seen.append(
            CoordinatorStamps(
                ready_s=ready_s[index],
                first_in_s=first_in_s[index],
                last_in_s=last_in_s[index],
                first_out_s=first_out_s,
                last_out_s=free_s,
                held_s=hold_s + trips_s[index],
            )
        )
        own_stamps.append((first_out_s, free_s, hold_s))
    round_s = max(one.held_s for one in seen)
    stamps = tuple(
        ParticipantStamps(
            compute_end_s=compute_s[index],
            prepare_end_s=compute_s[index] + prepare_s,
            send_end_s=max(compute_s[index] + prepare_s, last_in_s[index] - trips_s[index]),
            return_first_s=first_s,
            return_last_s=last_s,
            hold_s=hold_s,
            close_s=round_s,
        )
        for index, (first_s, last_s, hold_s) in enumerate(own_stamps)
    )
    return _round(
        round_s,
        tuple(range(len(links))),
        tuple(samples),
        stamps,
        seen=tuple(seen),
        combine=(combine_start_s, combine_end_s),
        losses=(loss,) * len(links),
        moved_bytes=update_bytes,
    )


def _round(
    round_s: float,
    participants: tuple[int, ...],
    samples: tuple[int, ...],
    stamps: tuple[ParticipantStamps, ...],
    *,
    losses: tuple[float, ...],
    seen: tuple[CoordinatorStamps, ...] = (),
    combine: tuple[float, float] | None = None,
    moved_bytes: int = 0,
) -> RoundLine:
    last_ready_s = max((one.ready_s for one in seen), default=None)
    start_s, end_s = combine or (None, None)
    attributions = [
        attribute(own, one, last_ready_s=last_ready_s, combine_start_s=start_s, combine_end_s=end_s)
        for own, one in zip(stamps, seen or (None,) * len(stamps), strict=True)
    ]
    return RoundLine(
        index=0,
        warmup=False,
        started_at="",
        round_s=round_s,
        participants=participants,
        samples=samples,
        stamps=stamps,
        coordinator=seen,
        combine_start_s=start_s,
        combine_end_s=end_s,
        segments=tuple(one.segments for one in attributions),
        overlap_s=tuple(one.overlap_s for one in attributions),
        clock_offset_s=(0.0,) * len(seen),
        clock_uncertainty_s=(0.0001,) * len(seen),
        sent_bytes=(moved_bytes,) * len(seen),
        received_bytes=(moved_bytes,) * len(seen),
        train_loss=losses,
        foreign_share=(0.01,) * len(participants),
    )
