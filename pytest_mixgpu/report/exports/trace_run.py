"""One run as trace events, in the order of its rounds; holds one number a track and no round but the present one."""

from collections.abc import Iterator

from pytest_mixgpu.records.model import Evaluation, RoundLine, RunRecord
from pytest_mixgpu.report.exports.jsontext import inert_json
from pytest_mixgpu.report.exports.trace_events import Track
from pytest_mixgpu.report.exports.trace_time import (
    LONGEST_S,
    Stretch,
    last_ready,
    lease_ns,
    moment_ns,
    nanoseconds,
    start_of_participant,
    stretch,
)
from pytest_mixgpu.report.sanitise import clean


class RunTrace:
    """Draws one run.

    Args:
        record: of the run.
        pid: of its process; its tracks have the numbers after it.
        start_ns: where its lease lies on the axis.
        every: this many rounds share one that is drawn.
    """

    def __init__(self, record: RunRecord, *, pid: int, start_ns: int, every: int) -> None:
        self._record = record
        self._pid = pid
        self._start_ns = start_ns
        self._every = every
        self._lease_ns = lease_ns(record)
        self._run, self._coordinator = Track(pid, pid + 1), Track(pid, pid + 2)
        self._participants = [Track(pid, pid + 3 + place) for place in range(len(record.devices))]
        self._left_out = 0
        self._skipped: list[RoundLine] = []
        """First and last of the rounds that were not drawn since the last one that was."""
        self._skipped_from_ns = self._now_ns = start_ns
        """End of what was placed last on the coordinator's track."""
        self.end_ns = start_ns
        """End of all that was drawn."""
        self.next_pid = pid + 3 + len(self._participants)

    def events(self) -> Iterator[str]:
        """Draw it all."""
        yield from self._names()
        evaluations: dict[int, list[Evaluation]] = {}
        for evaluation in self._record.evaluations:
            evaluations.setdefault(evaluation.after_round, []).append(evaluation)
        last = len(self._record.rounds) - 1
        for place, line in enumerate(self._record.rounds):
            if place % self._every and place != last:
                self._skip(line)
            else:
                yield from self._round(line)
            yield from (self._evaluation(one) for one in evaluations.pop(line.index, ()))
        self._left_out += sum(map(len, evaluations.values()))
        yield from self._faults()
        yield from self._whole()

    def _names(self) -> Iterator[str]:
        header = self._record.header
        title = f"{header.name} {header.leg}".strip()
        yield self._run.name("process_name", clean(f"{title} #{header.repeat} on {header.pool.spec}"))
        yield self._run.name("process_labels", clean(f"{self._record.status}, registered {header.registered_at}"))
        yield self._run.order(self._pid, of_process=True)
        yield self._run.name("thread_name", "run, lease to release")
        where = f"coordinator at {header.coordinator}" if header.coordinator else "rounds (no coordinator)"
        yield self._coordinator.name("thread_name", clean(where))
        for place, (track, device) in enumerate(zip(self._participants, self._record.devices, strict=True)):
            yield track.name("thread_name", clean(f"participant {place}: {device.kind} ({device.id}) at {device.host}"))
            yield track.order(place + 2)
        yield self._run.order(0)
        yield self._coordinator.order(1)

    def _skip(self, line: RoundLine) -> None:
        placed = self._placed(line)
        if placed is None:
            return
        if not self._skipped:
            self._skipped_from_ns = placed.start_ns
        self._skipped = [*self._skipped[:1], line]
        self._now_ns = placed.end_ns

    def _round(self, line: RoundLine) -> Iterator[str]:
        yield from self._not_drawn()
        starts = [start_of_participant(line, place) for place in range(len(line.participants))]
        offsets_ns = [nanoseconds(max(0.0, start.offset_s)) for start in starts]
        free_ns = max(
            (
                self._participants[participant].end_ns - offset_ns
                for participant, offset_ns in zip(line.participants, offsets_ns, strict=True)
                if offset_ns is not None
            ),
            default=0,
        )
        placed = self._placed(line, free_ns=free_ns)
        if placed is None:
            return
        self._now_ns = placed.end_ns
        yield self._coordinator.slice(f"round {line.index}", placed, self._round_args(line, placed))
        yield from self._combine(line, placed)
        for place, (start, offset_ns) in enumerate(zip(starts, offsets_ns, strict=True)):
            if offset_ns is None:
                self._left_out += 1
            else:
                yield from self._participant(line, place, placed.start_ns + offset_ns, start.uncertainty_s)
        self._reach(self._coordinator.end_ns)

    def _round_args(self, line: RoundLine, placed: Stretch) -> dict[str, object]:
        said_ns = self._position(line.started_at)
        args: dict[str, object] = {"warmup": line.warmup, "started_at": clean(line.started_at)}
        if (ready := last_ready(line)) is not None:
            args["last_ready"] = f"participant {ready}"
        if said_ns is not None and said_ns < placed.start_ns:
            # The host's clock has milliseconds; rounds follow each other faster than that.
            args["moved_us"] = (placed.start_ns - said_ns) / 1000
        return args

    def _combine(self, line: RoundLine, placed: Stretch) -> Iterator[str]:
        if line.combine_start_s is None or line.combine_end_s is None:
            return
        where = stretch(line.combine_start_s, line.combine_end_s - line.combine_start_s, after_ns=placed.start_ns)
        if where is None:
            self._left_out += 1
        else:
            yield self._coordinator.inner("combine", where, f'{{"round":{line.index}}}')

    def _participant(self, line: RoundLine, place: int, start_ns: int, uncertainty_s: float) -> Iterator[str]:
        track, whole = self._participants[line.participants[place]], stretch(0.0, line.stamps[place].close_s)
        unsure_ns = nanoseconds(uncertainty_s)
        unsure_us = "null" if unsure_ns is None else f"{unsure_ns / 1000}"
        if whole is None:
            self._left_out += 1
            return
        args: dict[str, object] = {"round": line.index, "warmup": line.warmup, "samples": line.samples[place]}
        args["uncertainty_us"] = None if unsure_ns is None else unsure_ns / 1000
        if place < len(line.overlap_s):
            args["overlap_us"] = line.overlap_s[place] * 1e6
        if place < len(line.clock_offset_s):
            args["clock_offset_s"] = line.clock_offset_s[place]
        yield track.slice(f"round {line.index}", Stretch(start_ns=start_ns, end_ns=start_ns + whole.end_ns), args)
        inner_args = f'{{"round":{line.index},"uncertainty_us":{unsure_us}}}'
        for segment in line.segments[place]:
            where = stretch(segment.start_s, segment.duration_s, after_ns=start_ns)
            if where is None:
                self._left_out += 1
            else:
                yield track.inner(segment.phase, where, inner_args)
        self._reach(track.end_ns)

    def _not_drawn(self) -> Iterator[str]:
        """Draw what was skipped as one stretch."""
        if not self._skipped:
            return
        first, last = self._skipped[0].index, self._skipped[-1].index
        where = Stretch(start_ns=self._skipped_from_ns, end_ns=self._now_ns)
        self._skipped = []
        yield self._coordinator.slice(f"rounds {first} to {last}, phases not drawn", where, {})

    def _placed(self, line: RoundLine, *, free_ns: int = 0) -> Stretch | None:
        """Place a round where its record says, or right after what came before: nothing of it may cross that."""
        length_ns = nanoseconds(line.round_s)
        if length_ns is None:
            self._left_out += 1
            return None
        said_ns = self._position(line.started_at)
        start_ns = max(self._now_ns, free_ns, self._now_ns if said_ns is None else said_ns)
        return Stretch(start_ns=start_ns, end_ns=start_ns + length_ns)

    def _evaluation(self, evaluation: Evaluation) -> str:
        name = f"{evaluation.split}: {evaluation.num_correct} of {evaluation.num_total} right"
        args = {"after_round": evaluation.after_round, "samples_seen": evaluation.samples_seen}
        return self._coordinator.instant(name, self._now_ns, args)

    def _faults(self) -> Iterator[str]:
        for fault in self._record.faults:
            said_ns = self._position(fault.at)
            args = {
                "worker": clean(fault.worker),
                "device": clean(fault.device),
                "host": clean(fault.host),
                "phase": clean(fault.phase),
                "round": fault.round_index,
                "message": clean(fault.message),
            }
            yield self._run.instant("fault", self._now_ns if said_ns is None else said_ns, args)

    def _whole(self) -> Iterator[str]:
        """Draw the run from lease to release, with its spans in it."""
        record, header = self._record, self._record.header
        outcome = record.outcome
        leased_ns = None if outcome is None else nanoseconds(outcome.leased_s)
        self._reach(self._start_ns + (leased_ns or 0))
        args = {
            "run_id": clean(record.id),
            "role": header.role,
            "seed": header.seed,
            "rehearsal": header.rehearsal,
            "registered_at": clean(header.registered_at),
            "status": record.status,
            "reason": "" if outcome is None else clean(outcome.reason),
            "record_sha256": record.digest,
        }
        if self._left_out:
            args["left_out"] = f"{self._left_out} that cannot be: negative, or longer than {LONGEST_S:.0f} s"
        yield self._run.slice(clean(record.id), Stretch(start_ns=self._start_ns, end_ns=self.end_ns), args)
        for span in () if outcome is None else sorted(outcome.spans, key=lambda span: span.start_s):
            where = stretch(span.start_s, span.duration_s, after_ns=self._start_ns)
            if where is not None:
                # The name of a span is a text of the record.
                yield self._run.inner(inert_json(clean(span.name))[1:-1], where, "{}")

    def _position(self, text: str) -> int | None:
        """Place a moment on the axis; None where it is none, or lies before the lease or too long after."""
        moment = moment_ns(text)
        if moment is None or self._lease_ns is None or not 0 <= moment - self._lease_ns <= LONGEST_S * 1e9:
            return None
        return self._start_ns + moment - self._lease_ns

    def _reach(self, end_ns: int) -> None:
        self.end_ns = max(self.end_ns, end_ns)
