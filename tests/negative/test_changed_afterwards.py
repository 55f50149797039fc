"""What was sealed and changed afterwards, in a real report folder: every verdict that rests on it is TAMPERED."""

from collections.abc import Callable
from pathlib import Path
from shutil import rmtree

import pytest

from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.evidence import Evidence, gather
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import lock_digest
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.plan_file import plan_digest
from pytest_mixgpu.records.store import RunStore
from tests.judging import CLEAN_GIT, e1_marks, freeze_e1
from tests.samples import e1_digests, e1_plan, make_experiment, tamper


def stored_experiment(folder: Path) -> RunStore:
    """Write a rehearsal under a lock."""
    plan = e1_plan()
    return make_experiment(folder, plan=plan, digests=e1_digests(plan, lock=lock_digest(freeze_e1(plan))))


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


def drop_ledger_line(store: RunStore) -> None:
    lines = store.ledger.path.read_bytes().splitlines(keepends=True)
    store.ledger.path.write_bytes(b"".join(lines[:3] + lines[4:]))


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
    ],
)
def test_every_verdict_is_tampered(tmp_path: Path, change: Callable[[RunStore], None], says: str) -> None:
    """No mark and no claim of the experiment is judged beside evidence that does not match its seal."""
    change(stored_experiment(tmp_path))

    verdicts = verdicts_of(tmp_path)

    assert {"TAMPERED"} == {verdict.word for verdict in verdicts}
    assert all(says in f"{verdict.reason} {' '.join(verdict.details)}" for verdict in verdicts), verdicts[0]
