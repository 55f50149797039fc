"""Every instant of a round has one label, and the labels add up to the round."""

import math
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.timing.model import PHASES, CoordinatorStamps, ParticipantStamps, Segment
from pytest_mixgpu.timing.phases import attribute, phase_totals


def _own(**changes: float | None) -> ParticipantStamps:
    stamps: dict[str, float | None] = {
        "compute_end_s": 10.0,
        "prepare_end_s": 11.0,
        "send_end_s": 12.0,
        "return_first_s": 18.0,
        "return_last_s": 19.0,
        "hold_s": 20.0,
        "close_s": 22.0,
    }
    return ParticipantStamps(**(stamps | changes))  # type: ignore[arg-type]


def _seen(**changes: float) -> CoordinatorStamps:
    stamps = {
        "ready_s": 10.0,
        "first_in_s": 11.0,
        "last_in_s": 13.0,
        "first_out_s": 18.0,
        "last_out_s": 19.0,
        "held_s": 20.0,
    }
    return CoordinatorStamps(**(stamps | changes))


def test_a_round_is_labelled_from_go_to_close() -> None:
    """Compute, prepare, send, wait for the slowest, queue, combine, queue, return, wait for the others."""
    result = attribute(_own(), _seen(), last_ready_s=15.0, combine_start_s=16.0, combine_end_s=17.0)

    assert (
        Segment("compute", 0.0, 10.0),
        Segment("prepare", 10.0, 1.0),
        Segment("send", 11.0, 2.0),
        Segment("wait", 13.0, 2.0),
        Segment("queue", 15.0, 1.0),
        Segment("combine", 16.0, 1.0),
        Segment("queue", 17.0, 1.0),
        Segment("return", 18.0, 2.0),
        Segment("wait", 20.0, 2.0),
    ) == result.segments
    assert 0.0 == result.overlap_s


def test_the_coordinators_clock_may_stand_anywhere() -> None:
    """Only durations since READY count: a coordinator whose stamps are all shifted gives the same phases."""
    shifted = _seen(ready_s=7.0, first_in_s=8.0, last_in_s=10.0, first_out_s=15.0, last_out_s=16.0, held_s=17.0)

    expected = attribute(_own(), _seen(), last_ready_s=15.0, combine_start_s=16.0, combine_end_s=17.0)
    actual = attribute(_own(), shifted, last_ready_s=12.0, combine_start_s=13.0, combine_end_s=14.0)

    assert expected == actual


def test_what_overlaps_is_counted_once_and_stated() -> None:
    """A coordinator that read while the update was still being prepared: prepare wins, the overlap stands beside."""
    result = attribute(_own(), _seen(first_in_s=10.25), last_ready_s=10.0, combine_start_s=16.0, combine_end_s=17.0)

    assert 0.75 == result.overlap_s
    assert 1.0 == phase_totals(result.segments)["prepare"]
    assert 2.0 == phase_totals(result.segments)["send"]


def test_time_before_the_coordinator_reads_is_queue() -> None:
    """A coordinator that reads from another participant first makes this one queue."""
    result = attribute(_own(), _seen(first_in_s=12.5), last_ready_s=10.0, combine_start_s=16.0, combine_end_s=17.0)

    assert Segment("queue", 11.0, 1.5) in result.segments


def test_without_an_exchange_all_but_compute_is_wait() -> None:
    """A run without a coordinator has compute and, where others run beside, the wait for them."""
    own = ParticipantStamps(compute_end_s=3.0, close_s=4.0)

    assert (Segment("compute", 0.0, 3.0), Segment("wait", 3.0, 1.0)) == attribute(own, None).segments


def test_half_an_exchange_is_refused() -> None:
    """Stamps of the coordinator without its combine cannot be attributed."""
    with pytest.raises(ValueError, match="one of them is missing"):
        attribute(_own(), _seen(), last_ready_s=15.0)


def test_totals_name_all_phases() -> None:
    """A phase that did not occur is 0, not absent."""
    totals = phase_totals([Segment("compute", 0.0, 1.0), Segment("wait", 1.0, 0.5), Segment("wait", 2.0, 0.5)])

    assert PHASES == tuple(totals)
    assert {"compute": 1.0, "wait": 1.0} == {phase: total for phase, total in totals.items() if total}


@given(
    own=st.lists(st.floats(0, 100), min_size=7, max_size=7).map(sorted),
    seen=st.lists(st.floats(0, 200), min_size=9, max_size=9).map(sorted),
)
def test_phases_always_add_up(own: list[float], seen: list[float]) -> None:
    """Whatever the stamps, segments are contiguous, positive, and end where the round ends."""
    stamps = ParticipantStamps(**dict(zip(ParticipantStamps.__struct_fields__, own, strict=True)))
    ready, first_in, last_in, last_ready, start, end, first_out, last_out, held = seen
    coordinator = CoordinatorStamps(
        ready_s=ready,
        first_in_s=first_in,
        last_in_s=last_in,
        first_out_s=first_out,
        last_out_s=last_out,
        held_s=held,
    )

    result = attribute(stamps, coordinator, last_ready_s=last_ready, combine_start_s=start, combine_end_s=end)

    assert math.isclose(stamps.close_s, math.fsum(s.duration_s for s in result.segments), rel_tol=1e-9, abs_tol=1e-9)
    assert all(segment.duration_s > 0 for segment in result.segments)
    assert all(a.phase != b.phase for a, b in pairwise(result.segments))
    assert all(
        math.isclose(a.start_s + a.duration_s, b.start_s, rel_tol=1e-9, abs_tol=1e-9)
        for a, b in pairwise(result.segments)
    )
    assert 0 <= result.overlap_s <= stamps.close_s
