"""`mllog`: MLPerf's own parser reads every line, and the events are in the order of a run."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from mlperf_logging.compliance_checker.mlp_parser import parse_file
from mlperf_logging.mllog import constants
from msgspec.structs import replace

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.mllog import folder_name, mllog_lines, write_mllog
from tests.report.made_material import HOSTILE_TEXTS, hostile_material, material
from tests.report.made_verdicts import all_verdicts, speedup
from tests.sample_doctors import as_aborted, as_failed
from tests.samples import as_record, make_run

RULES = ("1.0.0", "4.1.0", "5.1.0", "6.1.0")
OWN_KEYS = {"mixgpu_verdict", "mixgpu_fault"}
MLPERF_KEYS = {value for name, value in vars(constants).items() if name.isupper() and isinstance(value, str)}


def lines_of(record: RunRecord, made: Material | None = None) -> list[dict[str, Any]]:
    """Return the events of one run."""
    made = made or material([speedup(run_ids=(record.id,))], [record])
    return [json.loads(line.removeprefix(":::MLLOG ")) for line in mllog_lines(made, record)]


def parsed(path: Path, rules: str) -> list[Any]:
    """Return what MLPerf's parser makes of a file; it must not refuse a line."""
    lines, refused = parse_file(str(path), ruleset=rules)
    assert [] == refused
    return list(lines)


@pytest.mark.parametrize("rules", RULES)
def test_mlperfs_own_parser_reads_every_line(tmp_path: Path, rules: str, caplog: pytest.LogCaptureFixture) -> None:
    """Of every run of an experiment, without an error and without a warning."""
    made = material()
    write_mllog(made, tmp_path)
    files = sorted(tmp_path.rglob("*.txt"))

    assert len(made.records) == len(files)
    for path in files:
        lines = parsed(path, rules)
        assert len(path.read_text().splitlines()) == len(lines)
        times = [line.timestamp for line in lines]
        assert sorted(times) == times
    assert [] == caplog.records


def test_a_file_a_run_by_role(tmp_path: Path) -> None:
    """As MLPerf lays out results; files of an earlier session do not stay among them."""
    runs = [as_record(make_run(role="fleet", repeat=repeat)) for repeat in range(2)]
    write_mllog(material([], [*runs, as_record(make_run(role="baseline"))]), tmp_path)
    write_mllog(material([], runs), tmp_path)

    assert ["fleet/result_0.txt", "fleet/result_1.txt"] == sorted(
        str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.txt")
    )


def test_keys_are_mlperfs_or_bear_our_name() -> None:
    """A key that looks like MLPerf's and is not would be misread."""
    keys = {line["key"] for line in lines_of(as_record(as_failed(make_run(role="fleet"), after_rounds=3)))}

    assert set() == keys - MLPERF_KEYS - OWN_KEYS


def test_a_scored_run_tells_its_story() -> None:
    """Start, blocks with the samples seen, accuracy, stop with its status, in that order."""
    record = as_record(make_run(role="fleet"))
    lines = lines_of(record)
    counts = Counter(line["key"] for line in lines)
    accuracy = [line for line in lines if line["key"] == "eval_accuracy"][-1]
    stop = next(line for line in lines if line["key"] == "run_stop")
    blocks = [line["metadata"]["samples_count"] for line in lines if line["key"] == "block_stop"]

    assert (1, 1, 1) == (counts["run_start"], counts["run_stop"], counts["init_start"])
    assert counts["block_start"] == counts["block_stop"] == len(record.rounds)
    assert counts["eval_start"] == counts["eval_accuracy"] == counts["eval_stop"] == len(record.evaluations)
    assert (441 / 450, "test") == (accuracy["value"], accuracy["metadata"]["split"])
    assert ("success", "completed") == (stop["metadata"]["status"], stop["metadata"]["mixgpu_status"])
    assert sum(sum(line.samples) for line in record.rounds) == blocks[-1]
    assert next(line["value"] for line in lines if line["key"] == "seed") == record.header.seed


@pytest.mark.parametrize("how", ["not-scored", "failed", "aborted", "below-target", "target-unknown"])
def test_only_a_reached_target_is_a_success(how: str) -> None:
    """MLPerf's tools take `success` for trained to the target."""
    made = make_run(role="fleet")
    record = as_record(made)
    given = material([], [record])
    if how == "not-scored":
        record = as_record(make_run(role="baseline"))
    if how == "failed":
        record = as_record(as_failed(made, after_rounds=3))
    if how == "aborted":
        record = as_record(as_aborted(made, after_rounds=3))
    if how == "below-target":
        record = replace(record, evaluations=tuple(replace(one, num_correct=1) for one in record.evaluations))
    if how == "target-unknown":
        given = replace(given, plan=None)
    stop = next(line for line in lines_of(record, given) if line["key"] == "run_stop")

    assert "aborted" == stop["metadata"]["status"]
    assert record.status == stop["metadata"]["mixgpu_status"]


def test_every_verdict_follows_with_all_that_belongs_to_it() -> None:
    """Word, value, bound, unit, qualifiers and notes."""
    record = as_record(make_run(role="fleet"))
    verdicts = [*all_verdicts(), speedup(id="x", value=float("inf"), word="UNJUDGED", run_ids=(record.id,))]
    told = [line for line in lines_of(record, material(verdicts, [record])) if line["key"] == "mixgpu_verdict"]

    for verdict, line in zip(verdicts, told, strict=True):
        about = line["metadata"]
        assert (verdict.word, verdict.id) == (line["value"], about["id"])
        assert (list(verdict.qualifiers), list(verdict.notes)) == (about["qualifiers"], about["notes"])
        if not verdict.is_claim:
            assert (verdict.bound, verdict.unit) == (about["bound"], about["unit"])
    assert (None, True) == (told[-1]["metadata"]["value"], told[-1]["metadata"]["is_evidence"])


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
@pytest.mark.parametrize("rules", RULES)
def test_hostile_text_adds_no_line(tmp_path: Path, text: str, rules: str) -> None:
    """The parser takes a line from its last `:::MLLOG` on: none may come from a text."""
    write_mllog(hostile_material(text), tmp_path)
    (path,) = tmp_path.rglob("*.txt")
    lines = parsed(path, rules)

    assert path.read_text("ascii").count(":::MLL") == len(lines)
    assert path.parent.parent == tmp_path
    keys = {line.key for line in lines}
    assert set() == keys - MLPERF_KEYS - OWN_KEYS
    assert ["aborted"] == [line.value["metadata"]["status"] for line in lines if line.key == "run_stop"]
    assert text in [line.value["value"] for line in lines if line.key == "mixgpu_fault"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("fleet", "fleet"),
        ("baseline before", "baseline-before"),
        ("../../etc", "etc"),
        ("-rf /", "rf"),
        ("光", "run"),
        ("", "run"),
    ],
)
def test_a_folder_is_no_path(text: str, expected: str) -> None:
    """The name of a role comes from a record."""
    assert expected == folder_name(text)


def test_without_a_run_there_is_nothing_to_tell(tmp_path: Path) -> None:
    """An empty file would look like a run."""
    with pytest.raises(RecordError, match="no run"):
        write_mllog(material([speedup()], []), tmp_path)
