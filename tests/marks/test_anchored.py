"""Ledgers held against heads that were kept outside: what fits, what contradicts, what is covered and announced."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.marks.anchored import GivenLedger, JudgedRun, Outside, held_against
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.evidence import LedgerState
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.records.anchors.model import Anchor, AnchorReading, Proof
from pytest_mixgpu.records.anchors.statement import Statement
from pytest_mixgpu.records.chain import LedgerEntry
from tests.judging import e1_marks, make_evidence

LEDGER, LOCK = "1e" * 32, "10" * 32
GIT = Proof(kind="git", by="c0" * 20, at="2026-11-29T12:00:00+00:00")
SSH = Proof(kind="ssh", by="lab (SHA256:abc)")
TSA = Proof(kind="tsa", by="CN=Clock", at="2026-11-29T12:00:00+00:00")
CLOSED_AT = "2026-11-29T12:00:09.000+00:00"


def head(count: int) -> str:
    """Return the head that the ledger had with so many lines."""
    return f"{count:064x}"


def anchor(count: int, *proofs: Proof, event: str = "close", **change: object) -> Anchor:
    """Keep the head of so many lines; two lines a run, after the opening one."""
    stated = Statement(
        suite="e1",
        event="close",
        ledger=LEDGER,
        head=head(count),
        count=count,
        num_runs=count // 2,
        lock=LOCK,
        at="then",
    )
    return Anchor(
        name=f"anchors/{count:06d}", statement=replace(stated, event=event, **change), proofs=proofs or (GIT,)
    )


def ledger(count: int, *, identity: str = LEDGER) -> GivenLedger:
    return GivenLedger(path="reports", identity=identity, count=count, places={head(n): n for n in range(1, count + 1)})


def run(number: int, *, is_open: bool = False) -> JudgedRun:
    """Return the run that stands in lines 2n and 2n + 1, counted from 1; the first has number 1."""
    registered = LedgerEntry(
        n=2 * number - 1, at="2026-11-29T11:59:00.000+00:00", event="register", run_id=f"run-{number}", suite="e1"
    )
    closed = LedgerEntry(n=2 * number, at=CLOSED_AT, event="close", run_id=f"run-{number}", suite="e1")
    return JudgedRun(ledger="reports", registered=registered, closed=None if is_open else closed)


def held(
    anchors: Sequence[Anchor],
    *,
    ledgers: Sequence[GivenLedger] = (ledger(5),),
    runs: Sequence[JudgedRun] = (run(1), run(2)),
    locks: Sequence[str] = (LOCK,),
    rehearsal: bool = False,
) -> Outside:
    return held_against(
        AnchorReading(anchors=tuple(anchors)), ledgers, runs, suite="e1", locks=locks, rehearsal=rehearsal
    )


def test_nothing_outside_says_nothing() -> None:
    """Neither a fault nor a sentence, and no run is covered."""
    assert Outside(announced={"run-1": (), "run-2": ()}) == held([])
    assert () == held([]).told_of(["run-1"])


def test_runs_before_a_head_outside_are_covered() -> None:
    """What was added after it is not."""
    found = held([anchor(3)])

    assert ("run-1",) == found.covered
    assert () == found.contradictions


@given(count=st.integers(1, 9), length=st.integers(1, 9))
def test_a_head_covers_what_stands_before_it(count: int, length: int) -> None:
    """Whatever the lengths: a head within the ledger covers whole runs before it, one beyond its end is a fault."""
    runs = [run(number) for number in range(1, (length - 1) // 2 + 1)]
    found = held([anchor(count)], ledgers=[ledger(length)], runs=runs)

    assert (count > length) is bool(found.contradictions)
    expected = [one.registered.run_id for one in runs if one.last_n < count] if count <= length else []
    assert expected == list(found.covered)


def test_open_run_is_covered_by_its_registration() -> None:
    """It never closed, and nobody can take its registration back."""
    assert ("run-1", "run-2") == held([anchor(4)], ledgers=[ledger(4)], runs=[run(1), run(2, is_open=True)]).covered


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"head": "ff" * 32}, "which has another one there: it was changed or rebuilt"),
        ({"count": 2}, "where it stands at entry 3"),
        ({"count": 9, "head": "ff" * 32}, "which ends at entry 5: it was cut or rebuilt"),
    ],
)
@pytest.mark.parametrize("rehearsal", [True, False])
def test_head_that_does_not_stand_there_is_a_contradiction(
    change: dict[str, object], told: str, *, rehearsal: bool
) -> None:
    """It names the anchor, the entry and the ledger, also for a rehearsal."""
    wrong = replace(anchor(3), statement=replace(anchor(3).statement, **change))
    found = held([wrong], rehearsal=rehearsal)

    assert 1 == len(found.contradictions)
    assert found.contradictions[0].startswith("anchors/000003 keeps the head")
    assert told in found.contradictions[0]
    assert "reports" in found.contradictions[0]
    assert () == found.covered


def test_what_nobody_vouches_for_contradicts_nothing() -> None:
    """A statement without a proof is a text file."""
    loose = Anchor(name="anchors/000003", statement=replace(anchor(3).statement, head="ff" * 32))

    assert () == held([loose]).contradictions


@pytest.mark.parametrize(("rehearsal", "num_runs", "grave"), [(False, 1, True), (True, 1, False), (False, 0, False)])
def test_runs_in_a_ledger_that_is_not_given(*, rehearsal: bool, num_runs: int, grave: bool) -> None:
    """They count against the experiment itself, are said of a rehearsal, and rehearsals elsewhere are nobody's loss."""
    found = held([anchor(3, ledger="ff" * 32, num_runs=num_runs)], rehearsal=rehearsal)

    assert grave is bool(found.contradictions)
    if num_runs:
        assert "give that folder too with --mixgpu-records" in " ".join([*found.contradictions, *found.said])


