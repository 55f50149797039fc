"""Each note, qualifier, metric and seal is shown at work, beside the same experiment without it; none is left out."""

import ast
import inspect
from typing import get_args

import pytest

from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Note, Qualifier
from pytest_mixgpu.marks.official import REFUSED_NOTES, official_refusal
from pytest_mixgpu.marks.seals import tampering
from tests.negative.cases_of_notes import (
    METRIC_CASES,
    NOT_MADE_YET,
    NOTE_CASES,
    QUALIFIER_CASES,
    SEAL_CASES,
    NoteCase,
    SealCase,
)


@pytest.mark.parametrize("case", NOTE_CASES, ids=lambda case: case.note)
def test_note_stands_where_it_belongs_and_nowhere_else(case: NoteCase) -> None:
    """What brings a note about does, and without it the note is gone: a note that is always there says nothing."""
    assert case.note in case.shown().notes
    assert case.note not in case.not_shown().notes


@pytest.mark.parametrize("case", QUALIFIER_CASES, ids=lambda case: case.note)
def test_qualifier_stands_where_it_belongs_and_nowhere_else(case: NoteCase) -> None:
    """The same for what says that this was not the experiment."""
    assert case.note in case.shown().qualifiers
    assert case.note not in case.not_shown().qualifiers


@pytest.mark.parametrize("name", METRIC_CASES)
def test_metric_is_met_and_missed(name: str) -> None:
    """An honest rehearsal meets a mark on the metric, and one that was made worse does not."""
    case = METRIC_CASES[name]()

    assert ("PASS", case.mark.metric) == (judge_mark(case.mark, case.honest()).word, name)
    assert judge_mark(case.mark, case.missing_it()).word in {"FAIL", "VOID"}


@pytest.mark.parametrize("case", SEAL_CASES, ids=lambda case: case.what)
def test_what_does_not_match_its_seal_is_tampered(case: SealCase) -> None:
    """One seal is broken at a time, and the reason says which."""
    verdict = case.judged()

    assert "TAMPERED" == verdict.word
    assert case.says in " ".join([verdict.reason, *verdict.details])


@pytest.mark.parametrize(
    "case", [case for case in NOTE_CASES if case.note in REFUSED_NOTES], ids=lambda case: case.note
)
def test_what_an_official_session_refuses_is_refused_for_that_note(case: NoteCase) -> None:
    """The sentence about the note stands in the refusal where the note does, and not beside it."""
    said = {str(note): text for note, text in REFUSED_NOTES.items()}[case.note]

    assert said in official_refusal(case.shown())
    assert said not in official_refusal(case.not_shown())


def test_none_is_left_out() -> None:
    """A note, a qualifier or a metric that is new comes with a case of its own."""
    assert sorted(get_args(Note)) == sorted(case.note for case in NOTE_CASES)
    assert set(get_args(Qualifier)) == {case.note for case in QUALIFIER_CASES} | NOT_MADE_YET
    assert set(METRICS) == set(METRIC_CASES)


def test_every_source_of_tampering_has_a_case() -> None:
    """As many cases as there are places from which the judge takes a broken seal, read from its own source."""
    places = 0
    for node in ast.walk(ast.parse(inspect.getsource(tampering))):
        if isinstance(node, ast.Assign | ast.AugAssign) and "found" in ast.unparse(node).split("=")[0]:
            places += len(node.value.elts) if isinstance(node.value, ast.List | ast.Tuple) else 1
        places += isinstance(node, ast.Call) and ast.unparse(node.func) == "found.append"

    assert places == len(SEAL_CASES)
    assert len({case.what for case in SEAL_CASES}) == len(SEAL_CASES)
