"""What was sealed and changed afterwards, in a real report folder: every verdict that rests on it is TAMPERED."""

from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from shutil import copytree, rmtree

import pytest

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.evidence import Evidence, gather
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import lock_digest
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.plan_file import plan_digest
from pytest_mixgpu.records.store import RunStore
from tests.judging import CLEAN_GIT, e1_marks, freeze_e1
from tests.negative.doctoring import on_another_workload
from tests.sample_doctors import Doctor, as_aborted, as_failed, tamper, with_speed
from tests.sample_timeline import MadeRun
from tests.samples import FIRST_MOMENT, e1_digests, e1_plan, make_experiment


def stored_experiment(
    folder: Path,
    *,
    session: str = "session-1",
    at: datetime = FIRST_MOMENT,
    names: tuple[str, ...] = (),
    doctor: Doctor | None = None,
) -> RunStore:
    """Write a session of rehearsals under a lock."""
    plan = e1_plan()
    digests = e1_digests(plan, lock=lock_digest(freeze_e1(plan)))
    # No two sessions take the same time to the last digit: that would be a copy.
    factor = 1.0 if session == "session-1" else 1.001
    return make_experiment(
        folder,
        plan=plan,
        digests=digests,
        session=session,
        at=at,
        names=names,
        doctor=lambda run: (doctor or (lambda same: same))(with_speed(run, factor)),
    )


def evidence_of(folder: Path) -> Evidence:
    """Read a report folder as a session that judges from records does."""
    plan, suite = e1_plan(), e1_marks()
    stored = read_runs((folder,), plan.id)
    digests = e1_digests(plan)
    return gather(
        plan,
        freeze_e1(plan),
        stored.records,
        session="",
        rehearsal=True,
        plan_digest=plan_digest(plan),
        code_digest=digests.code,
        evaluator_digest=digests.evaluator,
        marks=suite.marks,
        claims=suite.claims,
        witness=CLEAN_GIT,
        ledger=stored.ledger,
        lost=stored.lost,
        seals=stored.seals,
    )


def verdicts_of(folder: Path) -> list[Verdict]:
    """Judge everything that the suite carries."""
    evidence = evidence_of(folder)
    return [
        *(judge_mark(mark, evidence) for mark in e1_marks().marks),
        *(judge_claim(claim, evidence) for claim in e1_marks().claims),
    ]


def run_id_of(store: RunStore, name: str) -> str:
    return next(run.id for run in store.records() if run.header.name == name)


def edit_record(store: RunStore) -> None:
    tamper(store, run_id_of(store, "fleet"), b'"num_correct":441', b'"num_correct":442')


def remove_record(store: RunStore) -> None:
    (store.folder / "runs" / run_id_of(store, "mixed") / "record.jsonl").unlink()


def remove_run(store: RunStore) -> None:
    rmtree(store.folder / "runs" / run_id_of(store, "control-a"))


def edit_log(store: RunStore) -> None:
    log = next((store.folder / "runs" / run_id_of(store, "fleet")).rglob("*.log"))
    log.write_text("nothing happened\n", "utf-8")


def edit_ledger(store: RunStore) -> None:
    raw = store.ledger.path.read_bytes()
    store.ledger.path.write_bytes(raw.replace(b'"status":"completed"', b'"status":"stopped"', 1))


def fail_the_fleet(run: MadeRun) -> MadeRun:
    return as_failed(run, after_rounds=3) if run.header.name == "fleet" else run


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param('"session":"bad"', '"session":"x"', id="session"),
        pytest.param('"suite":"e1"', '"suite":"e2"', id="suite"),
        pytest.param('"rehearsal":true', '"rehearsal":false', id="rehearsal"),
        pytest.param('"run_id":"2', '"run_id":"3', id="run-id"),
    ],
)
def test_a_failed_run_does_not_vanish_by_an_edit_of_its_header(tmp_path: Path, old: str, new: str) -> None:
    """Which runs are of this experiment is read from the ledger: the record alone cannot take itself out."""
    store = stored_experiment(tmp_path, session="bad", doctor=fail_the_fleet)
    tamper(store, run_id_of(store, "fleet"), old.encode(), new.encode())

    assert {"TAMPERED"} == {verdict.word for verdict in verdicts_of(tmp_path)}


@pytest.mark.parametrize("change", [lambda path: rmtree(path.parent), lambda path: path.write_bytes(b"garbage\n")])
def test_newest_session_is_judged_though_its_records_are_damaged(
    tmp_path: Path, change: Callable[[Path], None]
) -> None:
    """Who removes what a newer session wrote does not get the older one's pass."""
    stored_experiment(tmp_path)
    store = stored_experiment(tmp_path, session="newer", at=FIRST_MOMENT + timedelta(days=1))
    for run in store.survey():
        if run.registered.session == "newer":
            change(run.folder / "record.jsonl")

    evidence = evidence_of(tmp_path)

    assert "newer" == evidence.session
    assert {"TAMPERED"} == {verdict.word for verdict in verdicts_of(tmp_path)}


