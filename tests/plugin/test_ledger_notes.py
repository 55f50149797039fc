"""What is to be known of a ledger and is no fault is said beside every verdict."""

from pathlib import Path

import pytest

from pytest_mixgpu.marks.lock_file import Lock, lock_digest
from pytest_mixgpu.plugin.stored import MAX_REPAIRS_TOLD, read_runs
from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.ledger import Ledger
from tests.judging import freeze_e1
from tests.records.chains import AT
from tests.samples import e1_plan


@pytest.fixture(scope="module")
def lock() -> Lock:
    return freeze_e1(e1_plan())


def notes_of(folder: Path, *, opened_under: str, lock: Lock | None, suite: str = "e1") -> str:
    """Open a ledger for E1 under a lock, and say what is noted to a suite with a lock of its own."""
    entry = LedgerEntry(at=AT, event="register", run_id="run", suite="e1", lock_digest=opened_under)
    Ledger(folder / "ledger.jsonl").append(entry)
    return "\n".join(read_runs((folder,), suite, lock=lock).ledger.notes)


def test_a_ledger_that_was_opened_under_the_lock_needs_no_word(tmp_path: Path, lock: Lock) -> None:
    """A lock that is in the present lock's chain is what the ledger is to be bound to."""
    assert notes_of(tmp_path, opened_under=lock_digest(lock), lock=lock) == ""


@pytest.mark.parametrize(
    ("opened_under", "found"), [("ab" * 32, "the lock abababababab…"), ("", "no lock")], ids=["another", "none"]
)
def test_a_ledger_that_was_opened_under_another_lock_says_so(
    tmp_path: Path, lock: Lock, opened_under: str, found: str
) -> None:
    """A lock that was thrown away and frozen anew does not pass for the one that the ledger was opened under."""
    expected = f"{tmp_path}: the ledger was opened under {found}, which the chain of the present lock does not know"
    assert expected == notes_of(tmp_path, opened_under=opened_under, lock=lock)


def test_a_ledger_that_another_suite_opened_is_bound_to_that_suites_lock(tmp_path: Path, lock: Lock) -> None:
    """Suites share a ledger: whose first entry opened it, that suite's lock it is bound to."""
    assert notes_of(tmp_path, opened_under="ab" * 32, lock=lock, suite="other") == ""


def test_a_ledger_that_was_repaired_says_so_for_ever(tmp_path: Path) -> None:
    """Each torn line that was cut off is told with its place; of many, the first ones and the number of the others."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    num_repairs = MAX_REPAIRS_TOLD + 2
    for index in range(num_repairs + 1):
        ledger.append(LedgerEntry(at=AT, event="register", run_id=f"run-{index}", suite="e1"))
        if index < num_repairs:
            with ledger.path.open("ab") as file:
                file.write(b'{"n":')
    notes = read_runs((tmp_path,), "e1").ledger.notes

    assert f"{tmp_path}: line 3 of the ledger says that it cut off a torn last line of 5 bytes" in notes[0]
    assert f"{tmp_path}: 2 more lines of the ledger say the like" == notes[-1]
    assert () == ledger.verify()
