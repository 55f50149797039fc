"""Is one record possible: from a record to what in it contradicts itself. One sentence a fault. Judges no bound.

A record that was made up or edited, and sealed again, agrees with its ledger. What it rarely does is agree with
itself: phases with stamps, rounds with the time from lease to release, counts with bits, work with shares.
"""

import math
from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.copies import copies
from pytest_mixgpu.marks.moments import moment_faults, overlaps
from pytest_mixgpu.marks.seen_faults import line_seen_faults, watch_faults
from pytest_mixgpu.marks.tolerances import BYTES_A_VALUE, CLOCK_RATE, ROUNDING_S, STARVED_SHARE, WAKING_S
from pytest_mixgpu.records.bits import decode_bits
from pytest_mixgpu.records.model import Evaluation, RoundLine, RunRecord
from pytest_mixgpu.timing.model import CoordinatorStamps, ParticipantStamps, Segment
from pytest_mixgpu.timing.phases import attribute


def contradictions(run: RunRecord) -> tuple[str, ...]:
    """Return what shows that a completed run cannot have happened as its record says; empty if nothing does."""
    return (*work_faults(run), *round_faults(run), *time_faults(run), *score_faults(run))


def work_faults(run: RunRecord) -> tuple[str, ...]:
    """Return where rounds were not the work that the settings fix."""
    return _of(run, (*_schedule_faults(run), *_worker_faults(run), *_course_faults(run)))


def round_faults(run: RunRecord) -> tuple[str, ...]:
    """Return where rounds do not agree with their stamps and phases."""
    faults = (f"round {line.index}: {fault}" for line in run.rounds for fault in _line_faults(run, line))
    return _of(run, (*faults, *watch_faults(run)))


def time_faults(run: RunRecord) -> tuple[str, ...]:
    """Return where rounds, spans and lease do not agree."""
    return _of(run, moment_faults(run))


def score_faults(run: RunRecord) -> tuple[str, ...]:
    """Return where a score does not agree with its own bits, the data and the rounds."""
    return _of(run, (*_duration_faults(run), *_test_faults(run)))


def _of(run: RunRecord, faults: Iterable[str]) -> tuple[str, ...]:
    return tuple(f"run {run.id}: {fault}" for fault in faults)


def starved_rounds(run: RunRecord) -> tuple[str, ...]:
    """Return where a measured round is believed only because others took a core, a sentence each.

    Its length is then known no better than that, whatever share a plan puts up with: it is disturbed.
    """
    return tuple(
        f"round {line.index} of {run.header.name} (run {run.id}): participant {participant} closed after "
        f"{own.close_s:.4f} s, the round is said to have lasted {line.round_s:.4f} s; others are said to have taken "
        "its core meanwhile"
        for line in run.measured_rounds
        for participant, own in zip(line.participants, line.stamps, strict=True)
        if abs(own.close_s - line.round_s) > _expected_s(run, line)
    )


