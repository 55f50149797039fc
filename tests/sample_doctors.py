"""Doctors of made-up runs: from a run to one in which something was changed before, or after, it was sealed."""

from collections.abc import Callable
from datetime import datetime, timedelta

from msgspec.structs import replace

from pytest_mixgpu.records.model import Fault, Span, Start
from pytest_mixgpu.records.store import RunStore
from tests.sample_timeline import MadeRun, Timeline, counted_bytes, made_bits

Doctor = Callable[[MadeRun], MadeRun]


def with_header(run: MadeRun, **changes: object) -> MadeRun:
    """Change fields of the header."""
    return run._replace(header=replace(run.header, **changes))


def with_settings(run: MadeRun, **changes: object) -> MadeRun:
    """Change fields of the settings."""
    return with_header(run, settings=replace(run.header.settings, **changes))


def with_digests(run: MadeRun, **changes: object) -> MadeRun:
    """Change what the header says was in force."""
    return with_header(run, digests=replace(run.header.digests, **changes))


def with_start(run: MadeRun, **changes: object) -> MadeRun:
    """Change what the run found at its start."""
    return run._replace(start=replace(_start(run), **changes))


def with_workers(run: MadeRun, **changes: object) -> MadeRun:
    """Change the facts of every participant."""
    workers = tuple(replace(one, **changes) if one.device_id else one for one in _start(run).workers)
    return with_start(run, workers=workers)


def with_rounds(run: MadeRun, **changes: object) -> MadeRun:
    """Change the same fields of every round."""
    return run._replace(rounds=tuple(replace(line, **changes) for line in run.rounds))


def with_outcome(run: MadeRun, **changes: object) -> MadeRun:
    """Change the outcome."""
    assert run.outcome is not None
    return run._replace(outcome=replace(run.outcome, **changes))


def with_score(run: MadeRun, num_correct: int) -> MadeRun:
    """Change how many test images were right, bit by bit."""
    evaluations = tuple(
        replace(one, num_correct=num_correct, correct_bits=made_bits(num_correct, one.num_total, key=run.header.run_id))
        if one.split == "test"
        else one
        for one in run.evaluations
    )
    return run._replace(evaluations=evaluations)


def with_speed(run: MadeRun, factor: float) -> MadeRun:
    """Make the run's devices faster by a factor; everything else follows from that."""
    return Timeline(run.header, at=datetime.fromisoformat(run.header.registered_at), speed=factor).run()


def laid_out(run: MadeRun) -> MadeRun:
    """Lay spans, rounds and finish one after the other again, after rounds were changed."""
    assert run.outcome is not None
    at, now_s = datetime.fromisoformat(run.header.registered_at), 0.0
    rounds, spans = list(run.rounds), []
    trained = iter(range(len(rounds)))
    for span in run.outcome.spans:
        duration_s = span.duration_s
        if span.name == "training":
            place = next(trained)
            moment = (at + timedelta(seconds=now_s)).isoformat(timespec="milliseconds")
            rounds[place], duration_s = replace(rounds[place], started_at=moment), rounds[place].round_s
        spans.append(Span(span.name, now_s, duration_s))
        now_s += duration_s
    finished_at = (at + timedelta(seconds=now_s)).isoformat(timespec="milliseconds")
    outcome = replace(run.outcome, spans=tuple(spans), leased_s=now_s, finished_at=finished_at)
    return run._replace(rounds=tuple(rounds), outcome=outcome)


def as_failed(run: MadeRun, *, after_rounds: int, message: str = "participant-1 was killed by SIGKILL") -> MadeRun:
    """Let the run fail after this many rounds, warm-ups counted."""
    device = run.header.pool.devices[-1]
    fault = Fault(
        at=run.header.registered_at,
        worker=f"participant-{len(run.header.pool) - 1}",
        device=device.id,
        host=device.host,
        phase="compute",
        round_index=after_rounds,
        message=message,
        log=f"logs/participant-{len(run.header.pool) - 1}.log",
    )
    failed = _cut(run, after_rounds)._replace(faults=(fault,))
    spans = _spans_of(failed)
    moved = None if run.header.settings.exchange == "ddp" else counted_bytes(failed.rounds)
    leased_s = sum(span.duration_s for span in spans)
    return with_outcome(failed, status="failed", reason=message, spans=spans, leased_s=leased_s, moved_bytes=moved)


def as_aborted(run: MadeRun, *, after_rounds: int) -> MadeRun:
    """Let the session be killed after this many rounds: the run never closes."""
    return _cut(run, after_rounds)._replace(outcome=None)


def only(doctor: Doctor, *, name: str = "", leg: str = "", repeat: int | None = None) -> Doctor:
    """Return a doctor that sees to some runs and leaves the others as they are."""

    def see(run: MadeRun) -> MadeRun:
        header = run.header
        is_meant = name in {"", header.name} and leg in {"", header.leg} and repeat in {None, header.repeat}
        return doctor(run) if is_meant else run

    return see


def tamper(store: RunStore, run_id: str, old: bytes, new: bytes) -> None:
    """Change the bytes of a record that is sealed."""
    path = store.folder / "runs" / run_id / "record.jsonl"
    raw = path.read_bytes()
    assert old in raw, f"{old!r} does not occur in {path}"
    path.write_bytes(raw.replace(old, new, 1))


def _start(run: MadeRun) -> Start:
    assert run.start is not None
    return run.start


def _cut(run: MadeRun, after_rounds: int) -> MadeRun:
    kept = tuple(one for one in run.evaluations if one.split == "validation" and one.after_round < after_rounds)
    return run._replace(rounds=run.rounds[:after_rounds], evaluations=kept)


def _spans_of(run: MadeRun) -> tuple[Span, ...]:
    """Return the spans as far as the run's rounds go, and the teardown right after them."""
    assert run.outcome is not None
    kept: list[Span] = []
    num_rounds, now_s = 0, 0.0
    for span in run.outcome.spans:
        num_rounds += span.name == "training"
        if num_rounds <= len(run.rounds) or span.name == "teardown":
            kept.append(Span(span.name, now_s, span.duration_s))
            now_s += span.duration_s
    return tuple(kept)
