"""Records in which every number that can be measured is absurd: each is judged and told, and no mark is met by it."""

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from pytest_mixgpu.records.codec import LARGEST
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.mllog import mllog_lines
from pytest_mixgpu.report.exports.openmetrics import openmetrics_lines
from pytest_mixgpu.report.exports.summary import summary_lines
from pytest_mixgpu.report.exports.trace import trace_pieces
from pytest_mixgpu.report.html import render_page
from pytest_mixgpu.report.model import Occasion
from pytest_mixgpu.report.rows import build_report
from pytest_mixgpu.report.terminal import verdict_text
from tests.negative.sample_edits import seal_again
from tests.negative.stored_sample import NOTHING_KEPT, Copy, evidence_of, verdicts_of

ABSURD = {
    "largest": LARGEST, "huge": 1e21, "smallest": 5e-324, "negative": -1.0, "very negative": -LARGEST,
    "negative zero": -0.0,
}  # fmt: skip


def with_numbers(raw: bytes, change: Callable[[float], float]) -> bytes:
    """Change every fraction of a line of a record; whole numbers are counts, and a header was asked for."""

    def changed(value: object) -> object:
        if isinstance(value, dict):
            return {name: changed(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [changed(inner) for inner in value]
        return change(value) if isinstance(value, float) else value

    line = msgspec.json.decode(raw)
    return raw if line["line"] == "header" else msgspec.json.encode(changed(line))


def spoil(folder: Path, number: float, *, every: int = 1) -> None:
    """Put a number into every n-th record, and make all seals good again."""
    for path in sorted(folder.glob("records/runs/*/record.jsonl"))[::every]:
        lines = path.read_bytes().splitlines()
        path.write_bytes(b"".join(with_numbers(line, lambda _: number) + b"\n" for line in lines))
    seal_again(folder)


@pytest.mark.parametrize("every", [1, 2], ids=["all", "every other"])
@pytest.mark.parametrize("number", ABSURD.values(), ids=ABSURD)
def test_absurd_numbers_are_judged_and_told(tmp_path: Path, number: float, every: int) -> None:
    """No mark passes, and each output can be written: a crash would leave what was written before in its place."""
    sample = Copy(tmp_path)
    spoil(sample.folder, number, every=every)

    evidence = evidence_of(sample.folder, kept=NOTHING_KEPT)
    verdicts = list(verdicts_of(evidence).values())

    assert [] == [one.id for one in verdicts if not one.is_claim and one.word == "PASS"]
    report = build_report(
        verdicts, evidence.attempts, occasion=Occasion(suite="stripes"), plan=evidence.plan, evidence=evidence
    )
    material = Material(
        occasion=report.occasion,
        report=report,
        verdicts=tuple(verdicts),
        records=evidence.attempts,
        plan=evidence.plan,
    )
    texts = [
        render_page(report), *summary_lines(report), *trace_pieces(material), *openmetrics_lines(material),
        *(line for run in evidence.attempts for line in mllog_lines(material, run)),
        *(verdict_text(verdict) for verdict in verdicts),
    ]  # fmt: skip
    assert not [text for text in texts if "0" * 40 in text and "0" * 64 not in text]


def test_what_nothing_measures_is_no_record(tmp_path: Path) -> None:
    """It cannot be read, the ledger knows that it was there, and so every verdict says that it is gone."""
    sample = Copy(tmp_path)
    spoil(sample.folder, 1e308)

    verdicts = verdicts_of(evidence_of(sample.folder, kept=NOTHING_KEPT)).values()

    assert {"TAMPERED"} == {one.word for one in verdicts}
    assert all("found a number beyond 1e+39 at `$." in one.reason for one in verdicts)