def impossible_together(runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return which of several records cannot all be true: copies of one run, and runs on one device at one time."""
    return (*copies(runs), *overlaps(runs))


def same_weights(runs: Sequence[RunRecord]) -> tuple[tuple[str, RunRecord], ...]:
    """Return which runs of one role ended with the weights of another under another seed, each with its run."""
    found: list[tuple[str, RunRecord]] = []
    seen: dict[tuple[str, str, str], RunRecord] = {}
    for run in runs:
        if run.test is None:
            continue
        other = seen.setdefault((run.header.name, run.header.leg, run.test.weights_digest), run)
        if other.header.seed != run.header.seed:
            text = f"runs {other.id} and {run.id} have different seeds and the same weights: one of them is a copy"
            found.append((text, run))
    return tuple(found)


def _schedule_faults(run: RunRecord) -> Iterator[str]:
    settings, solo = run.header.settings, run.header.settings.exchange == "none"
    times = len(run.header.pool) if solo else 1
    measured, warmups = len(run.measured_rounds), len(run.rounds) - len(run.measured_rounds) - run.num_instrumented
    if measured != settings.rounds * times or warmups != settings.warmup_rounds * times:
        yield (
            f"holds {measured} measured rounds and {warmups} warm-ups, expected {settings.rounds * times} and "
            f"{settings.warmup_rounds * times}"
        )
    if run.start is None:
        yield "completed without a start"
    if run.header.job:
        yield from _instrument_faults(run)
    yield from _order_faults(run, solo=solo)
    if settings.split == "equal" and max(settings.shares) - min(settings.shares) > 1:
        yield f"was split {settings.shares}, its settings call that equal"
    if sum(settings.shares) != settings.round_steps:
        yield f"shares {settings.shares} do not add up to the {settings.round_steps} steps of a round"
    expected = settings.round_steps * settings.batch_size
    for line in run.rounds:
        if sum(line.samples) != expected:
            yield f"round {line.index} processed {sum(line.samples)} samples, expected {expected}"
        shares = tuple(steps * settings.batch_size for steps in settings.shares)
        if not solo and tuple(line.samples) != shares:
            yield f"round {line.index} was split {line.samples}, the settings split it {shares}"
        if not solo and line.participants != tuple(range(len(run.header.pool))):
            yield f"round {line.index} was run by participants {line.participants} of {len(run.header.pool)}"


def _instrument_faults(run: RunRecord) -> Iterator[str]:
    """Rounds with instruments come after all others, so that none of those is called one afterwards."""
    instrumented = [line.index for line in run.rounds if line.instrumented]
    last = _last_round(run)
    if instrumented and instrumented[0] < last:
        yield f"round {instrumented[0]} had instruments, and round {last} after it had none"


def _order_faults(run: RunRecord, *, solo: bool) -> Iterator[str]:
    """Whoever works has its warm-ups first, and as many rounds as all others."""
    settings = run.header.settings
    expected = [True] * settings.warmup_rounds + [False] * settings.rounds
    turns = [(place,) for place in range(len(run.header.pool))] if solo else [tuple(range(len(run.header.pool)))]
    for turn in turns:
        rounds = (line for line in run.rounds if not line.instrumented)
        kinds = [line.warmup for line in rounds if not solo or line.participants == turn]
        if solo and sorted(kinds, reverse=True) != expected:
            counts = f"{kinds.count(False)} measured rounds and {kinds.count(True)} warm-ups"
            yield f"participant {turn[0]} has {counts}, expected {settings.rounds} and {settings.warmup_rounds}"
        elif sorted(kinds, reverse=True) != kinds:
            yield "has a warm-up after a measured round: a round was called what it was not"


def _worker_faults(run: RunRecord) -> Iterator[str]:
    if run.start is None:
        return
    seen: dict[tuple[str, int], str] = {}
    for worker in run.start.workers:
        other = seen.setdefault((worker.host, worker.pid), worker.worker)
        if other != worker.worker:
            yield f"{other} and {worker.worker} were one process, {worker.pid} on {worker.host}"
    settings, start = run.header.settings, run.start
    least = BYTES_A_VALUE.get(settings.payload, 0) * start.num_parameters
    if settings.exchange == "star" and start.update_bytes < least:
        yield (
            f"an update has {start.update_bytes} bytes, {start.num_parameters} parameters in {settings.payload} have "
            f"{least}"
        )


def _course_faults(run: RunRecord) -> Iterator[str]:
    if run.faults:
        yield f"completed, and holds a fault of {run.faults[0].worker}: {run.faults[0].message}"
    if run.rounds and all(loss is None for line in run.rounds for loss in line.train_loss):
        yield "no round has a finite training loss: nothing was trained"


def _line_faults(run: RunRecord, line: RoundLine) -> Iterator[str]:
    if not (math.isfinite(line.round_s) and line.round_s > 0):
        yield f"lasted {line.round_s!r} s"
        return
    yield from _meter_faults(line)
    for place, (own, segments) in enumerate(zip(line.stamps, line.segments, strict=True)):
        who = f"participant {line.participants[place]}"
        total_s = math.fsum(segment.duration_s for segment in segments)
        if abs(total_s - own.close_s) > ROUNDING_S:
            yield f"phases of {who} add up to {total_s:.6f} s, its round lasted {own.close_s:.6f} s"
        if not _in_order(own):
            yield f"stamps of {who} are out of order"
        if abs(own.close_s - line.round_s) > _allowed_s(run, line):
            yield f"{who} closed after {own.close_s:.4f} s, the round is said to have lasted {line.round_s:.4f} s"
    if run.header.settings.exchange == "star":
        yield from _exchange_faults(run, line)


def _meter_faults(line: RoundLine) -> Iterator[str]:
    for share in line.foreign_share:
        if share is not None and not share >= 0:
            yield f"other processes are said to have taken {share!r} of a core"
    for cpu_s in line.compute_cpu_s:
        if cpu_s is not None and not cpu_s >= 0:
            yield f"a worker is said to have had {cpu_s!r} s of CPU time"
    yield from line_seen_faults(line)


def _exchange_faults(run: RunRecord, line: RoundLine) -> Iterator[str]:
    if len(line.coordinator) != len(line.participants) or line.combine_start_s is None or line.combine_end_s is None:
        yield "has an exchange and no stamps of the coordinator"
        return
    held_s = max(seen.held_s for seen in line.coordinator)
    if abs(held_s - line.round_s) > ROUNDING_S:
        yield f"ended when the last participant held the model, {held_s:.6f} s, not after {line.round_s:.6f} s"
    last_ready_s = max(seen.ready_s for seen in line.coordinator)
    pairs = zip(line.participants, line.stamps, line.coordinator, line.segments, strict=True)
    for participant, own, seen, segments in pairs:
        if not _seen_in_order(seen) or seen.ready_s < own.compute_end_s * (1 - CLOCK_RATE) - ROUNDING_S:
            yield f"the coordinator's stamps of participant {participant} are out of order"
        if own.hold_s is None:
            yield f"participant {participant} never held the new model"
            continue
        again = attribute(
            own,
            seen,
            last_ready_s=last_ready_s,
            combine_start_s=line.combine_start_s,
            combine_end_s=line.combine_end_s,
        )
        if not _same(segments, again.segments):
            yield f"phases of participant {participant} are not those that its stamps give"
    update_bytes = 0 if run.start is None else run.start.update_bytes
    sent = [*line.sent_bytes, *line.received_bytes]
    if update_bytes <= 0 or len(sent) != 2 * len(line.participants) or min(sent) < update_bytes:
        yield f"exchanged {min(sent, default=0)} bytes with a participant, an update has {update_bytes}"


def _duration_faults(run: RunRecord) -> Iterator[str]:
    for line in run.evaluations:
        if not (math.isfinite(line.duration_s) and line.duration_s >= 0):
            yield f"scoring the {line.split} split after round {line.after_round} lasted {line.duration_s!r} s"


def _test_faults(run: RunRecord) -> Iterator[str]:
    tests = [line for line in run.evaluations if line.split == "test"]
    if not run.header.settings.to_finish:
        if tests:
            yield "was scored on the test set without being trained to the finish"
        return
    if len(tests) != 1:
        yield f"opened the test set {len(tests)} times, expected once"
        return
    test = tests[0]
    counts = {} if run.start is None else run.start.data_counts
    if test.num_total != counts.get("test") or not 0 <= test.num_correct <= test.num_total:
        yield f"scored {test.num_correct} of {test.num_total}, the test set has {counts.get('test')}"
    fault = _bit_fault(test)
    if fault:
        yield fault
    # Rounds with instruments come after the score, and are no part of the schedule that it is about.
    last = _last_round(run)
    if run.rounds and test.after_round != last:
        yield f"was scored after round {test.after_round}, its last round is {last}"
    if not test.weights_digest:
        yield "was scored, and the digest of the weights that were scored is not stated"
    trained = sum(sum(line.samples) for line in run.rounds if not line.instrumented)
    if test.samples_seen != trained:
        yield f"was scored after {test.samples_seen} training samples, its rounds processed {trained}"


def _last_round(run: RunRecord) -> int:
    """The last round of the schedule; only a user's own job has others after it."""
    if not run.header.job:
        return run.rounds[-1].index if run.rounds else -1
    return max((line.index for line in run.rounds if not line.instrumented), default=-1)


def _bit_fault(test: Evaluation) -> str:
    """Say where a count does not agree with the bits per image that it was counted from; empty if it does."""
    try:
        bits = sum(decode_bits(test.correct_bits, test.num_total))
    except RecordError as error:
        return f"counts {test.num_correct} images right, its bits per image cannot be read: {error}"
    return "" if bits == test.num_correct else f"counts {test.num_correct} images right, its bits per image say {bits}"


def _allowed_s(run: RunRecord, line: RoundLine) -> float:
    """What a participant's round may differ by from the run's, on a core that others took by as much as they took."""
    taken = max((share for share in line.foreign_share if share is not None), default=0.0)
    if run.header.settings.exchange == "none" or taken <= STARVED_SHARE:
        return _expected_s(run, line)
    return _expected_s(run, line) + min(taken, 1.0) * line.round_s


def _expected_s(run: RunRecord, line: RoundLine) -> float:
    """What a participant's round may differ by from the run's on a core of its own.

    Without a coordinator the round is the longest of its participants'. With one, GO and CLOSE travel, and whoever
    waits for them may be woken late.
    """
    if run.header.settings.exchange == "none":
        return ROUNDING_S
    links = () if run.start is None else run.start.links
    way_s = max((link.round_trip_s for link in links), default=0.0)
    return WAKING_S + 5 * way_s + 0.02 * line.round_s


def _in_order(own: ParticipantStamps) -> bool:
    stamps = [
        0.0,
        own.compute_end_s,
        own.prepare_end_s,
        own.send_end_s,
        own.return_last_s,
        own.hold_s,
        own.close_s,
    ]
    known = [stamp for stamp in stamps if stamp is not None]
    return all(math.isfinite(stamp) for stamp in known) and all(a <= b + ROUNDING_S for a, b in pairwise(known))


def _seen_in_order(seen: CoordinatorStamps) -> bool:
    sending = [0.0, seen.ready_s, seen.first_in_s, seen.last_in_s, seen.first_out_s, seen.last_out_s]
    return all(a <= b + ROUNDING_S for a, b in pairwise(sending)) and seen.first_out_s <= seen.held_s + ROUNDING_S


def _same(found: Sequence[Segment], expected: Sequence[Segment]) -> bool:
    return len(found) == len(expected) and all(
        one.phase == two.phase
        and abs(one.start_s - two.start_s) <= ROUNDING_S
        and abs(one.duration_s - two.duration_s) <= ROUNDING_S
        for one, two in zip(found, expected, strict=True)
    )
