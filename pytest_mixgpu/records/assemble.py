"""From the bytes of `record.jsonl` to a `RunRecord` whose lines fit together. Imports no torch."""

from hashlib import sha256
from pathlib import Path

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.codec import decode, schema_of
from pytest_mixgpu.records.model import (
    SCHEMA_VERSION,
    Evaluation,
    Fault,
    Header,
    Line,
    Outcome,
    RoundLine,
    RunRecord,
    Start,
)


def assemble(raw: bytes, *, path: Path | None = None, dropped: list[str] | None = None) -> RunRecord:
    """Read a record whole.

    A last line without its end is what a killed writer leaves: it is dropped, and said.

    Args:
        raw: the file's bytes.
        path: where they are from, for errors.
        dropped: takes a sentence for each thing that was dropped.

    Raises:
        RecordError: a line cannot be read, or the lines do not fit together; says which and why.
    """
    name = str(path) if path else "a record"
    *whole, torn = raw.split(b"\n")
    if torn and dropped is not None:
        dropped.append(f"{name}: dropped a torn last line of {len(torn)} bytes, as a killed writer leaves it")
    lines: list[Line] = []
    schema = SCHEMA_VERSION
    for number, line in enumerate(whole, start=1):
        where = f"{name}, line {number}"
        lines.append(decode(line, where=where, schema=schema))
        if number == 1:
            schema = schema_of(lines[0])
        _check_order(lines, where=where)
    if not lines:
        raise RecordError(f"{name}: found no whole line, expected a header")
    return _joined(lines, digest=sha256(raw).hexdigest(), path=str(path) if path else "")


def _joined(lines: list[Line], *, digest: str, path: str) -> RunRecord:
    header = next(line for line in lines if isinstance(line, Header))
    return RunRecord(
        header=header,
        start=next((line for line in lines if isinstance(line, Start)), None),
        rounds=tuple(line for line in lines if isinstance(line, RoundLine)),
        evaluations=tuple(line for line in lines if isinstance(line, Evaluation)),
        faults=tuple(line for line in lines if isinstance(line, Fault)),
        outcome=next((line for line in lines if isinstance(line, Outcome)), None),
        digest=digest,
        path=path,
    )


def _check_order(lines: list[Line], *, where: str) -> None:
    """Refuse a line that cannot stand where it stands."""
    line, before = lines[-1], lines[:-1]
    header = lines[0]
    if not isinstance(header, Header):
        raise RecordError(f"{where}: found `{type(line).__name__.lower()}`, expected the header as the first line")
    if isinstance(line, Header) and before:
        raise RecordError(f"{where}: found a second header, expected one")
    if before and isinstance(before[-1], Outcome):
        raise RecordError(f"{where}: found a line after the outcome, expected the outcome last")
    has_started = any(isinstance(other, Start) for other in before)
    if isinstance(line, Start) and has_started:
        raise RecordError(f"{where}: found a second start, expected one")
    if isinstance(line, RoundLine | Evaluation) and not has_started:
        raise RecordError(f"{where}: found `{type(line).__name__}` before the start of the run")
    if isinstance(line, RoundLine):
        last = next((other.index for other in reversed(before) if isinstance(other, RoundLine)), None)
        if last is not None and line.index <= last:
            raise RecordError(f"{where}: found round {line.index} after round {last}, expected rounds to count upwards")
        _check_arrays(line, num_devices=len(header.pool), where=where)


def _check_arrays(line: RoundLine, *, num_devices: int, where: str) -> None:
    """Refuse a round whose arrays do not run over its participants."""
    expected = len(line.participants)
    if len(set(line.participants)) != expected or not set(line.participants) <= set(range(num_devices)):
        found = list(line.participants)
        raise RecordError(
            f"{where}: found participants {found}, expected distinct indices into a pool of {num_devices}"
        )
    needed = {"samples": len(line.samples), "stamps": len(line.stamps), "segments": len(line.segments)}
    optional = {
        "coordinator": len(line.coordinator),
        "overlap_s": len(line.overlap_s),
        "clock_offset_s": len(line.clock_offset_s),
        "clock_uncertainty_s": len(line.clock_uncertainty_s),
        "sent_bytes": len(line.sent_bytes),
        "received_bytes": len(line.received_bytes),
        "train_loss": len(line.train_loss),
        "foreign_share": len(line.foreign_share),
    }
    for name, length in (needed | {name: num for name, num in optional.items() if num}).items():
        if length != expected:
            raise RecordError(
                f"{where}: found {length} values in `{name}`, expected one for each of {expected} participants"
            )