@pytest.mark.parametrize(
    ("names", "doctor", "says"),
    [
        pytest.param(
            ("baseline", "fleet"), lambda run: as_aborted(run, after_rounds=2), "never closed", id="never-closed"
        ),
        pytest.param(("baseline", "fleet"), lambda run: run, "did not come to reference", id="broken-off"),
        pytest.param((), on_another_workload, "trained letters", id="another-workload"),
    ],
)
def test_a_session_that_is_not_the_planned_one_spoils_none_before_it(
    tmp_path: Path, names: tuple[str, ...], doctor: Doctor, says: str
) -> None:
    """The newest session with every planned role is judged; the newer one is named beside every verdict."""
    stored_experiment(tmp_path)
    later = FIRST_MOMENT + timedelta(days=1)
    stored_experiment(tmp_path, session="newer", at=later, names=names, doctor=doctor)

    verdicts = verdicts_of(tmp_path)

    assert {"PASS"} == {verdict.word for verdict in verdicts}
    said = "judged is session session-1 of 2026-11-29T12:00:00; 1 newer session is not: newer of 2026-11-30T12:00:00"
    assert all(any(said in text for text in verdict.details) for verdict in verdicts)
    assert all(any(says in text for text in verdict.details) for verdict in verdicts)


def test_a_rehearsal_is_made_again_without_a_pool(tmp_path: Path) -> None:
    """With `--gpus` the fleet would take all of that pool: another rehearsal than the planned one."""
    stored_experiment(tmp_path, names=("baseline",))
    remedies = {verdict.remedy for verdict in verdicts_of(tmp_path) if not verdict.is_claim}

    assert {"run again without --gpus"} == remedies


def drop_ledger_line(store: RunStore) -> None:
    lines = store.ledger.path.read_bytes().splitlines(keepends=True)
    store.ledger.path.write_bytes(b"".join(lines[:3] + lines[4:]))


def double_ledger_line(store: RunStore) -> None:
    lines = store.ledger.path.read_bytes().splitlines(keepends=True)
    store.ledger.path.write_bytes(b"".join(lines[:2] + lines[1:]))


def test_untouched_folder_is_judged_as_the_records_say(tmp_path: Path) -> None:
    """What the cases below change is what makes them fail."""
    stored_experiment(tmp_path)

    assert {"PASS"} == {verdict.word for verdict in verdicts_of(tmp_path)}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param(edit_record, "changed after it was closed", id="record-edited"),
        pytest.param(remove_record, "cannot be read any more", id="record-removed"),
        pytest.param(remove_run, "cannot be read any more", id="run-removed"),
        pytest.param(edit_log, "was changed after it was sealed", id="log-edited"),
        pytest.param(edit_ledger, "the ledger is broken", id="ledger-edited"),
        pytest.param(drop_ledger_line, "the ledger is broken", id="ledger-line-dropped"),
        pytest.param(double_ledger_line, "the ledger is broken", id="ledger-line-doubled"),
    ],
)
def test_every_verdict_is_tampered(tmp_path: Path, change: Callable[[RunStore], None], says: str) -> None:
    """No mark and no claim of the experiment is judged beside evidence that does not match its seal."""
    change(stored_experiment(tmp_path))

    verdicts = verdicts_of(tmp_path)

    assert {"TAMPERED"} == {verdict.word for verdict in verdicts}
    assert all(says in f"{verdict.reason} {' '.join(verdict.details)}" for verdict in verdicts), verdicts[0]


@pytest.mark.parametrize("is_copy", [True, False])
def test_a_report_folder_is_not_counted_twice(tmp_path: Path, is_copy: bool) -> None:  # noqa: FBT001
    """Neither the same folder nor a copy of it: both are named."""
    first, second = tmp_path / "first", tmp_path / "second"
    stored_experiment(first)
    copytree(first, second)

    with pytest.raises(MixgpuError, match=r"stands in .*first.* and again in .*") as raised:
        read_runs((first, second if is_copy else first), "e1")

    assert is_copy is ("second" in str(raised.value))


@pytest.mark.parametrize(
    ("torn", "word"),
    [
        pytest.param(b"garbage", "TAMPERED", id="garbage"),
        pytest.param(b'{"n":17,"prev":"00', "TAMPERED", id="of-another-chain"),
        pytest.param(None, "PASS", id="as-a-killed-writer-leaves-it"),
    ],
)
def test_what_stands_after_the_last_line_of_the_ledger_is_told(tmp_path: Path, torn: bytes | None, word: str) -> None:
    """The beginning of an entry that belongs there is noted; anything else is a fault."""
    store = stored_experiment(tmp_path)
    reading = store.ledger.read()
    honest = f'{{"n":{reading.count},"prev":"{reading.head}","at":"2026-11-30T1'.encode()
    store.ledger.path.write_bytes(store.ledger.path.read_bytes() + (torn or honest))

    verdicts = verdicts_of(tmp_path)

    assert {word} == {verdict.word for verdict in verdicts}
    if torn is None:
        assert all(any("of an entry that was never whole" in text for text in one.details) for one in verdicts)
