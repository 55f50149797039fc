"""Where lanes lie on the coordinator's clock: the truth lies in the bounds; who was ready last is waited for."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.marks.alignment import begun_on_coordinator, round_starts_s, waited_for
from pytest_mixgpu.timing.model import CoordinatorStamps, ParticipantStamps
from tests.samples import as_record, make_run

DELAYS = st.lists(st.floats(min_value=0.0, max_value=0.5), min_size=4, max_size=4)


@given(
    true_s=st.floats(min_value=0.0, max_value=0.5), delays_s=DELAYS, compute_s=st.floats(min_value=0.01, max_value=9.0)
)
def test_a_round_began_within_its_bounds(true_s: float, delays_s: list[float], compute_s: float) -> None:
    """However long each message took, its bounds hold the moment at which GO was heard."""
    ready, back, load, held = delays_s
    out_s = true_s + compute_s + ready + 0.1
    own = ParticipantStamps(
        compute_end_s=compute_s,
        return_first_s=out_s + back - true_s,
        hold_s=out_s + back + load - true_s,
        close_s=out_s + back + load + held - true_s,
    )
    seen = CoordinatorStamps(
        ready_s=true_s + compute_s + ready,
        first_in_s=out_s,
        last_in_s=out_s,
        first_out_s=out_s,
        last_out_s=out_s + back,
        held_s=out_s + back + load + held,
    )
    found = begun_on_coordinator(own, seen)

    assert found is not None
    assert abs(found.offset_s - true_s) <= found.uncertainty_s + 1e-9


def test_a_round_with_a_missing_stamp_is_not_aligned() -> None:
    """Nothing is guessed."""
    line = as_record(make_run()).rounds[0]
    own = replace(line.stamps[0], hold_s=None)

    assert begun_on_coordinator(own, line.coordinator[0]) is None


def test_the_last_to_be_ready_is_waited_for() -> None:
    """By how much is counted from the one before it."""
    line = as_record(make_run(rehearsal=False)).rounds[0]
    stamps = [replace(one, ready_s=1.0 + 0.01 * place) for place, one in enumerate(line.coordinator)]
    stamps[3] = replace(stamps[3], ready_s=2.0)

    found = waited_for(replace(line, coordinator=tuple(stamps)))

    assert found is not None
    assert found[0] == 3
    assert found[1] == pytest.approx(2.0 - 1.15)


def test_nobody_is_waited_for_without_a_coordinator_or_alone() -> None:
    """A baseline's devices work one after the other."""
    alone = as_record(make_run(role="baseline", leg="with-exchange")).rounds[0]

    assert waited_for(as_record(make_run(role="baseline")).rounds[0]) is None
    assert (len(alone.coordinator), waited_for(alone)) == (1, None)


def test_rounds_start_when_their_moments_say() -> None:
    """Counted from the first; a moment that nobody can read is no start."""
    record = as_record(make_run())
    starts = round_starts_s(record)
    broken = replace(record, rounds=(replace(record.rounds[0], started_at="soon"), *record.rounds[1:]))

    assert starts is not None
    assert starts[0] == 0.0
    assert starts == sorted(starts)
    assert starts[1] == pytest.approx(record.rounds[0].round_s, abs=0.2)
    assert round_starts_s(broken) is None
