"""The store registers before, writes as things happen, seals after, and reads what is there."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import LedgerError, RecordError
from pytest_mixgpu.records.digests import sha256_file
from pytest_mixgpu.records.model import Outcome
from pytest_mixgpu.records.store import RunStore
from tests.sample_doctors import as_aborted, only, tamper
from tests.samples import FIRST_MOMENT, MadeRun, make_experiment, make_run, make_runs, seal


def done(run: MadeRun) -> Outcome:
    assert run.outcome is not None
    return run.outcome


def test_a_run_is_in_the_ledger_before_anything_starts(tmp_path: Path) -> None:
    """A run that may start is registered with everything that tells it, and its record begins with its header."""
    run = make_run()
    store = RunStore(tmp_path / "reports")
    writer = store.register(run.header)
    entry = store.ledger.entries()[-1]
    assert ("register", run.header.run_id, "fleet", 20261129, True, run.header.digests.plan) == (
        entry.event, entry.run_id, entry.role, entry.seed, entry.rehearsal, entry.plan_digest,
    )  # fmt: skip
    assert tmp_path / "reports" / "runs" / run.header.run_id == writer.folder
    assert run.header == store.read(run.header.run_id).header
    writer.abandon()


def test_every_line_lies_in_the_file_when_write_returns(tmp_path: Path) -> None:
    """Nothing waits in a buffer for the end of the run."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    path = writer.folder / "record.jsonl"
    for count, line in enumerate(list(run.lines())[1:], start=2):
        writer.write(line)
        assert count == path.read_bytes().count(b"\n")
    writer.abandon()


def test_a_closed_run_is_sealed_with_its_digest_and_its_files(tmp_path: Path) -> None:
    """The ledger's close holds the record's digest and status; the outcome holds the digest of every other file."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    (writer.folder / "logs").mkdir()
    (writer.folder / "logs" / "participant-0.log").write_text("hello\n", "utf-8")
    record = writer.close(done(run))
    entry = store.ledger.entries()[-1]
    assert ("close", sha256_file(writer.folder / "record.jsonl"), "completed") == (
        entry.event, entry.record_digest, entry.status,
    )  # fmt: skip
    assert record.outcome is not None
    assert {"logs/participant-0.log": sha256_file(writer.folder / "logs" / "participant-0.log")} == record.outcome.files
    assert record == store.read(record.id)


def test_a_closed_run_takes_no_more_lines(tmp_path: Path) -> None:
    """After the outcome nothing can be added, and it cannot be closed again."""
    run = make_run()
    writer = RunStore(tmp_path).register(run.header)
    writer.close(done(run))
    with pytest.raises(RecordError, match="is closed: nothing can be added"):
        writer.write(run.start)  # type: ignore[arg-type]
    with pytest.raises(RecordError, match="is closed: nothing can be added"):
        writer.close(done(run))


def test_header_and_outcome_have_their_own_ways_in(tmp_path: Path) -> None:
    """A header or an outcome among the lines is refused: they are what registers and closes."""
    run = make_run()
    writer = RunStore(tmp_path).register(run.header)
    for line in (run.header, done(run)):
        with pytest.raises(RecordError, match="written by `register` and `close` only"):
            writer.write(line)
    writer.abandon()


def test_a_line_out_of_order_is_refused_before_it_is_written(tmp_path: Path) -> None:
    """The writer keeps the record readable: what could not follow is not written."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    with pytest.raises(RecordError, match="found `round` before the start"):
        writer.write(run.rounds[0])
    writer.close(done(run))
    assert () == store.read(run.header.run_id).rounds


@pytest.mark.parametrize("run_id", ["", "../x", "a/b", ".hidden", ".."])
def test_a_run_id_that_is_no_plain_name_is_refused(tmp_path: Path, run_id: str) -> None:
    """A run id becomes a folder, so it must not lead anywhere else; nothing is registered."""
    store = RunStore(tmp_path / "reports")
    with pytest.raises(RecordError, match="expected a plain name"):
        store.register(replace(make_run().header, run_id=run_id))
    assert not store.ledger.path.exists()


def test_a_run_id_is_used_once(tmp_path: Path) -> None:
    """A second run of the same id is refused, whether the first one's folder is still there or not."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    writer.close(done(run))
    with pytest.raises(RecordError, match="is there already"):
        store.register(run.header)
    writer.folder.rename(tmp_path / "elsewhere")
    with pytest.raises(LedgerError, match="registered for the second time"):
        store.register(run.header)
    assert not writer.folder.exists()


def test_a_run_that_never_closed_is_aborted_and_keeps_its_rounds(tmp_path: Path) -> None:
    """An open run whose writer is gone counts as aborted, with all that it had written."""
    store = make_experiment(tmp_path, names=["fleet"], doctor=lambda run: as_aborted(run, after_rounds=4))
    (record,) = store.records()
    assert ("aborted", 4, 3) == (record.status, len(record.rounds), len(record.measured_rounds))


def test_an_outcome_without_a_close_in_the_ledger_does_not_count(tmp_path: Path) -> None:
    """A session killed between the last line and the seal leaves an aborted run, whatever the record says."""
    store = make_experiment(tmp_path, names=["fleet"])
    raw = store.ledger.path.read_bytes()
    store.ledger.path.write_bytes(raw[: raw.rindex(b"\n", 0, -1) + 1])
    (record,) = store.records()
    assert ("aborted", None) == (record.status, record.outcome)


def test_a_run_that_goes_on_is_told_from_one_that_was_aborted(tmp_path: Path) -> None:
    """While a living process writes a run it is running; only then is it left out of the records."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    assert ([True], ()) == ([one.is_running for one in store.survey()], store.records())
    writer.abandon()
    assert ([False], 1) == ([one.is_running for one in store.survey()], len(store.records()))


