"""What is in force for the runs that count: workload and target from what they trained, evaluator from the plan."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import PassMark
from pytest_mixgpu.records.plan import EvaluationPlan
from tests.judging import make_evidence
from tests.negative.doctoring import on_another_workload
from tests.sample_doctors import only, with_settings
from tests.sample_timeline import MadeRun
from tests.samples import e1_plan


def on_the_plans_own(run: MadeRun) -> MadeRun:
    """Train the experiment's own workload on the stand-in pool."""
    return with_settings(run, workload="pets-vit-b16")


def test_workload_is_that_of_the_runs() -> None:
    """The rehearsal's if they trained it, the plan's if they trained that on the stand-in, else none."""
    rehearsed, own = make_evidence(), make_evidence(doctor=on_the_plans_own)
    other = make_evidence(doctor=on_another_workload)
    mixed = make_evidence(doctor=only(on_another_workload, name="fleet"))

    assert ["digits-vit", "pets-vit-b16", None, None] == [
        None if one.workload is None else one.workload.recipe for one in (rehearsed, own, other, mixed)
    ]
    assert ("", "") == (rehearsed.undescribed, own.undescribed)
    assert "nothing in the plan describes letters: there is no target" == other.undescribed
    assert "digits-vit, letters" in mixed.undescribed


def test_without_runs_the_stage_s_own_workload_is_meant() -> None:
    """A plan that was not run yet still says what it asks for."""
    workload = make_evidence(records=lambda _: []).workload

    assert workload is not None
    assert "digits-vit" == workload.recipe


@pytest.mark.parametrize(
    ("metric", "unit", "word"),
    [
        pytest.param("accuracy", "share", "PASS", id="accuracy-needs-no-target"),
        pytest.param("samples_per_s", "samples/s", "UNJUDGED", id="rate"),
        pytest.param("cost_per_result", "USD", "UNJUDGED", id="cost"),
    ],
)
def test_only_what_needs_a_target_is_unjudged_without_one(metric: str, unit: str, word: str) -> None:
    """A share of right answers is what it is; speed and cost count only for a model that is good enough."""
    mark = PassMark(id="a", metric=metric, comparator="at_most" if unit == "USD" else "at_least", bound=0.9, unit=unit)
    verdict = judge_mark(mark, make_evidence(doctor=on_another_workload))

    assert word == verdict.word, verdict
    assert ("there is no target" in verdict.reason) is (word == "UNJUDGED")


@pytest.mark.parametrize(
    "check", ["workload-described", "done-by-quality", "limits-stated", "controls-passed", "cost-per-result"]
)
def test_checks_name_the_workload_that_is_described_nowhere(check: str) -> None:
    """Description, rule of completion, limits, controls and cost all lack one thing, and say which."""
    finding = CHECKS[check].look(make_evidence(doctor=on_another_workload))

    assert any("nothing in the plan describes letters" in text for text in finding.missing), finding


def test_evaluator_in_force_is_the_rehearsals_own_or_the_plans() -> None:
    """E1 scores on 16 threads, its rehearsal on one; a rehearsal that declares none has the plan's."""
    plan = e1_plan()
    assert plan.rehearsal is not None
    silent = replace(plan, rehearsal=replace(plan.rehearsal, evaluation=None))
    expected = EvaluationPlan(device="cpu", number_format="float32", num_threads=16)

    assert expected == make_evidence(rehearsal=False).evaluation == make_evidence(plan=silent).evaluation
    assert replace(expected, num_threads=1) == make_evidence().evaluation
