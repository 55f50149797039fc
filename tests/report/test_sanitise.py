"""No text from outside can act on a terminal, a CI log, an XML parser or a page."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.report.sanitise import clean, clean_for_log

any_text = st.text(st.characters(exclude_categories=()))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("NVIDIA A40", "NVIDIA A40", id="ordinary"),
        pytest.param("Größe 8 µs · 光", "Größe 8 µs · 光", id="other-scripts"),
        pytest.param("a\x1b[2Jb", "a\\x1b[2Jb", id="ansi"),
        pytest.param("a\nb\tc\r", "a\\nb\\tc\\r", id="lines"),
        pytest.param("\x9b31m", "\\u009b31m", id="c1"),
        pytest.param("\u202egpj.exe", "\\u202egpj.exe", id="bidi"),
        pytest.param("a\u200bb\ufeff", "a\\u200bb\\ufeff", id="zero-width"),
        pytest.param("\U000e0041", "\\U000e0041", id="tag"),
        pytest.param("\ud800", "\\ud800", id="surrogate"),
        pytest.param("\ufffe", "\\ufffe", id="no-character"),
        pytest.param("e\u0301", "e\u0301", id="accent"),
        pytest.param("e" + "\u0301" * 50, "e" + "\u0301" * 3, id="pile-of-marks"),
    ],
)
def test_what_could_act_is_shown_instead(text: str, expected: str) -> None:
    """Ordinary writing stays, commands become visible."""
    assert expected == clean(text)


def test_a_text_that_is_cut_says_so() -> None:
    """Nothing is left out in silence."""
    assert clean("abcdef", limit=4) == "abcd [2 characters left out]"


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("::error::owned", "| ::error::owned"),
        ("   ::add-mask::x", "   | ::add-mask::x"),
        ("tests/a.py::test_b", "tests/a.py::test_b"),
        ("x ##[error]y", "x # #[error]y"),
        ("##vso[task.setvariable]", "# #vso[task.setvariable]"),
        ("##teamcity[testFailed]", "# #teamcity[testFailed]"),
        ("## heading", "## heading"),
        ("see [[ATTACHMENT|/etc/passwd]]", "see [ [ATTACHMENT|/etc/passwd]]"),
    ],
)
def test_a_log_line_gives_no_orders_to_a_ci_service(line: str, expected: str) -> None:
    """GitHub, Azure, TeamCity, Jenkins and GitLab read orders from logs."""
    assert expected == clean_for_log(line)


@given(any_text)
def test_what_comes_out_is_printable_and_can_be_encoded(text: str) -> None:
    """Every character has a shape, and UTF-8 takes it."""
    shown = clean(text)

    assert shown.encode("utf-8").decode("utf-8") == shown
    assert all(unicodedata.category(character) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} for character in shown)


@given(any_text)
def test_cleaning_twice_changes_nothing_more(text: str) -> None:
    """A text may pass through several writers."""
    once = clean_for_log(text)

    assert once == clean_for_log(once)
