"""`in-toto`: a statement that in-toto's own library accepts, about files that are there."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from google.protobuf import json_format
from hypothesis import given
from hypothesis import strategies as st
from in_toto_attestation.v1.statement import Statement
from in_toto_attestation.v1.statement_pb2 import Statement as Message

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.exports.in_toto import PREDICATE_TYPE, statement_of, write_statement
from pytest_mixgpu.report.exports.jsontext import MAX_CHARACTERS, inert_json
from pytest_mixgpu.report.exports.material import Material
from tests.report.made_material import HOSTILE_TEXTS, hostile_material, material
from tests.report.made_verdicts import all_verdicts, claim, speedup
from tests.samples import make_experiment

README = Path(__file__).parents[2] / "README.md"

any_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=10,
)


def read_back(path: Path) -> dict[str, Any]:
    """Return a statement that in-toto's library has accepted."""
    Statement.copy_from_pb(json_format.Parse(path.read_text("ascii"), Message())).validate()
    found: dict[str, Any] = json.loads(path.read_text("ascii"))
    return found


def sealed(folder: Path, **more: object) -> Material:
    """Make the material of an experiment that lies in a folder, with its ledger and a lock."""
    store = make_experiment(folder / "reports")
    (folder / "passmarks.lock").write_text("a lock\n")
    return material(None, store.records(), folders=(folder / "reports",), lock=folder / "passmarks.lock", **more)


def test_in_toto_accepts_the_statement(tmp_path: Path) -> None:
    """Version 1, with our own type of predicate."""
    write_statement(sealed(tmp_path), tmp_path / "verdicts.intoto.json")
    found = read_back(tmp_path / "verdicts.intoto.json")

    assert "https://in-toto.io/Statement/v1" == found["_type"]
    assert PREDICATE_TYPE == found["predicateType"]
    assert PREDICATE_TYPE in README.read_text("utf-8")


def test_subjects_are_files_by_what_they_hold(tmp_path: Path) -> None:
    """Lock, ledger and each record: whoever has them can check that the statement is about them."""
    made = sealed(tmp_path)
    subjects = statement_of(made)["subject"]
    assert isinstance(subjects, list)

    assert 2 + len(made.records) == len(subjects)
    for subject in subjects:
        place = tmp_path if subject["name"] == "passmarks.lock" else tmp_path / "reports"
        assert hashlib.sha256((place / subject["name"]).read_bytes()).hexdigest() == subject["digest"]["sha256"]
    assert str(tmp_path) not in json.dumps(statement_of(made))


def test_ledgers_of_several_folders_are_told_apart(tmp_path: Path) -> None:
    """Names of subjects are unique."""
    made = sealed(tmp_path)
    (tmp_path / "more").mkdir()
    (tmp_path / "more" / "ledger.jsonl").touch()
    subjects = statement_of(material(None, made.records, folders=(*made.folders, tmp_path / "more")))["subject"]
    assert isinstance(subjects, list)

    assert {"1/ledger.jsonl", "2/ledger.jsonl"} <= {one["name"] for one in subjects}
    assert len(subjects) == len({one["name"] for one in subjects})


def test_the_predicate_holds_every_verdict_and_what_it_rests_on(tmp_path: Path) -> None:
    """Word, qualifiers, notes, value, bound, unit and runs; lock and ledger as materials."""
    write_statement(sealed(tmp_path), tmp_path / "s.json")
    predicate = read_back(tmp_path / "s.json")["predicate"]

    for verdict, stated in zip(all_verdicts(), predicate["verdicts"], strict=True):
        assert (verdict.id, verdict.word, verdict.reason) == (stated["id"], stated["word"], stated["reason"])
        assert (list(verdict.qualifiers), list(verdict.notes)) == (stated["qualifiers"], stated["notes"])
        if not verdict.is_claim:
            assert (verdict.value, verdict.bound, verdict.unit) == (stated["value"], stated["bound"], stated["unit"])
    assert {"lockDigest": ["ab" * 32], "ledgerHead": ["cd" * 32], "ledgerEntries": 17} == predicate["materials"]
    assert {"completed"} == {run["status"] for run in predicate["runs"]}


@pytest.mark.parametrize(
    ("verdicts", "expected"),
    [
        ([claim("a")], "passed"),
        ([claim("a"), speedup()], "qualified"),
        ([speedup(), claim("a", word="UNJUDGED")], "failed"),
        ([], "failed"),
    ],
)
def test_the_result_is_no_better_than_its_worst_verdict(tmp_path: Path, verdicts: list[Verdict], expected: str) -> None:
    """A rehearsal is no pass, and nothing is none either."""
    (tmp_path / "lock").touch()
    predicate = statement_of(material(verdicts, [], lock=tmp_path / "lock"))["predicate"]
    assert isinstance(predicate, dict)

    assert expected == predicate["result"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 1e308])
def test_a_number_that_is_not_finite_is_none(tmp_path: Path, value: float) -> None:
    """JSON has no NaN, and in-toto's library would refuse the file."""
    (tmp_path / "lock").touch()
    write_statement(material([speedup(value=value)], [], lock=tmp_path / "lock"), tmp_path / "s.json")
    stated = read_back(tmp_path / "s.json")["predicate"]["verdicts"][0]

    assert stated["value"] == (value if value == 1e308 else None)


@pytest.mark.parametrize("text", [*HOSTILE_TEXTS, "\ud800", "x" * (2 * MAX_CHARACTERS)])
def test_hostile_text_stays_text(tmp_path: Path, text: str) -> None:
    """The file is ASCII without markup and without lines of its own; whoever parses it gets the text as it was."""
    write_statement(hostile_material(text), tmp_path / "s.json")
    raw = (tmp_path / "s.json").read_text("ascii")
    stated = read_back(tmp_path / "s.json")["predicate"]["verdicts"][0]

    assert [line for line in raw.split("\n") if not line.isprintable()] == []
    assert not [mark for mark in ("<", ">", "::", "##") if mark in raw]
    if text == "\ud800":
        assert "\\ud800" == stated["reason"]
    elif len(text) > MAX_CHARACTERS:
        assert stated["reason"].endswith("x [20,000 characters left out]")
    else:
        assert text == stated["reason"]


def test_a_statement_about_nothing_is_refused(tmp_path: Path) -> None:
    """It says what would be there to state something of."""
    with pytest.raises(RecordError, match="--passmark-freeze"):
        write_statement(material([speedup()], []), tmp_path / "s.json")


@given(any_json)
def test_inert_json_says_the_same(value: object) -> None:
    """Every parser gets back what went in, but for numbers that are not finite and lone surrogates."""
    raw = inert_json(value)

    assert raw.isascii()
    assert raw.isprintable()
    assert not [mark for mark in ("<", ">", "&", "::", "##") if mark in raw]
    assert json.loads(raw) == json.loads(inert_json(json.loads(raw)))


@given(st.text(st.characters(codec="utf-8"), max_size=200))
def test_inert_json_keeps_every_text(text: str) -> None:
    """Escapes are JSON's own."""
    assert text == json.loads(inert_json(text))
