"""Is the time of a record possible: from moments, spans and rounds to what contradicts what. Judges no bound.

A round that was made longer or shorter afterwards still began when it began, and the run was leased as long as it was.
"""

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise

from pytest_mixgpu.marks.git import parse_moment
from pytest_mixgpu.marks.tolerances import (
    BETWEEN_ROUNDS_S,
    BETWEEN_ROUNDS_SHARE,
    BETWEEN_SPANS_S,
    BETWEEN_SPANS_SHARE,
    CLOCK_RATE,
    LEASING_S,
    STAMPING_S,
    WALL_S,
)
from pytest_mixgpu.records.model import Outcome, RunRecord


def moment_faults(run: RunRecord) -> Iterator[str]:
    """Yield where rounds, spans, lease and moments of a completed run do not agree."""
    if run.outcome is None:
        return
    yield from _span_faults(run, run.outcome)
    yield from _lease_faults(run, run.outcome)
    yield from _round_faults(run, run.outcome)
    if run.outcome.moved_bytes is not None and run.outcome.moved_bytes < 0:
        yield f"moved {run.outcome.moved_bytes} bytes"


def overlaps(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return which runs of one session held one device at the same time: a session runs one after the other."""
    held: dict[tuple[str, str], list[tuple[float, float, str]]] = {}
    for run in runs:
        begun = parse_moment(run.header.registered_at)
        ended = None if run.outcome is None else parse_moment(run.outcome.finished_at)
        if begun is None or ended is None:
            continue
        for device in run.devices:
            held.setdefault((run.header.session, device.id), []).append((begun.timestamp(), ended.timestamp(), run.id))
    found: dict[str, None] = {}
    for (_, device_id), times in held.items():
        for (_, ended_s, one), (begun_s, _, two) in pairwise(sorted(times)):
            if begun_s < ended_s - WALL_S:
                text = f"runs {one} and {two} of one session held {device_id} at the same time, for"
                found[f"{text} {ended_s - begun_s:.1f} s"] = None
    return tuple(found)


def _span_faults(run: RunRecord, outcome: Outcome) -> Iterator[str]:
    rounds_s = math.fsum(line.round_s for line in run.rounds)
    training_s = math.fsum(span.duration_s for span in outcome.spans if span.name == "training")
    between_s = BETWEEN_ROUNDS_S * len(run.rounds) + BETWEEN_ROUNDS_SHARE * training_s
    if rounds_s > training_s * (1 + CLOCK_RATE) + STAMPING_S or rounds_s < training_s - between_s:
        yield f"rounds add up to {rounds_s:.3f} s, training lasted {training_s:.3f} s"
    for before, after in pairwise(sorted(outcome.spans, key=lambda span: span.start_s)):
        if after.start_s < before.start_s + before.duration_s - STAMPING_S:
            yield f"spans {before.name} and {after.name} overlap"
    end_s = max((span.start_s + span.duration_s for span in outcome.spans), default=0.0)
    if end_s > outcome.leased_s + STAMPING_S:
        yield f"spans end {end_s:.3f} s after the lease, which was held for {outcome.leased_s:.3f} s"
    spans_s = math.fsum(span.duration_s for span in outcome.spans)
    if spans_s < outcome.leased_s * (1 - BETWEEN_SPANS_SHARE) - BETWEEN_SPANS_S:
        yield f"spans add up to {spans_s:.3f} s, the devices were leased for {outcome.leased_s:.3f} s"


def _lease_faults(run: RunRecord, outcome: Outcome) -> Iterator[str]:
    begun, ended = parse_moment(run.header.registered_at), parse_moment(outcome.finished_at)
    if begun is None or ended is None or ended < begun:
        yield f"finished at {outcome.finished_at!r}, was registered at {run.header.registered_at!r}"
        return
    passed_s, slack_s = (ended - begun).total_seconds(), CLOCK_RATE * outcome.leased_s + LEASING_S
    # Processes may be preloaded under the lease before the first run of a group is registered: the first span.
    before_s = math.fsum(span.duration_s for span in outcome.spans if span.name == "lease")
    if not outcome.leased_s - before_s - slack_s <= passed_s <= outcome.leased_s + slack_s:
        yield (
            f"{passed_s:.3f} s passed from its registration to its finish, its devices were leased for "
            f"{outcome.leased_s:.3f} s"
        )


def _round_faults(run: RunRecord, outcome: Outcome) -> Iterator[str]:
    moments = [parse_moment(line.started_at) for line in run.rounds]
    begun, ended = parse_moment(run.header.registered_at), parse_moment(outcome.finished_at)
    unknown = next((line for line, moment in zip(run.rounds, moments, strict=True) if moment is None), None)
    if unknown is not None:
        yield f"round {unknown.index} started at {unknown.started_at!r}: no moment"
        return
    starts = [(line, moment.timestamp()) for line, moment in zip(run.rounds, moments, strict=True) if moment]
    for (line, start_s), (after, next_s) in pairwise(starts):
        if next_s - start_s < line.round_s * (1 - CLOCK_RATE) - WALL_S:
            yield (
                f"round {after.index} started {next_s - start_s:.3f} s after round {line.index}, which is said to have "
                f"lasted {line.round_s:.3f} s"
            )
    if not starts or begun is None or ended is None:
        return
    first, (last, last_s) = starts[0][1], starts[-1]
    if first < begun.timestamp() - WALL_S or last_s + last.round_s > ended.timestamp() + WALL_S:
        yield (
            f"rounds went on from {run.rounds[0].started_at} to {last.round_s:.3f} s after {last.started_at}, the run "
            f"from {run.header.registered_at} to {outcome.finished_at}"
        )
