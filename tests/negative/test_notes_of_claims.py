"""What vouches for runs matters to every claim that stands on runs; what names the lock, to every other one."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.anchored import Outside
from pytest_mixgpu.marks.attested import Attested
from pytest_mixgpu.marks.checks import CHECKS, Finding
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.evidence import Evidence, LedgerState
from pytest_mixgpu.marks.model import Claim
from pytest_mixgpu.marks.official import official_refusal
from tests.judging import e1_marks, make_evidence
from tests.negative.doctoring import on_another_workload

OUTSIDE = ("unanchored", "unattested")
ON_THE_PLAN = {name for name, check in CHECKS.items() if not check.reads_runs}


def kept_and_signed(*, all_but: int = 0) -> Evidence:
    """Return a whole rehearsal of which heads and signatures outside cover all runs but so many."""
    runs = [run.id for run in make_evidence().runs]
    runs = runs[: len(runs) - all_but]
    outside = Outside(covered=tuple(runs), names_lock=not all_but)
    attested = Attested(accepted=dict.fromkeys(runs, "signed by a host"))
    return make_evidence(ledger=LedgerState(head="aa", count=3, outside=outside, attested=attested))


def without_runs(evidence: Evidence) -> Evidence:
    """Return the evidence as if nothing had ever been made."""
    return replace(evidence, runs=(), registered=(), attempts=(), superseded=(), ledger=LedgerState())


@pytest.mark.parametrize("claim", e1_marks().claims, ids=lambda claim: claim.id)
def test_claim_notes_what_its_runs_lack(claim: Claim) -> None:
    """Each claim passes with and without; that it stood on what somebody vouches for is to be seen."""
    expected = OUTSIDE[:1] if set(claim.checks) <= ON_THE_PLAN else OUTSIDE
    bare, most, whole = (
        judge_claim(claim, evidence) for evidence in (make_evidence(), kept_and_signed(all_but=1), kept_and_signed())
    )

    assert ("PASS", "PASS", "PASS") == (bare.word, most.word, whole.word)
    assert (expected, expected, ()) == (bare.notes, most.notes, whole.notes)
    assert ("", True) == (official_refusal(whole), "rebuilt, it would not show" in official_refusal(most))


def test_the_suite_has_claims_of_both_sorts() -> None:
    """Else the test before it shows one half."""
    assert {True, False} == {set(claim.checks) <= ON_THE_PLAN for claim in e1_marks().claims}


def test_check_that_is_not_known_counts_as_one_that_reads_nothing() -> None:
    """Such a claim is UNJUDGED, and there is nothing that could look as before."""
    verdict = judge_claim(Claim(id="e1-new", checks=("of-a-later-version",)), make_evidence())

    assert ("UNJUDGED", ("unanchored",)) == (verdict.word, verdict.notes)


@pytest.mark.parametrize("name", CHECKS)
@pytest.mark.parametrize("rehearsal", [True, False])
def test_check_says_truly_whether_it_reads_runs(name: str, *, rehearsal: bool) -> None:
    """One that looks at plan and lock alone finds the same without any run; every other one does not."""
    check = CHECKS[name]
    made = [make_evidence(rehearsal=rehearsal, doctor=doctor) for doctor in (None, on_another_workload)]
    found = [looked(name, one) for one in made]
    nothing = [looked(name, without_runs(one)) for one in made]

    if not check.reads_runs:
        assert found == nothing
    elif rehearsal:
        assert found != nothing


def looked(name: str, evidence: Evidence) -> Finding | None:
    """Make a check as a claim makes it; None where it needs runs and there are none."""
    check = CHECKS[name]
    return None if check.needs_runs and not evidence.completed else check.look(evidence)
