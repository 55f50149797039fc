"""What was changed after it was sealed is named."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.records.integrity import check_record
from pytest_mixgpu.records.store import RunStore
from tests.sample_doctors import as_aborted, as_failed, only, tamper
from tests.samples import MadeRun, make_experiment
from tests.stored_faults import faults_of


@pytest.fixture
def store(tmp_path: Path) -> RunStore:
    return make_experiment(tmp_path, names=["fleet", "mixed"])


@pytest.mark.parametrize("rehearsal", [True, False], ids=["rehearsal", "a40"])
def test_a_whole_experiment_matches_its_seals(tmp_path: Path, rehearsal: bool) -> None:  # noqa: FBT001
    """An experiment as it was written has nothing to find fault with, failed and aborted runs among it."""

    def doctor(run: MadeRun) -> MadeRun:
        failing = only(lambda one: as_failed(one, after_rounds=2), name="control-a", repeat=1)
        aborting = only(lambda one: as_aborted(one, after_rounds=2), name="mixed", repeat=1)
        return aborting(failing(run))

    store = make_experiment(tmp_path, rehearsal=rehearsal, repeats=2, doctor=doctor)
    assert () == faults_of(store)
    assert {"completed", "failed", "aborted"} == {record.status for record in store.records()}


def _first(store: RunStore) -> str:
    return store.survey()[0].id


def _edit_ledger(store: RunStore) -> None:
    raw = store.ledger.path.read_bytes()
    store.ledger.path.write_bytes(raw.replace(b"completed", b"failed", 1))


def _smuggle(store: RunStore) -> None:
    record = store.folder / "runs" / "x" / "record.jsonl"
    record.parent.mkdir()
    record.write_bytes((store.survey()[0].folder / "record.jsonl").read_bytes())


def _log(store: RunStore) -> Path:
    return store.survey()[0].folder / "logs" / "participant-0.log"


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        pytest.param('"num_correct":441', '"num_correct":449', "changed after it was closed", id="score"),
        pytest.param(
            '"seed":20261129', '"seed":20261130', "record says seed 20261130, the ledger says 20261129", id="seed"
        ),
        pytest.param(
            '"role":"fleet"', '"role":"mixed"', "record says role 'mixed', the ledger says 'fleet'", id="role"
        ),
        pytest.param('"rehearsal":true', '"rehearsal":false', "the record says rehearsal False", id="rehearsal"),
        pytest.param(
            '"registered_at":"2026-11-29T12:00', '"registered_at":"2026-11-29T11:00', "says it was registered", id="at"
        ),
        pytest.param('"line":"start"', '"line":"stork"', "stork", id="unreadable"),
        pytest.param('"status":"completed"', '"status":"failed"', "record says failed, the ledger says", id="status"),
    ],
)
def test_a_record_that_was_changed_is_named(store: RunStore, old: str, new: str, fault: str) -> None:
    """Whatever of a sealed record is changed, one sentence says what."""
    tamper(store, _first(store), old.encode(), new.encode())
    assert re.search(fault, "\n".join(faults_of(store)))


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        pytest.param(
            lambda s: _log(s).write_text("x"), "participant-0.log was changed after it was sealed", id="changed"
        ),
        pytest.param(lambda s: _log(s).unlink(), "participant-0.log is gone", id="gone"),
        pytest.param(
            lambda s: _log(s).with_name("new").touch(), "the file logs/new was added after it closed", id="added"
        ),
        pytest.param(_smuggle, "the run folder x is not in the ledger", id="stray"),
        pytest.param(_edit_ledger, "as the hash of the line before", id="ledger"),
    ],
)
def test_a_folder_that_was_changed_is_named(store: RunStore, change: Callable[[RunStore], object], fault: str) -> None:
    """A file of a run, or of the store, that was changed, taken away or added after the seal is named."""
    change(store)
    assert fault in "\n".join(faults_of(store))


def test_a_record_that_was_swapped_with_another_is_named(store: RunStore) -> None:
    """A whole, valid record in the place of another does not pass for it."""
    fleet, mixed = store.survey()
    path, other = fleet.folder / "record.jsonl", mixed.folder / "record.jsonl"
    path.write_bytes(other.read_bytes())
    swapped = store.survey()[0]
    assert swapped.record is not None
    assert swapped.closed is not None
    faults = check_record(swapped.record, swapped.folder, swapped.registered, swapped.closed)
    assert any("run_id" in fault for fault in faults)
    assert any("name 'mixed'" in fault for fault in faults)


def test_a_close_that_was_made_to_fit_an_edited_record_does_not_match_its_registration(store: RunStore) -> None:
    """A record is held to both entries: the one from before it ran, too."""
    first = store.survey()[0]
    assert first.record is not None
    assert first.closed is not None
    moved = replace(first.record, header=replace(first.record.header, session="elsewhere"))
    faults = check_record(moved, first.folder, first.registered, replace(first.closed, session="elsewhere"))

    assert any("the record says session 'elsewhere'" in fault for fault in faults)


def test_any_byte_of_a_sealed_record_counts(store: RunStore) -> None:
    """One byte changed anywhere in a record is found, whether it can still be read or not."""
    path = store.survey()[0].folder / "record.jsonl"
    raw = path.read_bytes()
    for place in range(0, len(raw), max(1, len(raw) // 97)):
        path.write_bytes(raw[:place] + bytes([raw[place] ^ 1]) + raw[place + 1 :])
        assert faults_of(store), place


def test_a_suite_hears_of_its_own_runs_only(store: RunStore) -> None:
    """What happened to another suite's runs is not this one's fault; the chain is everybody's."""
    _log(store).unlink()
    assert () == faults_of(store, "another")
    assert 1 == len(faults_of(store, "e1"))