def test_what_cannot_be_read_is_surveyed_with_the_reason(tmp_path: Path) -> None:
    """A run is never lost: unreadable or gone, the survey has its registration and says why."""
    store = make_experiment(tmp_path, names=["fleet", "mixed", "control-a"])
    fleet, control, mixed = (one.id for one in store.survey())
    tamper(store, fleet, b'"line":"start"', b'"line":"stork"')
    (store.folder / "runs" / mixed / "record.jsonl").unlink()
    survey = {one.id: one for one in store.survey()}
    assert [control] == [record.id for record in store.records()]
    assert "line 2: Invalid value 'stork'" in survey[fleet].faults[0]
    assert "No such file" in survey[mixed].faults[0]
    with pytest.raises(RecordError, match=r"cannot be read: .*stork"):
        store.read(fleet)


def test_a_torn_last_line_is_said_in_the_survey(tmp_path: Path) -> None:
    """The lines before a torn one are there, and the survey says what was dropped."""
    store = make_experiment(tmp_path, names=["fleet"], doctor=lambda run: as_aborted(run, after_rounds=4))
    (stored,) = store.survey()
    path = stored.folder / "record.jsonl"
    path.write_bytes(path.read_bytes()[:-50])
    (stored,) = store.survey()
    assert stored.record is not None
    assert (4, 3) == (len(stored.record.rounds), len(stored.record.evaluations))
    assert "dropped a torn last line" in stored.faults[0]


def test_runs_come_in_the_order_of_registration_by_suite(tmp_path: Path) -> None:
    """Records keep the ledger's order, and a suite sees only its own."""
    other = only(lambda run: run._replace(header=replace(run.header, suite="other")), name="mixed")
    store = make_experiment(tmp_path, doctor=other)
    names = [record.header.name for record in store.records("e1")]
    assert ["baseline", "fleet", "baseline", "baseline", "reference", "control-a", "control-b"] == names
    assert ["mixed"] == [record.header.name for record in store.records("other")]
    assert 8 == len(store.records())


def test_a_folder_without_registration_is_a_stray(tmp_path: Path) -> None:
    """A run folder that the ledger does not know is named, and is no record; a header alone was never a run."""
    store = make_experiment(tmp_path, names=["fleet"])
    raw = (store.survey()[0].folder / "record.jsonl").read_bytes()
    for name, content in (("smuggled", raw), ("killed-in-time", raw.splitlines(keepends=True)[0])):
        (tmp_path / "runs" / name).mkdir()
        (tmp_path / "runs" / name / "record.jsonl").write_bytes(content)
    assert (("smuggled",), 1) == (store.strays(), len(store.records()))
    assert () == RunStore(tmp_path / "nothing").strays()


def test_a_run_that_is_not_registered_cannot_be_read(tmp_path: Path) -> None:
    """Asking for an unknown run says where it was looked for."""
    with pytest.raises(RecordError, match=r"run x is not registered in .*ledger\.jsonl"):
        RunStore(tmp_path).read("x")


def test_a_folder_whose_lock_cannot_be_taken_can_be_read(tmp_path: Path) -> None:
    """Records are judged from a read-only copy as from any other, even with a torn ledger."""
    store = make_experiment(tmp_path, names=["fleet"])
    with store.ledger.path.open("ab") as file:
        file.write(b'{"n":3')
    lock = Path(f"{store.ledger.path}.lock")
    lock.unlink(missing_ok=True)
    lock.mkdir()
    assert (1, ()) == (len(store.records()), store.ledger.verify())


def test_sessions_add_to_one_ledger(tmp_path: Path) -> None:
    """A later session adds its runs to those that are there."""
    make_experiment(tmp_path, names=["fleet"])
    seal(RunStore(tmp_path), make_runs(names=["fleet"], session="session-2", at=FIRST_MOMENT.replace(hour=15)))
    assert ["session-1", "session-2"] == [record.header.session for record in RunStore(tmp_path).records()]


def test_a_record_is_lines_of_json_that_anybody_can_read(tmp_path: Path) -> None:
    """Each line says what it is, the header first and the outcome last."""
    store = make_experiment(tmp_path, names=["fleet"])
    raw = (store.survey()[0].folder / "record.jsonl").read_text("utf-8")
    kinds = [json.loads(line)["line"] for line in raw.splitlines()]
    assert ["header", "start", *["round", "evaluation"] * 7, "evaluation", "outcome"] == kinds
