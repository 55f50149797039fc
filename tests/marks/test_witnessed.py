"""What stands beside a verdict of git: what it shows of one mark, and always what it cannot."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.git import Bringing, GitWitness
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.official import official_refusal
from pytest_mixgpu.marks.witnessed import CANNOT_SHOW
from tests.judging import CLEAN_GIT, e1_marks, make_evidence
from tests.negative.doctoring import freeze_some, late_commit, no_git, one_mark_late

SPEEDUP, PARITY = e1_marks().mark("e1-speedup"), e1_marks().mark("e1-parity")
RECORDED = e1_marks().claim("e1-recorded-first")


def speedup_under(git: GitWitness | None) -> Verdict:
    return judge_mark(SPEEDUP, make_evidence(git=git))


@pytest.mark.parametrize(
    "git",
    [CLEAN_GIT, None, late_commit(), no_git("shallow"), one_mark_late(), replace(CLEAN_GIT, committer_date="")],
    ids=["clean", "not-asked", "late", "shallow", "one-late", "no-date"],
)
def test_what_git_cannot_show_is_always_said(git: GitWitness | None) -> None:
    """Beside every mark and claim that is frozen, whatever git shows."""
    evidence = make_evidence(git=git)

    for verdict in (judge_mark(SPEEDUP, evidence), judge_claim(RECORDED, evidence)):
        assert CANNOT_SHOW in verdict.witness
    assert "set by hand" in CANNOT_SHOW
    assert "no secret run" in CANNOT_SHOW


def test_what_git_shows_is_said_in_full() -> None:
    """Commit, both dates, whether it is in the history and the lock clean, and whether the first run came later."""
    text = " ".join(speedup_under(CLEAN_GIT).witness)

    assert "commit c0c0c0c0c0c0 brought its present value: author's date 2026-" in text
    assert "it is in the history of HEAD (c1c1c1c1c1c1), and the lock is as HEAD holds it" in text
    assert "its present value was committed before the first run that was registered under it (2026-11-29T12" in text
    assert "no remote-tracking branch of this clone contains that commit" in text


def test_a_problem_is_said_with_its_remedy() -> None:
    """A shallow clone, say."""
    assert speedup_under(no_git("shallow")).witness[0] == (
        "git cannot witness it: this is a shallow clone (to do: git fetch --unshallow)"
    )


@pytest.mark.parametrize(
    ("branches", "says"),
    [
        (("origin/main",), "by this clone's own account origin/main contains that commit"),
        (("a/x", "b/y"), "by this clone's own account a/x, b/y contain that commit"),
        ((), "it may never have been pushed"),
        (None, "git took too long"),
    ],
)
def test_a_push_is_this_clones_own_account(branches: tuple[str, ...] | None, says: str) -> None:
    """When it was, only the other side can say."""
    one = Bringing(id=SPEEDUP.id, commit="c2" * 20, author_date=CLEAN_GIT.author_date, branches=branches)
    found = speedup_under(replace(CLEAN_GIT, marks=(replace(one, committer_date=CLEAN_GIT.committer_date),)))

    assert any(says in text for text in found.witness)


def test_a_mark_that_was_committed_late_says_so_and_the_claim_decides() -> None:
    """The mark keeps its word, with a note and why among its details; the claim about recording fails."""
    evidence = make_evidence(git=one_mark_late())
    late, other, claim = judge_mark(SPEEDUP, evidence), judge_mark(PARITY, evidence), judge_claim(RECORDED, evidence)
    said = "committed-late: its present value was committed after the first run that was registered under it"

    assert ("PASS", "FAIL") == (late.word, claim.word)
    assert [True, False] == [any(text.startswith(said) for text in one.details) for one in (late, other)]
    assert [True, False, False] == ["committed-late" in one.notes for one in (late, other, claim)]
    assert ["after the first run" in official_refusal(one) for one in (late, other)] == [True, False]


def test_a_claim_that_was_committed_late_says_so_itself() -> None:
    """What it stands on may have been chosen after the runs, whatever its checks say."""
    one = replace(one_mark_late().marks[0], id="e1-wait")
    verdict = judge_claim(e1_marks().claim("e1-wait"), make_evidence(git=replace(CLEAN_GIT, marks=(one,))))

    assert ("PASS", True) == (verdict.word, "committed-late" in verdict.notes)
    assert any(text.startswith("committed-late: ") for text in verdict.details)
    assert "after the first run" in official_refusal(verdict)


@pytest.mark.parametrize(
    ("git", "why"),
    [
        pytest.param(None, "git was not asked", id="not-asked"),
        pytest.param(no_git("no-repository"), "there is no git repository here", id="no-repository"),
        pytest.param(no_git("shallow"), "this is a shallow clone (to do: git fetch --unshallow)", id="shallow"),
        pytest.param(no_git("uncommitted"), "differs from what is committed", id="uncommitted"),
        pytest.param(replace(CLEAN_GIT, clean=False), "is not what the history of HEAD holds", id="dirty"),
        pytest.param(replace(CLEAN_GIT, ancestor=False), "is not what the history of HEAD holds", id="elsewhere"),
        pytest.param(replace(CLEAN_GIT, lock_digest="ab" * 32), "changed on disk since", id="another-lock"),
        pytest.param(replace(CLEAN_GIT, committer_date=""), "a date is missing", id="no-date"),
        pytest.param(one_mark_late(elsewhere=True), "as a rebase or a squash leaves it", id="squashed"),
    ],
)
def test_where_git_cannot_tell_an_official_session_does_not_pass(git: GitWitness | None, why: str) -> None:
    """The mark keeps its word, notes `unwitnessed` with the reason, and is refused for that."""
    verdict = speedup_under(git)

    assert ("PASS", True) == (verdict.word, "unwitnessed" in verdict.notes)
    assert [True] == [why in text for text in verdict.details if text.startswith("unwitnessed: ")]
    assert "git does not show that its present value was committed before" in official_refusal(verdict)


def test_what_git_dates_before_the_first_run_has_no_note() -> None:
    """Neither of the two, nor has what is not frozen: that it is exploratory says more."""
    loose = judge_mark(PARITY, make_evidence(lock=lambda _: freeze_some(), git=None))

    for verdict in (speedup_under(CLEAN_GIT), loose):
        assert not {"committed-late", "unwitnessed"} & set(verdict.notes)
    assert ("exploratory",) == loose.qualifiers[-1:]


def test_what_is_not_frozen_has_no_witness() -> None:
    """There is nothing that could have been written before."""
    evidence = make_evidence(lock=lambda _: freeze_some())

    assert () == judge_mark(PARITY, evidence).witness


def test_remarks_are_said_beside_the_commit() -> None:
    """What contradicts itself, and whose repository it is."""
    one = Bringing(
        id=SPEEDUP.id,
        commit="c2" * 20,
        author_date=CLEAN_GIT.author_date,
        committer_date=CLEAN_GIT.committer_date,
        remarks=("the lock lay at a then",),
    )
    found = speedup_under(replace(CLEAN_GIT, marks=(one,), remarks=("a submodule of b",)))

    assert {"the lock lay at a then", "a submodule of b"} <= set(found.witness)