def test_each_of_two_ledgers_is_held_against_its_own_anchors() -> None:
    """A head of one vouches for no run of the other."""
    other = GivenLedger(path="elsewhere", identity="2e" * 32, count=3, places={head(3): 3})
    there = replace(run(1), ledger="elsewhere", registered=replace(run(1).registered, run_id="there"))
    found = held(
        [anchor(5), anchor(3, ledger="2e" * 32, head="ff" * 32)], ledgers=[ledger(5), other], runs=[run(1), there]
    )

    assert ("run-1",) == found.covered
    assert ["elsewhere" in text for text in found.contradictions] == [True]


@pytest.mark.parametrize(("num_runs", "grave"), [(1, True), (0, False)])
def test_lock_that_the_chain_does_not_know(*, num_runs: int, grave: bool) -> None:
    """After runs were made under it the lock was written anew; before, it is said."""
    found = held([anchor(3, lock="ff" * 32, num_runs=num_runs)])

    assert grave is bool(found.contradictions)
    assert "was written anew" in " ".join([*found.contradictions, *found.said])


def test_faults_of_the_files_are_contradictions() -> None:
    """A statement or a signature that was edited is found before it is compared with anything."""
    found = held_against(
        AnchorReading(faults=("anchors/x: edited",), said=("anchors/y: unknown signer",)),
        [ledger(5)],
        [],
        suite="e1",
        locks=[LOCK],
        rehearsal=True,
    )

    assert (("anchors/x: edited",), ("anchors/y: unknown signer",)) == (found.contradictions, found.said)


@pytest.mark.parametrize(
    ("proof", "expected"),
    [
        (GIT, ("git",)),
        (SSH, ("ssh",)),
        (TSA, ("tsa",)),
        (replace(TSA, at="2026-11-29T12:00:10+00:00"), ()),
        (replace(GIT, at="no date"), ()),
    ],
)
def test_announced_is_what_was_kept_before_the_run_ended(proof: Proof, expected: tuple[str, ...]) -> None:
    """A head between registration and close, vouched for by a moment before the close, where it states any."""
    found = held([anchor(2, proof, event="register")], ledgers=[ledger(3)], runs=[run(1)])

    assert {"run-1": expected} == found.announced
    assert () == found.covered


def test_head_after_the_close_announces_nothing() -> None:
    """It shows how the run ended, not that it was to come."""
    assert {"run-1": ()} == held([anchor(3)], ledgers=[ledger(3)], runs=[run(1)]).announced


def test_sentences_say_what_is_shown_and_what_is_not() -> None:
    """Who vouches for which entry, how many runs, and the limits of each way and of all."""
    found = held([anchor(2, GIT, event="register"), anchor(3, GIT, SSH, TSA)])
    told = " | ".join(found.told_of(["run-1", "run-2"]))

    for text in (
        "of entry 3 of reports, which has 5, is kept outside in anchors/000003: git commit c0c0c0c0c0c0 at",
        "signed by lab (SHA256:abc); stamped by CN=Clock at",
        "1 of 2 runs stand before a head that is kept outside",
        "1 of 2 runs were announced outside before they ended (git 1)",
        "the lock as it is now is named in anchors/000002",
        "only a push that others saw says when",
        "a signature says who, not when",
        "a timestamp says that a head was there by then",
        "no secret run",
    ):
        assert text in told


def test_contradiction_is_tampered_for_marks_and_claims() -> None:
    """Whatever else was measured."""
    state = LedgerState(outside=Outside(contradictions=("anchors/x contradicts it",)))
    evidence = make_evidence(ledger=state)

    for verdict in (
        judge_mark(e1_marks().mark("e1-speedup"), evidence),
        judge_claim(e1_marks().claim("e1-placement"), evidence),
    ):
        assert ("TAMPERED", "anchors/x contradicts it") == (verdict.word, verdict.reason)


def test_verdict_carries_what_is_kept_outside() -> None:
    """Beside what git shows of the mark."""
    ids = tuple(entry.run_id for entry in make_evidence().registered)
    state = LedgerState(outside=Outside(covered=ids, kept=("the head is kept",), limits=("not everything",)))
    verdict = judge_mark(e1_marks().mark("e1-speedup"), make_evidence(ledger=state))

    assert {"the head is kept", "not everything"} <= set(verdict.witness)
    assert "unanchored" not in verdict.notes
