"""Code that changed, or was written into, between registration and end of a run is noted and named, in every form."""

import pytest

from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.official import official_refusal
from tests.judging import e1_marks, make_evidence
from tests.sample_doctors import Doctor, only, with_outcome, with_workers
from tests.sample_parts import hex_of
from tests.sample_timeline import MadeRun

STAR = "pytest_mixgpu/jobs/star.py"


def _judged(*doctors: Doctor) -> Verdict:
    def see(run: MadeRun) -> MadeRun:
        for doctor in doctors:
            run = doctor(run)
        return run

    return judge_mark(e1_marks().mark("e1-speedup"), make_evidence(doctor=see))


def _watched(run: MadeRun) -> MadeRun:
    """Record what a run sees whose code nobody wrote into."""
    code = run.header.digests.code
    own = {"my_model": hex_of("my model")}
    return with_outcome(with_workers(run, code_digest=code, own_modules=own), code_digest=code)


def test_a_record_that_does_not_say_is_not_doubted() -> None:
    """Records of the first schema, and runs that never closed, know nothing of it."""
    assert "code-changed" not in _judged().notes


def test_code_that_stayed_as_it_was_is_not_doubted() -> None:
    """What the cases below change is what gives the note."""
    verdict = _judged(_watched)

    assert "code-changed" not in verdict.notes
    assert not [text for text in verdict.details if text.startswith("code-changed")]


@pytest.mark.parametrize(
    ("doctor", "says"),
    [
        pytest.param(
            lambda run: with_outcome(run, code_digest=hex_of("edited")),
            "the code was changed under it",
            id="other-code-at-the-end",
        ),
        pytest.param(
            lambda run: with_outcome(run, code_touched=(STAR,)), f"{STAR} was written", id="edited-and-put-back"
        ),
        pytest.param(
            lambda run: with_workers(run, code_digest=hex_of("edited")),
            "participant-0, participant-1 of run ",
            id="other-code-on-a-worker",
        ),
        pytest.param(
            lambda run: with_workers(run, code_touched=(STAR,)),
            f"{STAR} was written, whatever it holds now, while participant-0, participant-1 of run ",
            id="put-back-while-a-worker-started",
        ),
        pytest.param(
            lambda run: with_workers(run, own_modules={"my_model": hex_of("edited")}),
            "the module my_model, which is not installed, differs",
            id="another-model-of-the-users",
        ),
    ],
)
def test_changed_code_is_noted_and_no_official_session_takes_it(doctor: Doctor, says: str) -> None:
    """One run of several is enough; the sentence names it, and the file."""
    verdict = _judged(_watched, only(doctor, name="fleet"))

    assert "PASS" == verdict.word
    assert "code-changed" in verdict.notes
    assert "the code that produces the number" in official_refusal(verdict)
    named = [text for text in verdict.details if text.startswith("code-changed: ")]
    assert any(says in text and "-e1-fleet-0-" in text for text in named), named


def test_a_file_is_named_once_however_many_runs_followed() -> None:
    """One edit early in a session concerns all that came after it, and is one sentence."""

    def written(run: MadeRun) -> MadeRun:
        return with_outcome(with_workers(run, code_touched=(STAR,)), code_touched=(STAR,))

    named = [text for text in _judged(_watched, written).details if text.startswith("code-changed: ")]

    assert 1 == len(named)
    assert "before 8 runs ended: " in named[0]
    assert named[0].endswith(" and 5 more")
