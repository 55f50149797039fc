"""Writers that are killed, and writers at the same time, leave a ledger that is whole."""

import os
import random
import subprocess
import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.records.store import RunStore
from tests.samples import FIRST_MOMENT, make_experiment
from tests.stored_faults import faults_of

ROOT = Path(__file__).parents[2]
MANY = 100_000
PATIENCE_S = 120.0


def start_writer(folder: Path, session: str, num_runs: int) -> "subprocess.Popen[bytes]":
    command = [sys.executable, str(Path(__file__).with_name("write_runs.py")), str(folder), session, str(num_runs)]
    return subprocess.Popen(command, env={**os.environ, "PYTHONPATH": str(ROOT)})


def wait_for_lines(path: Path, count: int) -> None:
    """Wait until a ledger has this many lines."""
    deadline = time.monotonic() + PATIENCE_S
    while not path.exists() or path.read_bytes().count(b"\n") < count:
        assert time.monotonic() < deadline, f"{path} did not grow to {count} lines"
        time.sleep(0.001)


def test_a_writer_that_is_killed_leaves_an_aborted_run_at_most(tmp_path: Path) -> None:
    """After SIGKILL at any moment the chain is whole, every run but the last is sealed, and others can go on."""
    store = RunStore(tmp_path)
    noise = random.Random("moments of death")  # noqa: S311 - moments need no secrecy
    for attempt in range(8):
        with start_writer(tmp_path, f"session-{attempt}", MANY) as writer:
            wait_for_lines(store.ledger.path, store.ledger.read().count + 2)
            time.sleep(noise.uniform(0, 0.05))
            writer.kill()
        assert () == faults_of(store)
        own = [run for run in store.survey() if run.registered.session == f"session-{attempt}"]
        assert all(run.closed for run in own[:-1])
        statuses = {run.record.status for run in own if run.record and not run.closed}
        assert statuses <= {"aborted"}
        assert not any(run.is_running for run in own)
    events = [entry.event for entry in store.ledger.entries()]
    assert ["open"] == [event for event in events if event == "open"]


def test_two_writers_at_once_share_one_chain(tmp_path: Path) -> None:
    """Two sessions that write at the same time lose nothing, and who reads meanwhile finds no fault."""
    store = RunStore(tmp_path)
    writers = [start_writer(tmp_path, session, 15) for session in ("one", "two")]
    wait_for_lines(store.ledger.path, 1)
    while any(writer.poll() is None for writer in writers):
        assert () == faults_of(store)
        assert "aborted" not in {record.status for record in store.records()}
    assert [0, 0] == [writer.wait() for writer in writers]
    assert () == faults_of(store)
    sessions = [record.header.session for record in store.records()]
    assert (15, 15, 61) == (sessions.count("one"), sessions.count("two"), store.ledger.read().count)


def test_writers_that_are_killed_at_once_leave_one_chain(tmp_path: Path) -> None:
    """Two sessions that die while both write leave what each had registered, and a third goes on."""
    store = RunStore(tmp_path)
    noise = random.Random("moments of death of two")  # noqa: S311 - moments need no secrecy
    for attempt in range(4):
        with (
            start_writer(tmp_path, f"one-{attempt}", MANY) as one,
            start_writer(tmp_path, f"two-{attempt}", MANY) as two,
        ):
            wait_for_lines(store.ledger.path, store.ledger.read().count + 4)
            time.sleep(noise.uniform(0, 0.1))
            before = store.ledger.entries()
            for writer in noise.sample([one, two], 2):
                writer.kill()
        assert before == store.ledger.entries()[: len(before)]
        assert () == faults_of(store)
        by_session = [
            [run for run in store.survey() if run.registered.session == f"{name}-{attempt}"] for name in ("one", "two")
        ]
        assert all(run.closed for own in by_session for run in own[:-1])
        assert not any(run.is_running for run in store.survey())
    with start_writer(tmp_path, "third", 1) as writer:
        assert writer.wait() == 0
    assert () == faults_of(store)


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    return make_experiment(tmp_path_factory.mktemp("sealed"), names=["fleet"])


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_a_run_that_was_cut_at_any_byte_is_aborted_and_readable(
    sealed: RunStore, tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Whatever byte was the last to reach the disk, the run is registered, counts, and the folder can be used."""
    folder = tmp_path_factory.mktemp("cut")
    (run,) = sealed.survey()
    record = (run.folder / "record.jsonl").read_bytes()
    ledger = sealed.ledger.path.read_bytes()
    close = ledger.splitlines(keepends=True)[-1]
    header_size = record.index(b"\n") + 1
    cut = data.draw(st.integers(header_size, len(record) + len(close) - 1))
    target = folder / "runs" / run.id / "record.jsonl"
    target.parent.mkdir(parents=True)
    target.write_bytes(record[:cut])
    (folder / "ledger.jsonl").write_bytes(ledger[: -len(close)] + close[: max(0, cut - len(record))])
    store = RunStore(folder)
    assert ["aborted"] == [one.status for one in store.records()]
    later = FIRST_MOMENT + timedelta(hours=1)
    make_experiment(folder, names=["fleet"], session="later", at=later)
    assert (["aborted", "completed"], ()) == ([one.status for one in store.records()], faults_of(store))
