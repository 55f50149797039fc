"""Rules that a mark freezes beside its bound: the least number of runs, and an interval on both sides."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import PassMark, Straddling
from pytest_mixgpu.marks.rules import ruled, told, too_few
from pytest_mixgpu.marks.stated import judge_value
from tests.judging import e1_marks
from tests.negative.cases_of_rules import APART, CLEAR, experiment, least, straddling

SPEEDUP = e1_marks().mark("e1-speedup")
LOST = float("-inf")
STEP = PassMark(id="step", metric="step_time", comparator="at_most", bound=2.0, unit="ms")


@pytest.mark.parametrize(("num_runs", "is_enough"), [(2, False), (3, True), (4, True)])
def test_least_number_of_runs_is_met_from_equal_on(num_runs: int, is_enough: bool) -> None:  # noqa: FBT001
    """Three asked for: two are too few, three are enough."""
    assert is_enough is (too_few(least(3)(SPEEDUP), num_runs) == "")


def test_as_many_runs_as_the_mark_asks_for_are_judged() -> None:
    """The rule adds nothing where it is kept."""
    verdict = judge_mark(least(3)(SPEEDUP), experiment(least(3), CLEAR)())

    assert ("PASS", 3) == (verdict.word, verdict.n), verdict
    assert "the mark asks for at least 3 runs" in verdict.details


@pytest.mark.parametrize("rule", ["decide", "unjudged", "fail"])
def test_clear_interval_is_judged_alike_under_every_rule(rule: Straddling) -> None:
    """On one side of the bound there is nothing to rule."""
    verdict = judge_mark(straddling(rule)(SPEEDUP), experiment(straddling(rule), CLEAR)())

    assert ("PASS", False) == (verdict.word, "inconclusive" in verdict.notes), verdict


@pytest.mark.parametrize(("rule", "word"), [("decide", "PASS"), ("unjudged", "UNJUDGED"), ("fail", "FAIL")])
def test_straddling_interval_does_what_the_mark_froze(rule: Straddling, word: str) -> None:
    """The same runs, the same median above the bound, three rules; `inconclusive` is noted under each."""
    verdict = judge_mark(straddling(rule)(SPEEDUP), experiment(straddling(rule), APART)())

    assert (word, True) == (verdict.word, "inconclusive" in verdict.notes), verdict


@pytest.mark.parametrize("change", [least(2), straddling("unjudged"), straddling("fail")])
def test_rehearsal_tells_the_rules_and_does_not_apply_them(change: object) -> None:
    """One session's run cannot keep a rule about many, and a rehearsal answers nothing in any case."""
    assert callable(change)
    verdict = judge_mark(change(SPEEDUP), experiment(change, CLEAR[:1], rehearsal=True)())

    assert ("PASS", ("rehearsal",)) == (verdict.word, verdict.qualifiers), verdict
    assert any("these rules are the experiment's" in text for text in verdict.details)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        pytest.param([15.0, 15.1, LOST], "UNJUDGED", id="of-three-no-interval-is-left"),
        pytest.param([15.0, 15.1, 15.2, 15.3, 15.4, LOST], "FAIL", id="of-six-it-reaches-to-the-lost-one"),
        pytest.param([*(15.0 + step / 10 for step in range(8)), LOST], None, id="of-nine-ranks-leave-it-out"),
    ],
)
def test_attempt_that_counts_as_the_worst_value_has_its_place_in_the_interval(
    values: list[float], word: str | None
) -> None:
    """It is never dropped: what the interval says with it on the bad side is what counts."""
    found = ruled(straddling("fail")(SPEEDUP), values, 11.2, is_ratio=True)

    assert word == (None if found is None else found[0]), found


@pytest.mark.parametrize(
    ("values", "is_open"),
    [
        pytest.param([11.2, 11.3, 11.4, 11.5, 11.6, 11.7], False, id="touches-from-above"),
        pytest.param([11.1, 11.3, 11.4, 11.5, 11.6, 11.7], True, id="just-over-the-edge"),
        pytest.param([10.0, 10.1, 10.2, 10.3, 10.4, 11.2], False, id="touches-from-below"),
    ],
)
def test_interval_that_touches_the_bound_does_not_straddle(values: list[float], is_open: bool) -> None:  # noqa: FBT001
    """Values on both sides are asked for."""
    assert is_open is (ruled(straddling("unjudged")(SPEEDUP), values, 11.2) is not None)


@pytest.mark.parametrize(
    ("mark", "word", "says"),
    [
        pytest.param(STEP, "PASS", "is at most", id="plain"),
        pytest.param(replace(STEP, least_runs=2), "UNJUDGED", "the mark asks for at least 2", id="least-runs"),
        pytest.param(replace(STEP, straddling="fail"), "UNJUDGED", "no interval: one run", id="straddling"),
    ],
)
def test_a_stated_number_is_one_run(mark: PassMark, word: str, says: str) -> None:
    """However it was worked out, there is one of it and no interval."""
    verdict = judge_value(mark, 1.5)

    assert word == verdict.word, verdict
    assert says in verdict.reason
    assert (1, None, "no interval: one run") == (verdict.n, verdict.interval, verdict.interval_method)


def test_plain_marks_tell_no_rules() -> None:
    """What goes without saying is not said."""
    assert () == told(SPEEDUP, rehearsal=False) == told(SPEEDUP, rehearsal=True)
