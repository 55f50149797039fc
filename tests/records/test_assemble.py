"""A record is read whole, or refused with the line that does not fit."""

from hashlib import sha256
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.assemble import assemble
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.model import Line
from tests.samples import MadeRun, make_run


def raw_of(*lines: Line) -> bytes:
    return b"".join(encode(line) + b"\n" for line in lines)


def whole(run: MadeRun) -> bytes:
    assert run.outcome is not None
    return raw_of(*run.lines(), run.outcome)


def test_a_record_holds_all_lines() -> None:
    """Every line that was written is in the record, with the digest of the bytes."""
    run = make_run()
    raw = whole(run)
    record = assemble(raw)
    expected = (run.header, run.start, run.rounds, run.evaluations, run.outcome)
    assert expected == (record.header, record.start, record.rounds, record.evaluations, record.outcome)
    assert (sha256(raw).hexdigest(), "completed") == (record.digest, record.status)


@pytest.mark.parametrize("kept", [0.1, 0.5, 0.999])
def test_a_torn_last_line_is_dropped_and_said(kept: float) -> None:
    """What a killed writer leaves of its last line does not cost the lines before it."""
    run = make_run()
    last = encode(run.rounds[-1])
    whole_part = raw_of(run.header, *([run.start] if run.start else []), *run.rounds[:-1])
    dropped: list[str] = []
    record = assemble(whole_part + last[: int(len(last) * kept)], path=Path("runs/x/record.jsonl"), dropped=dropped)
    assert (len(run.rounds) - 1, "aborted") == (len(record.rounds), record.status)
    assert len(dropped) == 1
    assert "runs/x/record.jsonl: dropped a torn last line" in dropped[0]


def test_lines_are_refused_where_they_cannot_stand() -> None:
    """The order of lines is part of the schema."""
    run = make_run()
    assert run.start is not None
    assert run.outcome is not None
    first, second = run.rounds[:2]
    cases: list[tuple[tuple[Line, ...], str]] = [
        ((run.start,), "line 1: found `start`, expected the header"),
        ((run.header, run.header), "line 2: found a second header"),
        ((run.header, first), "line 2: found `round` before the start"),
        ((run.header, run.evaluations[0]), "line 2: found `evaluation` before the start"),
        ((run.header, run.start, run.start), "line 3: found a second start"),
        ((run.header, run.start, second, first), "line 4: found round 0 after 1"),
        ((run.header, run.start, first, first), "line 4: found round 0 after 0"),
        ((run.header, run.outcome, run.outcome), "line 3: found `outcome` after the outcome"),
        ((run.header, run.outcome, run.start), "line 3: found `start` after the outcome"),
    ]
    for lines, fault in cases:
        with pytest.raises(RecordError, match=fault):
            assemble(raw_of(*lines))


@pytest.mark.parametrize("raw", [b"", b'{"line":"hea'], ids=["empty", "torn-header"])
def test_a_record_without_a_header_is_refused(raw: bytes) -> None:
    """Without a whole header there is no record."""
    with pytest.raises(RecordError, match="found no whole line, expected a header"):
        assemble(raw)


def test_an_empty_line_is_refused() -> None:
    """A blank line between others is not what the writer writes."""
    run = make_run()
    with pytest.raises(RecordError, match=r"line 2: .*truncated"):
        assemble(raw_of(run.header) + b"\n" + raw_of(*([run.start] if run.start else [])))


@pytest.mark.parametrize(
    "name",
    [
        "samples", "stamps", "segments", "coordinator", "overlap_s", "clock_offset_s", "clock_uncertainty_s",
        "sent_bytes", "received_bytes", "train_loss", "foreign_share",
    ],
)  # fmt: skip
def test_an_array_of_another_length_is_refused(name: str) -> None:
    """Each array of a round runs over its participants."""
    run = make_run()
    line = replace(run.rounds[0], **{name: getattr(run.rounds[0], name)[:1]})
    with pytest.raises(RecordError, match=rf"line 3: found 1 values in `{name}`, expected one for each of 2"):
        assemble(raw_of(run.header, *([run.start] if run.start else []), line))


@pytest.mark.parametrize("participants", [(0, 0), (0, 2), (-1, 0)], ids=["twice", "beyond", "negative"])
def test_participants_are_places_in_the_pool(participants: tuple[int, ...]) -> None:
    """A round names each participant once, by its place in the header's pool."""
    run = make_run()
    line = replace(run.rounds[0], participants=participants)
    with pytest.raises(RecordError, match="expected distinct indices into a pool of 2"):
        assemble(raw_of(run.header, *([run.start] if run.start else []), line))
