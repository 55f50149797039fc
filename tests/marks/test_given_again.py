"""What a verdict says and its runs do not give is found; what was judged is what they give."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.given_again import contradicted
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import PassMark, Verdict
from pytest_mixgpu.records.model import RunRecord
from tests.judging import e1_marks, make_evidence, with_runs
from tests.sample_doctors import with_speed
from tests.samples import e1_plan

SPEEDUP, PARITY = e1_marks().mark("e1-speedup"), e1_marks().mark("e1-parity")
OTHERS = (
    PassMark(id="round", metric="round_s", comparator="at_most", bound=1e6, unit="ms"),
    PassMark(id="rate", metric="samples_per_s", comparator="at_least", bound=1.0, unit="samples/s"),
    PassMark(id="accuracy", metric="accuracy", comparator="at_least", bound=1.0, unit="%"),
)


def evidence() -> Evidence:
    """Three repeats that differ in speed."""
    return make_evidence(
        repeats=3,
        plan=with_runs(e1_plan(), 3),
        rehearsal=False,
        doctor=lambda run: with_speed(run, 1 + 0.01 * run.header.repeat),
    )


def judged(mark: PassMark) -> tuple[Verdict, tuple[RunRecord, ...]]:
    found = evidence()
    verdict = judge_mark(mark, found)
    return verdict, tuple(run for run in found.runs if run.id in verdict.run_ids)


@pytest.mark.parametrize("mark", [SPEEDUP, PARITY, *OTHERS], ids=lambda mark: mark.id)
def test_what_was_judged_is_what_its_runs_give(mark: PassMark) -> None:
    """Each metric that records alone give, and none of its values is found fault with."""
    verdict, runs = judged(mark)

    assert runs
    assert verdict.value is not None
    assert () == contradicted(verdict, runs)


@pytest.mark.parametrize("mark", [SPEEDUP, PARITY, *OTHERS], ids=lambda mark: mark.id)
def test_another_value_of_one_run_is_named(mark: PassMark) -> None:
    """Whatever is made good beside it."""
    verdict, runs = judged(mark)
    assert verdict.value is not None
    values = tuple(value + 0.001 for value in verdict.run_values or (verdict.value,))
    edited = replace(verdict, run_values=values, value=sorted(values)[len(values) // 2])

    assert any("its runs give" in text for text in contradicted(edited, runs))


def test_one_run_cannot_stand_for_several() -> None:
    """Each value of a run is one run's."""
    verdict, runs = judged(SPEEDUP)
    best = max(verdict.run_values)

    said = contradicted(replace(verdict, run_values=(best,) * 3, value=best), runs)
    assert any("its runs give" in text for text in said)


def word(verdict: Verdict) -> Verdict:
    return replace(verdict, word="PASS", bound=(verdict.value or 0) + 1)


EDITS = {
    "word": (word, "is PASS, and"),
    "median": (lambda one: replace(one, value=(one.value or 0) + 0.01), "the median of its runs' values"),
    "no bound": (lambda one: replace(one, bound=None), "no value beside a bound"),
    "one run": (lambda one: replace(one, n=1, run_values=one.run_values[:1], notes=()), "preliminary"),
    "no runs": (lambda one: replace(one, run_ids=()), "names no run behind it"),
}


@pytest.mark.parametrize("name", EDITS)
def test_what_contradicts_itself_is_named(name: str) -> None:
    """Word against bound, value against values, one run without its note, a number of runs without runs."""
    verdict, runs = judged(SPEEDUP)
    edit, says = EDITS[name]
    edited = edit(verdict)

    assert any(says in text for text in contradicted(edited, runs if edited.run_ids else ()))


def test_a_rehearsal_stays_one() -> None:
    """Its runs say so, whatever the file says."""
    found = make_evidence()
    verdict = judge_mark(SPEEDUP, found)

    assert () == contradicted(verdict, found.runs)
    assert any("rehearsal" in text for text in contradicted(replace(verdict, qualifiers=()), found.runs))


def test_what_records_alone_do_not_give_is_left() -> None:
    """A cost needs prices, which stand in the plan; a stated number has no run."""
    assert "cost_per_result" in METRICS
    stated = replace(judged(SPEEDUP)[0], run_ids=(), notes=("value-stated",))

    assert () == contradicted(stated, ())
