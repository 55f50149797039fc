"""Locks that were edited and sealed again: what each change names is what it changed, or every verdict is TAMPERED."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Lock, broken_seals
from pytest_mixgpu.marks.lock_file import lock_text, parse_lock, seal_of
from pytest_mixgpu.marks.model import Verdict
from tests.judging import e1_marks, make_evidence
from tests.negative.cases_of_locks import LOCK_CASES, SPEEDUP, LockCase, amended, easier, grown, sealed_from


def verdict_under(lock: Lock) -> Verdict:
    """Judge a mark by runs that were made under a lock, with a marker that agrees with it."""
    mark = lock.mark(SPEEDUP) or e1_marks().mark(SPEEDUP)
    return judge_mark(mark, make_evidence(lock=lambda _: lock))


def test_the_lock_that_the_cases_start_from_is_whole() -> None:
    """What they change is what is found; the mark was never amended itself, and only the judge was."""
    lock = grown()

    assert () == broken_seals(lock)
    assert "PASS" == verdict_under(lock).word
    assert lock == parse_lock(lock_text(lock), where="lock")


@pytest.mark.parametrize("case", LOCK_CASES, ids=lambda case: case.what)
def test_a_change_that_does_not_say_what_it_changed_is_tampering(case: LockCase) -> None:
    """Every seal fits, and the fault names the change, the part and what is wrong."""
    lock = case.make(grown())

    assert all(entry.seal == seal_of(entry) for entry in lock.chain)
    assert "edited by hand" not in " ".join(broken_seals(lock))
    verdict = verdict_under(lock)
    assert "TAMPERED" == verdict.word
    assert any(case.says in text for text in (verdict.reason, *verdict.details)), verdict


def test_an_edit_by_hand_names_the_part() -> None:
    """Beside the whole, which does not fit either."""
    faults = broken_seals(easier(grown()))

    assert "the lock's content is not what its last change sealed: it was edited by hand; restore it from git" in faults
    assert "mark e1-speedup is not as change 3 of the lock, its last, sealed it" in faults


def test_whoever_writes_one_more_change_leaves_the_note() -> None:
    """What can be done: an amendment, forged or not, is one."""
    lock = amended(grown(), SPEEDUP, bound=0.1)
    verdict = verdict_under(lock)

    assert ("PASS", True) == (verdict.word, "amended" in verdict.notes)
    assert any("e1-speedup amended" in text and '"bound":0.7' in text for text in verdict.amendments)


def test_a_chain_that_was_rebuilt_from_the_freeze_on_shows_nothing() -> None:
    """What no chain can show, here said: only git and a lock kept elsewhere do. Runs made before count no more."""
    lock = sealed_from(easier(grown()), 0)

    assert () == broken_seals(lock)
    assert () == lock.amendments(SPEEDUP)
    before = make_evidence(lock=lambda _: grown())
    verdict = judge_mark(lock.marks[-1], replace(before, lock=lock))
    assert "UNJUDGED" == verdict.word, verdict
