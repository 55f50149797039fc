"""`trace.json`: events as the format defines them, that Perfetto can nest, and as long as the record says."""

import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.records.model import RoundLine, RunRecord, Span
from pytest_mixgpu.report.exports.trace import stride, trace_pieces, write_trace
from pytest_mixgpu.report.exports.trace_events import Track
from pytest_mixgpu.report.exports.trace_time import (
    LONGEST_S,
    Stretch,
    moment_ns,
    nanoseconds,
    start_of_participant,
    stretch,
)
from pytest_mixgpu.timing.model import PHASES, CoordinatorStamps, ParticipantStamps, Segment
from pytest_mixgpu.timing.phases import phase_totals
from tests.report.made_material import HOSTILE_TEXTS, hostile_material, material
from tests.report.made_verdicts import speedup
from tests.sample_doctors import as_aborted, as_failed
from tests.samples import as_record, make_run

Event = dict[str, Any]


def trace_of(runs: Sequence[RunRecord], **more: Any) -> dict[str, Any]:
    """Return the whole trace of these runs, with times as exact numbers."""
    text = "".join(trace_pieces(material([speedup()], runs), **more))
    parsed: dict[str, Any] = json.loads(text, parse_float=Decimal)
    return parsed


def check_event(event: Event) -> None:
    """Refuse what the trace event format does not have."""
    assert event["ph"] in {"X", "M", "i"}
    assert isinstance(event["name"], str)
    assert {type(event["pid"]), type(event["tid"])} == {int}
    assert event["tid"] > event["pid"] > 0
    assert isinstance(event["args"], dict)
    assert (
        set(event) - {"ph", "name", "pid", "tid", "args"}
        == {"X": {"ts", "dur"}, "M": set(), "i": {"ts", "s"}}[event["ph"]]
    )
    if event["ph"] == "X":
        assert event["dur"] >= 0
    if event["ph"] != "M":
        assert event["ts"] >= 0
    if event["ph"] == "M":
        argument = {"process_labels": "labels", "process_sort_index": "sort_index", "thread_sort_index": "sort_index"}
        assert list(event["args"]) == [argument.get(event["name"], "name")]


