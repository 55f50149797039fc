"""Beside its number a mark has a name that people use, and says how many runs stand behind it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import structs

from pytest_mixgpu.report.mark_texts import called, command_line, counted_runs, in_groups, reason_of
from pytest_mixgpu.report.verdict_rows import mark_row
from tests.report.made_verdicts import speedup


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"n": 0, "run_ids": ()}, "no run"),
        ({"n": 1, "run_ids": ("a",)}, "one run"),
        ({"n": 1, "run_ids": ("a", "b", "c")}, "one repeat, 3 runs"),
        ({"n": 3, "run_ids": ("a", "b", "c")}, "3 runs"),
        ({"n": 3, "run_ids": tuple("abcdefghi")}, "3 repeats, 9 runs"),
        ({"n": 3, "run_ids": tuple("abcdefghi"), "low": None, "high": None}, "all 9 runs together"),
        ({"n": 3, "run_ids": (), "low": None, "high": None}, "3 runs"),
    ],
)
def test_runs_behind_a_number_are_counted_as_they_are_listed(fields: dict[str, object], expected: str) -> None:
    """A speed-up takes a baseline, a fleet and a baseline again; a bill takes every run and has no spread."""
    assert expected == counted_runs(mark_row(structs.replace(speedup(), **fields)))


def test_a_metric_is_called_what_people_call_it() -> None:
    """One that a suite made up keeps its name."""
    known = mark_row(speedup(reason="speedup 1.8754 x (one run) is at least 1.4 x"))
    own = mark_row(speedup(metric="latency_ms", reason="latency_ms 3 is not at most 2"))

    assert called(known) == "Speed-up over one device"
    assert reason_of(known) == "Speed-up over one device 1.8754 x (one run) is at least 1.4 x"
    assert called(own) == "latency_ms"
    assert reason_of(own) == "latency_ms 3 is not at most 2"
    assert reason_of(mark_row(speedup(reason="speedups vary"))) == "speedups vary"


def test_sentences_of_repeats_are_put_together() -> None:
    """In their order; those of a single repeat stay where they are."""
    said = ["the range", "repeat 0: fast", "repeat 10: slow", "repeat 0: again: fast", "repeat x: not a number"]
    whole, by_repeat = in_groups(said)

    assert whole == ("the range", "repeat x: not a number")
    assert by_repeat == (("0", ("fast", "again: fast")), ("10", ("slow",)))
    assert in_groups(said[:2]) == (("the range", "repeat 0: fast"), ())


@given(st.lists(st.one_of(st.text(), st.builds("repeat {}: {}".format, st.integers(0, 3), st.text(min_size=1)))))
def test_no_sentence_is_lost_in_groups(sentences: list[str]) -> None:
    """Whatever they say, each stands once."""
    whole, by_repeat = in_groups(sentences)
    found = [*whole, *(f"repeat {number}: {text}" for number, texts in by_repeat for text in texts)]

    assert sorted(found) == sorted(sentences)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("/opt/v/lib/python3.12/site-packages/pytest/__main__.py", "suite", "-q"), "pytest suite -q"),
        (("/opt/v/bin/pytest", "a b"), "pytest 'a b'"),
        (("tox", "-e", "py"), "tox -e py"),
        ((), ""),
    ],
)
def test_a_command_is_written_as_it_would_be_typed(words: tuple[str, ...], expected: str) -> None:
    """Where pytest lies on one machine is of no use on another."""
    assert expected == command_line(words)
