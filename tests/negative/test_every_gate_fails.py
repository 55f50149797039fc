"""Each gate is shown to fail: a doctored experiment for every check of every claim, and for every mark."""

import pytest

from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Claim
from tests.judging import e1_marks, make_evidence
from tests.negative.doctored import CHECK_CASES, MARK_CASES, Case


@pytest.mark.parametrize("claim", e1_marks().claims, ids=lambda claim: claim.id)
def test_a_whole_rehearsal_supports_every_claim_without_a_qualifier(claim: Claim) -> None:
    """What the doctored cases change is what makes them fail: undoctored, every claim holds."""
    verdict = judge_claim(claim, make_evidence())

    assert ("PASS", ()) == (verdict.word, verdict.qualifiers), verdict


@pytest.mark.parametrize("mark_id", [mark.id for mark in e1_marks().marks])
def test_a_whole_rehearsal_meets_every_mark_as_a_rehearsal(mark_id: str) -> None:
    """A rehearsal that meets a mark is a PASS with that qualifier, never a plain one."""
    verdict = judge_mark(e1_marks().mark(mark_id), make_evidence())

    assert ("PASS", ("rehearsal",)) == (verdict.word, verdict.qualifiers), verdict


@pytest.mark.parametrize("case", CHECK_CASES, ids=lambda case: f"{case.gate}-{case.what}")
def test_doctored_experiment_fails_the_claim_for_the_right_reason(case: Case) -> None:
    """The suite's own claim with this check fails, with the check's name beside what is missing."""
    claim = next(claim for claim in e1_marks().claims if case.gate in claim.checks)

    verdict = judge_claim(claim, case.make())

    texts = [text for text in (verdict.reason, *verdict.details) if text.endswith(f"({case.gate})")]
    assert verdict.word == case.word, verdict
    assert any(case.says in text for text in texts), verdict


@pytest.mark.parametrize("case", MARK_CASES, ids=lambda case: f"{case.gate}-{case.what}")
def test_doctored_experiment_fails_the_mark_for_the_right_reason(case: Case) -> None:
    """The word is right and the reason, not some detail, says why."""
    verdict = judge_mark(case.mark(e1_marks().mark(case.gate)), case.make())

    assert verdict.word == case.word, verdict
    assert case.says in verdict.reason, verdict


def test_every_registered_check_has_a_doctored_case() -> None:
    """A gate that was never seen to fail is probably broken."""
    assert set(CHECKS) == {case.gate for case in CHECK_CASES}


def test_every_mark_and_every_test_of_the_suite_has_a_doctored_case() -> None:
    """Ten tests, each with a way to fail."""
    gates = {case.gate for case in CHECK_CASES} | {case.gate for case in MARK_CASES}
    covered = {
        name: [one for one in found if (set(one.checks) if isinstance(one, Claim) else {one.id}) <= gates]
        for name, found in e1_marks().by_test.items()
    }

    assert {name: list(found) for name, found in e1_marks().by_test.items()} == covered
    assert len(covered) == 10
    assert all(covered.values())


def test_every_check_is_used_by_the_suite() -> None:
    """No check is dead."""
    assert set(CHECKS) == {name for claim in e1_marks().claims for name in claim.checks}
