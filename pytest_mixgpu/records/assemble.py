"""From the bytes of `record.jsonl` to a `RunRecord` whose lines fit together. Imports no torch."""

from collections.abc import Iterable
from hashlib import sha256
from io import BytesIO
from pathlib import Path

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.codec import decode
from pytest_mixgpu.records.long_rounds import BUDGET, LongRounds
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


class Story:
    """The lines of one run so far; refuses a line that cannot stand where it stands, in writing as in reading."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self._has_started = False
        self._has_ended = False
        self._last_round: int | None = None

    def take(self, line: Line, *, where: str) -> None:
        """Take the next line.

        Raises:
            RecordError: it cannot follow the lines before it, or does not fit to the header's pool.
        """
        if self.header is None:
            if not isinstance(line, Header):
                raise RecordError(f"{where}: found `{_name(line)}`, expected the header as the first line")
            self.header = line
        elif isinstance(line, Header):
            raise RecordError(f"{where}: found a second header, expected one")
        if self._has_ended:
            raise RecordError(f"{where}: found `{_name(line)}` after the outcome, expected the outcome last")
        if isinstance(line, Start) and self._has_started:
            raise RecordError(f"{where}: found a second start, expected one")
        if isinstance(line, RoundLine | Evaluation) and not self._has_started:
            raise RecordError(f"{where}: found `{_name(line)}` before the start, expected the start of the run first")
        if isinstance(line, RoundLine):
            _check_arrays(line, num_devices=len(self.header.pool), where=where)
            self._count(line.index, where=where)
        self._has_started |= isinstance(line, Start)
        self._has_ended = isinstance(line, Outcome)

    def _count(self, index: int, *, where: str) -> None:
        if self._last_round is not None and index <= self._last_round:
            raise RecordError(
                f"{where}: found round {index} after {self._last_round}, expected rounds to count upwards"
            )
        self._last_round = index


def _name(line: Line) -> str:
    return str(line.__struct_config__.tag)


def assemble(
    raw: bytes | Iterable[bytes],
    *,
    path: Path | None = None,
    dropped: list[str] | None = None,
    budget: int = BUDGET,
) -> RunRecord:
    """Read a record whole.

    A last line without its end is what a killed writer leaves: it is dropped, and said.

    Args:
        raw: the file's bytes; or its lines, as an open file gives them: a large record is then never in memory twice.
        path: where they are from, for errors.
        dropped: takes a sentence for each thing that was dropped.
        budget: so many participants of rounds are held as values.

    Raises:
        RecordError: a line cannot be read, or the lines do not fit together; says which and why.
    """
    name = str(path) if path else "a record"
    lines: list[Line] = []
    rounds = LongRounds(budget=budget)
    story, digest = Story(), sha256()
    for number, line in enumerate(BytesIO(raw) if isinstance(raw, bytes) else raw, start=1):
        digest.update(line)
        if not line.endswith(b"\n"):
            if dropped is not None:
                dropped.append(f"{name}: dropped a torn last line of {len(line)} bytes, as a killed writer leaves it")
            break
        where = f"{name}, line {number}"
        schema = story.header.schema if story.header else SCHEMA_VERSION
        raw_line = line.removesuffix(b"\n")
        found = decode(raw_line, where=where, schema=schema)
        story.take(found, where=where)
        if isinstance(found, RoundLine):
            rounds.add(found, raw_line, schema=schema)
        else:
            lines.append(found)
    if not lines:
        raise RecordError(f"{name}: found no whole line, expected a header")
    return _joined(
        lines,
        tuple(rounds) if rounds.are_all_held else rounds,
        digest=digest.hexdigest(),
        path=str(path) if path else "",
    )


def _joined(lines: list[Line], rounds: tuple[RoundLine, ...] | LongRounds, *, digest: str, path: str) -> RunRecord:
    header = next(line for line in lines if isinstance(line, Header))
    return RunRecord(
        header=header,
        start=next((line for line in lines if isinstance(line, Start)), None),
        rounds=rounds,
        evaluations=tuple(line for line in lines if isinstance(line, Evaluation)),
        faults=tuple(line for line in lines if isinstance(line, Fault)),
        outcome=next((line for line in lines if isinstance(line, Outcome)), None),
        digest=digest,
        path=path,
    )


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
        "compute_cpu_s": len(line.compute_cpu_s),
        "communication_s": len(line.communication_s),
        "device_seen": len(line.device_seen),
        "cpu_pressure": len(line.cpu_pressure),
    }
    for name, length in (needed | {name: num for name, num in optional.items() if num}).items():
        if length != expected:
            raise RecordError(
                f"{where}: found {length} values in `{name}`, expected one for each of {expected} participants"
            )
