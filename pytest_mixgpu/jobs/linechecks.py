"""What a user's own job says of a run, looked at before it is written: from a line to the first thing wrong with it.

Whoever judges a record finds the same contradictions later, and calls the run void; here it fails at once, and says so.
Pure; imports no torch.
"""

import math
from collections.abc import Iterator
from datetime import datetime
from itertools import pairwise

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.bits import decode_bits
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.model import Evaluation, Header, Line, RoundLine, Start

ROUNDING_S = 1e-6
"""What the phases of a round may differ from it by, being sums."""
STAMPING_S = 0.01
"""What may lie between the same moment in two processes' code."""


def schedule_of(header: Header) -> int:
    """Rounds of one schedule, warm-ups included."""
    return header.settings.warmup_rounds + header.settings.rounds


def num_rounds_of(header: Header) -> int:
    """Rounds of the whole run: without an exchange the devices work one after the other, each a schedule."""
    return schedule_of(header) * (len(header.pool) if header.settings.exchange == "none" else 1)


def line_fault(line: object, kind: type[Line]) -> str:
    """Say what is wrong with a line by itself: another type, a field of another type, a number that is not finite."""
    if not isinstance(line, kind):
        return f"a {type(line).__name__}, expected a {kind.__name__}"
    try:
        encode(line)
    except RecordError as error:
        return str(error)
    return ""


def start_fault(start: Start, header: Header) -> str:
    """Say what is wrong with the line that workers are ready; empty if nothing is."""
    return next(_start_faults(start, header), "")


def round_fault(line: RoundLine, header: Header, *, index: int, instrumented: bool, passed_s: float) -> str:
    """Say what is wrong with a round.

    Args:
        line: as the job made it.
        header: of the run.
        index: the round that was asked for.
        instrumented: whether it was to be run with instruments.
        passed_s: what passed here while it ran.
    """
    return next(_round_faults(line, header, index, instrumented, passed_s), "")


def evaluation_fault(line: Evaluation, start: Start, *, split: str, after_round: int, samples_seen: int) -> str:
    """Say what is wrong with a score.

    Args:
        line: as the job made it.
        start: what the job said of its data.
        split: what was to be scored.
        after_round: the last round before it.
        samples_seen: training samples of all rounds up to it.
    """
    return next(_evaluation_faults(line, start, split, after_round, samples_seen), "")


def _start_faults(start: Start, header: Header) -> Iterator[str]:
    yield from _moment_faults("started_at", start.started_at)
    told = [worker.device_id for worker in start.workers if worker.device_id is not None]
    for device in header.pool.devices:
        if told.count(device.id) != 1:
            yield f"{told.count(device.id)} workers on {device.id}, expected one on each device of the pool"
    if strangers := sorted(set(told) - {device.id for device in header.pool.devices}):
        yield f"workers on {', '.join(strangers)}, which the pool {header.pool.spec} does not have"
    seen: dict[tuple[str, int], str] = {}
    for worker in start.workers:
        other = seen.setdefault((worker.host, worker.pid), worker.worker)
        if other != worker.worker or worker.pid < 1:
            yield f"process {worker.pid} on {worker.host} for {worker.worker}, expected a process for each worker"
    if missing := sorted({worker.host for worker in start.workers} - {host.host for host in start.hosts}):
        yield f"no facts of the host {missing[0]}"
    if not start.data_digest:
        yield "no digest of the data"
    if not {"train", "test"} <= start.data_counts.keys() or min(start.data_counts.values()) < 1:
        yield f"data_counts {start.data_counts}, expected positive numbers for `train` and `test`"
    if start.num_parameters < 1 or start.update_bytes < 0:
        yield f"{start.num_parameters} parameters and updates of {start.update_bytes} bytes"


def _round_faults(line: RoundLine, header: Header, index: int, instrumented: bool, passed_s: float) -> Iterator[str]:  # noqa: FBT001
    settings, is_solo = header.settings, header.settings.exchange == "none"
    turn, place = divmod(index, schedule_of(header))
    expected = {
        "index": index,
        "instrumented": instrumented,
        "warmup": place < settings.warmup_rounds and not instrumented,
        "participants": (turn,) if is_solo else tuple(range(len(header.pool))),
        "samples": tuple(share * settings.batch_size for share in settings.shares),
    }
    for name, value in expected.items():
        if (found := getattr(line, name)) != value:
            yield f"{name} {found}, expected {value}"
    yield from _moment_faults("started_at", line.started_at)
    if not 0 < line.round_s <= passed_s + STAMPING_S:
        yield f"a round of {line.round_s} s, {passed_s:.3f} s passed while it ran"
    yield from _phase_faults(line)
    for number, (own, moved_s) in enumerate(zip(line.stamps, line.communication_s, strict=False)):
        if moved_s is not None and not 0 <= moved_s <= own.close_s + STAMPING_S:
            yield f"{moved_s} s of communication of participant {number} in a round of {own.close_s} s"
    if min((*line.sent_bytes, *line.received_bytes), default=0) < 0:
        yield f"{line.sent_bytes} bytes sent and {line.received_bytes} received"


def _phase_faults(line: RoundLine) -> Iterator[str]:
    for number, (own, segments) in enumerate(zip(line.stamps, line.segments, strict=True)):
        who = f"participant {number}"
        total_s = math.fsum(segment.duration_s for segment in segments)
        if abs(total_s - own.close_s) > ROUNDING_S or any(segment.duration_s < 0 for segment in segments):
            yield f"phases of {who} that add up to {total_s:.6f} s, its round closed at {own.close_s:.6f} s"
        if any(abs(a.start_s + a.duration_s - b.start_s) > ROUNDING_S for a, b in pairwise(segments)):
            yield f"phases of {who} with gaps or overlaps"
        if not 0 <= own.compute_end_s <= own.close_s + ROUNDING_S or own.close_s > line.round_s + ROUNDING_S:
            yield f"stamps of {who} out of order: {own.compute_end_s}, {own.close_s} of {line.round_s} s"


def _evaluation_faults(
    line: Evaluation, start: Start, split: str, after_round: int, samples_seen: int
) -> Iterator[str]:
    expected = {"split": split, "after_round": after_round, "samples_seen": samples_seen}
    for name, value in expected.items():
        if (found := getattr(line, name)) != value:
            yield f"{name} {found}, expected {value}"
    counted = start.data_counts.get(split)
    if line.num_total != counted or not 0 <= line.num_correct <= line.num_total:
        yield f"{line.num_correct} of {line.num_total} right, the {split} split has {counted}"
    if not line.weights_digest:
        yield "no digest of the weights that were scored"
    if not line.duration_s >= 0:
        yield f"a scoring of {line.duration_s} s"
    if split == "test":
        try:
            num_ones = sum(decode_bits(line.correct_bits, line.num_total))
        except RecordError as error:
            yield str(error)
            return
        if num_ones != line.num_correct:
            yield f"{line.num_correct} right, and bits that say {num_ones}"


def _moment_faults(name: str, text: str) -> Iterator[str]:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        yield f"{name} {text!r}, expected a moment in ISO 8601"
        return
    if moment.tzinfo is None:
        yield f"{name} {text!r} without a time zone"
