"""Every word, qualifier and note has a meaning in words, and every piece of evidence a place on the page."""

from typing import get_args

import pytest

from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Note, Qualifier, Verdict, Word
from pytest_mixgpu.records.model import Role
from pytest_mixgpu.report.page_sections import SECTIONS, place_of_check, place_of_metric, places_of
from pytest_mixgpu.report.verdict_rows import mark_row
from pytest_mixgpu.report.words import (
    ANSWERS,
    METRICS_IN_WORDS,
    NOTES_IN_WORDS,
    QUALIFIERS_IN_WORDS,
    ROLES_IN_WORDS,
    WORDS_IN_WORDS,
    answer_in_words,
    answer_of,
)
from tests.judging import freeze_e1
from tests.report.made_verdicts import claim, speedup
from tests.samples import e1_plan


def test_nothing_that_a_verdict_says_is_left_unexplained() -> None:
    """A note that is added later needs its sentence, too."""
    assert set(get_args(Note)) - set(NOTES_IN_WORDS) == set()
    assert set(get_args(Qualifier)) == set(QUALIFIERS_IN_WORDS)
    assert set(get_args(Word)) == set(WORDS_IN_WORDS) == set(ANSWERS)
    assert set(METRICS) - set(METRICS_IN_WORDS) == set()
    assert set(get_args(Role)) == set(ROLES_IN_WORDS)


def test_every_check_and_every_metric_has_its_section() -> None:
    """A check without a place would leave its claim without a link."""
    assert [name for name in CHECKS if place_of_check(name) not in SECTIONS] == []
    assert [name for name in METRICS if place_of_metric(name) not in SECTIONS] == []


def test_a_claim_leads_to_the_sections_of_its_checks() -> None:
    """In the order of the page; without a lock that says on which checks it stands, to none."""
    lock = freeze_e1(e1_plan())

    assert places_of(claim("cost"), lock) == ("cost",)
    assert places_of(claim("workload"), lock) == ("quality", "conditions", "not-shown")
    assert places_of(speedup(), None) == ("marks", "time")
    assert places_of(claim("cost"), None) == ()
    assert places_of(claim("unheard-of"), lock) == ()


@pytest.mark.parametrize(
    ("word", "qualifiers", "expected"),
    [
        ("PASS", (), "Met"),
        ("PASS", ("exploratory",), "Met, exploratory"),
        ("PASS", ("exploratory", "rehearsal"), "Met in rehearsal"),
        ("PASS", ("rehearsal", "emulated"), "Met by emulation"),
        ("FAIL", ("rehearsal",), "Not met"),
        ("UNJUDGED", (), "Not judged"),
    ],
)
def test_only_a_plain_pass_is_met(word: Word, qualifiers: tuple[Qualifier, ...], expected: str) -> None:
    """A qualifier stands in the answer itself, the strongest one."""
    assert expected == answer_of(speedup(word=word, qualifiers=qualifiers))


@pytest.mark.parametrize(
    ("verdicts", "short", "sentence", "tone"),
    [
        pytest.param([claim("a"), claim("b")], "Met", "All 2 items of the checklist passed.", "good", id="plain"),
        pytest.param([claim("a")], "Met", "The one item passed.", "good", id="one"),
        pytest.param(
            [claim("a"), speedup()],
            "Rehearsed, not answered",
            "All 2 items of the checklist passed, 1 of them on a stand-in for the experiment.",
            "caution",
            id="rehearsed",
        ),
        pytest.param(
            [claim("a", word="FAIL"), claim("b", word="VOID"), claim("c")],
            "Not met",
            "Of 3 items of the checklist 1 void, 1 not met, 1 met.",
            "bad",
            id="failed",
        ),
        pytest.param(
            [claim("a", word="VOID"), claim("b", word="UNJUDGED")],
            "Void: not answered",
            "Of 2 items of the checklist 1 void, 1 not judged.",
            "bad",
            id="void",
        ),
        pytest.param(
            [claim("a", word="FAIL"), claim("b", word="TAMPERED")],
            "Tampered with",
            "Of 2 items of the checklist 1 tampered with, 1 not met.",
            "bad",
            id="tampered",
        ),
        pytest.param([], "Nothing was judged", "No mark and no claim has a verdict.", "bad", id="nothing"),
    ],
)
def test_the_whole_question_has_one_answer(verdicts: list[Verdict], short: str, sentence: str, tone: str) -> None:
    """The gravest word answers, and what is weak about a pass is in the answer."""
    found = answer_in_words([(verdict,) for verdict in verdicts])

    assert (short, sentence, tone) == (found.short, found.sentence, found.tone)


@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (speedup(value=1.9, bound=1.4), "It would no longer be met below 1.4 x, 0.500 x from here."),
        (speedup(value=1.3, bound=1.4, word="FAIL"), "It would be met at 1.4 x, 0.100 x from here."),
        (
            speedup(value=-0.2, bound=0.5, comparator="within"),
            "It would no longer be met above 0.5 x, 0.300 x from here.",
        ),
        (speedup(value=2.0, bound=3.0, comparator="at_most"), "It would no longer be met above 3 x, 1.00 x from here."),
        (speedup(value=None, word="UNJUDGED"), ""),
        (speedup(value=float("nan"), word="FAIL"), ""),
        (speedup(word="VOID"), ""),
        (claim("a"), ""),
    ],
)
def test_a_number_says_what_would_change_its_word(verdict: Verdict, expected: str) -> None:
    """Only where value and bound were compared."""
    assert expected == mark_row(verdict).margin


def test_a_pass_says_what_an_official_session_would_refuse() -> None:
    """A failure needs no refusal."""
    assert "it is rehearsal" in mark_row(speedup()).refusal
    assert mark_row(speedup(word="FAIL")).refusal == ""
    assert mark_row(speedup(qualifiers=(), notes=())).refusal == ""