def check_nesting(events: Sequence[Event]) -> None:
    """Refuse slices of one track that cross: Perfetto drops them."""
    tracks: dict[tuple[int, int], list[Event]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    for slices in tracks.values():
        open_until: list[Decimal] = []
        for event in sorted(slices, key=lambda one: (one["ts"], -one["dur"])):
            while open_until and open_until[-1] <= event["ts"]:
                open_until.pop()
            end = event["ts"] + event["dur"]
            assert not open_until or end <= open_until[-1], f"{event} crosses what ends at {open_until[-1]}"
            open_until.append(end)


def check(trace: dict[str, Any]) -> list[Event]:
    events: list[Event] = trace["traceEvents"]
    for event in events:
        check_event(event)
    check_nesting(events)
    return events


def names(events: Sequence[Event], kind: str) -> dict[int, str]:
    """Return what tracks or processes are called."""
    key = "pid" if kind == "process_name" else "tid"
    return {event[key]: event["args"]["name"] for event in events if event["name"] == kind}


def test_a_process_a_run_and_a_track_a_participant() -> None:
    """All are named, and no number is used twice."""
    runs = [as_record(make_run(role="fleet", rehearsal=False)), as_record(make_run(role="baseline"))]
    events = check(trace_of(runs))
    processes, threads = names(events, "process_name"), names(events, "thread_name")

    assert ["fleet #0 on a40:16", "baseline before #0 on cpu:2"] == list(processes.values())
    assert 16 + 2 + 2 + 2 == len(threads)
    assert {event["tid"] for event in events} == set(threads)
    assert "coordinator at gpu-host-1" in threads.values()
    assert "rounds (no coordinator)" in threads.values()
    assert 1 == sum(name.startswith("participant 15: a40 (GPU-") for name in threads.values())


def test_every_phase_of_every_round_is_drawn_as_long_as_it_was() -> None:
    """The sum of each phase on each track is that of the record, to the nanosecond that is written."""
    record = as_record(make_run(role="fleet"))
    events = check(trace_of([record]))
    threads = names(events, "thread_name")
    for place in range(2):
        tid = next(tid for tid, name in threads.items() if name.startswith(f"participant {place}:"))
        drawn: Counter[str] = Counter()
        for event in events:
            if event["ph"] == "X" and event["tid"] == tid and event["name"] in PHASES:
                drawn[event["name"]] += event["dur"]
        segments = [segment for line in record.rounds for segment in line.segments[place]]
        for phase, total_s in phase_totals(segments).items():
            assert float(drawn[phase]) == pytest.approx(total_s * 1e6, abs=0.002 * len(segments))


def test_a_participant_is_placed_by_the_messages_of_its_round() -> None:
    """Half a round trip after GO in the made-up rounds; the truth is within the uncertainty, which is told."""
    record = as_record(make_run(role="fleet"))
    assert record.start is not None
    half_s = record.start.links[0].round_trip_s / 2
    line = record.rounds[0]
    offset = start_of_participant(line, 0)

    assert abs(offset.offset_s - half_s) <= offset.uncertainty_s
    event = next(event for event in trace_of([record])["traceEvents"] if event["name"] == "compute")
    assert float(event["args"]["uncertainty_us"]) == pytest.approx(offset.uncertainty_s * 1e6, abs=0.001)


def test_without_messages_nothing_is_known_of_a_clock() -> None:
    """A run of the usual tool has no coordinator; a device that works alone has no other clock."""
    together, alone = as_record(make_run(role="reference")), as_record(make_run(role="baseline"))
    unsure = [
        {event["args"]["uncertainty_us"] for event in trace_of([record])["traceEvents"] if event["name"] == "compute"}
        for record in (together, alone)
    ]

    assert [{None}, {0}] == unsure


@given(
    start_s=st.floats(0, 0.01),
    trips_s=st.lists(st.floats(0, 0.01), min_size=4, max_size=4),
    steps_s=st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
def test_the_estimated_start_is_within_its_uncertainty(
    start_s: float, trips_s: list[float], steps_s: list[float]
) -> None:
    """Whatever the messages took, the true start of a participant's clock is no further away than is said."""
    compute_end_s = steps_s[0]
    first_out_s = start_s + compute_end_s + trips_s[1] + steps_s[1]
    return_first_s = first_out_s + trips_s[2] - start_s
    hold_s = return_first_s + steps_s[2]
    held_s = start_s + hold_s + trips_s[3]
    line = _one_round(
        ParticipantStamps(compute_end_s=compute_end_s, return_first_s=return_first_s, hold_s=hold_s, close_s=hold_s),
        CoordinatorStamps(
            ready_s=start_s + compute_end_s + trips_s[1],
            first_in_s=0.0,
            last_in_s=0.0,
            first_out_s=first_out_s,
            last_out_s=first_out_s,
            held_s=held_s,
        ),
    )
    offset = start_of_participant(line, 0)

    assert abs(offset.offset_s - start_s) <= offset.uncertainty_s + 1e-9


def _one_round(own: ParticipantStamps, seen: CoordinatorStamps) -> RoundLine:
    line = make_run(role="fleet").rounds[0]
    return replace(line, participants=(0,), stamps=(own,), coordinator=(seen,))


def test_rounds_begin_when_the_record_says() -> None:
    """To the millisecond that the host's clock has, counted from the lease."""
    record = as_record(make_run(role="fleet"))
    events = check(trace_of([record]))
    threads = names(events, "thread_name")
    rounds = [
        one
        for one in events
        if one["ph"] == "X" and threads[one["tid"]].startswith("coordinator") and one["name"] != "combine"
    ]
    begun = [moment_ns(line.started_at) for line in record.rounds]

    assert [one["name"] for one in rounds] == [f"round {line.index}" for line in record.rounds]
    for before, after in zip(zip(rounds, begun, strict=True), [*zip(rounds, begun, strict=True)][1:], strict=False):
        assert before[1] is not None
        assert after[1] is not None
        assert float(after[0]["ts"] - before[0]["ts"]) == pytest.approx((after[1] - before[1]) / 1000, abs=1000)


def test_runs_follow_each_other_whatever_time_lay_between() -> None:
    """Nobody scrolls through the days between two sessions."""
    first = as_record(make_run(role="fleet"))
    header = replace(first.header, registered_at="2031-01-01T00:00:00+00:00")
    later = replace(first, header=header)
    events = check(trace_of([first, later]))
    wholes = [event for event in events if event["ph"] == "X" and event["name"] == first.id]

    assert 2 == len(wholes)
    assert 1_000_000 == wholes[1]["ts"] - wholes[0]["ts"] - wholes[0]["dur"]


def test_what_ended_early_is_drawn_as_far_as_it_came() -> None:
    """A failed run has its fault, an aborted one no spans."""
    failed, aborted = (
        as_failed(make_run(role="fleet"), after_rounds=2),
        as_aborted(make_run(role="fleet"), after_rounds=3),
    )
    events = check(trace_of([as_record(failed), as_record(aborted)]))

    assert ["participant-1 was killed by SIGKILL"] == [
        one["args"]["message"] for one in events if one["name"] == "fault"
    ]
    assert {"failed", "aborted"} == {one["args"]["status"] for one in events if "status" in one["args"]}


def test_a_run_without_a_round_has_its_tracks() -> None:
    """It was registered."""
    run = make_run(role="fleet")._replace(start=None, rounds=(), evaluations=(), outcome=None)

    assert 1 == sum(event["ph"] == "X" for event in check(trace_of([as_record(run)])))


def test_verdicts_stand_beside_with_their_qualifiers() -> None:
    """A trace that is passed on says what was judged."""
    about = trace_of([])["otherData"]["verdicts"][0]

    assert ("PASS", ["rehearsal"], ["preliminary", "unanchored"]) == (
        about["word"],
        about["qualifiers"],
        about["notes"],
    )
    assert (1.8754, 1.4, "x") == (float(about["value"]), float(about["bound"]), about["unit"])


@pytest.mark.parametrize("max_events", [1, 40, 10_000])
def test_a_long_record_is_thinned_evenly_and_says_so(max_events: int) -> None:
    """What is not drawn stands as a stretch of its own, and first and last round are always drawn."""
    run = make_run(role="fleet")
    rounds = tuple(replace(run.rounds[1], index=index) for index in range(100))
    record = replace(as_record(run), rounds=rounds)
    trace = trace_of([record], max_events=max_events)
    events = check(trace)
    every = stride([record], max_events=max_events)
    drawn = [
        one["args"]["round"]
        for one in events
        if one["ph"] == "X" and one["name"] == "compute" and "participant 0" in names(events, "thread_name")[one["tid"]]
    ]

    assert sorted({*range(0, 100, every), 99}) == drawn
    assert len(events) <= max_events + 100
    assert ("every round" == trace["otherData"]["drawn"]) == (every == 1)
    assert any("phases not drawn" in event["name"] for event in events) == (every > 1)


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_stays_text(text: str) -> None:
    """It can be printed, and adds no event."""
    tame, hostile = trace_of([as_record(as_failed(make_run(role="fleet"), after_rounds=3))]), hostile_material(text)
    pieces = "".join(trace_pieces(hostile))

    assert pieces.isascii()
    assert [line for line in pieces.split("\n") if not line.isprintable()] == []
    assert not {"<", "::", "##"} & {mark for mark in ("<", "::", "##") if mark in pieces}
    assert len(check(json.loads(pieces, parse_float=Decimal))) == len(tame["traceEvents"])


impossible = st.sampled_from([-1.0, 1e300, float("inf"), float("nan"), -0.0, 5e-324, LONGEST_S * 2, 1e-12])


@settings(deadline=None)
@given(st.data())
def test_impossible_times_are_left_out_and_counted(data: st.DataObject) -> None:
    """Whatever a record states, what is drawn is valid and nested; what could not be drawn is said."""
    run = make_run(role="fleet")
    assert run.outcome is not None
    times = impossible | st.floats(0, 10)
    line = run.rounds[0]
    segments = tuple(
        tuple(Segment(one.phase, data.draw(times), data.draw(times)) for one in each) for each in line.segments
    )
    stamps = tuple(replace(one, close_s=data.draw(times), compute_end_s=data.draw(times)) for one in line.stamps)
    seen = tuple(replace(one, ready_s=data.draw(times), held_s=data.draw(times)) for one in line.coordinator)
    line = replace(
        line,
        segments=segments,
        stamps=stamps,
        coordinator=seen,
        round_s=data.draw(times),
        combine_start_s=data.draw(times),
        started_at=data.draw(st.sampled_from(["", "never", "9999-12-31T23:59:59+00:00", "0001-01-01T00:00:00+00:00"])),
    )
    spans = tuple(Span(one.name, data.draw(times), data.draw(times)) for one in run.outcome.spans)
    outcome = replace(run.outcome, spans=spans, leased_s=data.draw(times))
    record = replace(as_record(run), rounds=(line, run.rounds[1]), outcome=outcome)

    check(trace_of([record, record]))


@given(st.floats(allow_nan=True, allow_infinity=True), st.floats(allow_nan=True, allow_infinity=True))
def test_a_stretch_is_possible_or_none(start_s: float, duration_s: float) -> None:
    """No number of a record makes an integer that is not one."""
    found = stretch(start_s, duration_s)

    assert found is None or 0 <= found.start_ns <= found.end_ns <= LONGEST_S * 1e9
    assert nanoseconds(float("nan")) is None


def test_what_is_left_out_is_said(tmp_path: Path) -> None:
    """A reader must not take a gap for rest."""
    record = as_record(make_run(role="fleet"))
    broken = replace(record, rounds=(replace(record.rounds[0], round_s=-1.0), *record.rounds[1:]))
    write_trace(material([], [broken]), tmp_path / "trace.json")
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]

    assert ["1 that cannot be: negative, or longer than 31622400 s"] == [
        one["args"]["left_out"] for one in events if "left_out" in one["args"]
    ]


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans()), max_size=20))
def test_slices_of_a_track_touch_or_nest(drawn: list[tuple[int, int, bool]]) -> None:
    """Whatever is asked of a track, Perfetto finds nothing to drop."""
    track = Track(1, 2)
    lines = [
        track.inner("compute", Stretch(start_ns=start, end_ns=start + length), "{}")
        if is_inner
        else track.slice("round", Stretch(start_ns=start, end_ns=start + length), {})
        for start, length, is_inner in [(0, 10, False), *drawn]
    ]

    check({"traceEvents": [json.loads(line, parse_float=Decimal) for line in lines]})
