"""Full disks, copies, things that are no ledger, hostile bytes: nothing is lost, and what is wrong is named."""

import os
import resource
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.errors import LedgerError, RecordError
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.chain import MAX_FAULTS, MAX_LINE_BYTES, LedgerEntry
from pytest_mixgpu.records.ledger import Ledger
from pytest_mixgpu.records.store import RunStore
from tests.records.chains import AT
from tests.samples import FIRST_MOMENT, make_experiment, make_run
from tests.stored_faults import faults_of


def register(run_id: str) -> LedgerEntry:
    return LedgerEntry(at=AT, event="register", run_id=run_id, suite="e1", lock_digest="ab")


def filled(folder: Path, num_runs: int = 3) -> Ledger:
    ledger = Ledger(folder / "ledger.jsonl")
    for index in range(num_runs):
        ledger.append(register(f"run-{index}"))
    return ledger


@contextmanager
def no_file_beyond(num_bytes: int) -> Iterator[None]:
    """Have every write beyond this size fail, as on a disk that is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (num_bytes, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@given(room_bytes=st.integers(0, 380), is_new=st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_disk_that_is_full_at_any_byte_loses_nothing(
    tmp_path_factory: pytest.TempPathFactory, *, room_bytes: int, is_new: bool
) -> None:
    """The entry that found no room is refused; what was there is there still, and the next one says what it repairs."""
    ledger = filled(tmp_path_factory.mktemp("full"), num_runs=0 if is_new else 2)
    before = ledger.path.read_bytes() if ledger.path.exists() else b""
    with no_file_beyond(len(before) + room_bytes), pytest.raises(LedgerError, match=r"nothing can be added.*make room"):
        ledger.append(msgspec.structs.replace(register("no-room"), session="s" * 200))
    left = ledger.path.read_bytes()
    assert before == left[: len(before)]
    assert () == ledger.verify()

    ledger.append(register("later"))

    assert () == ledger.verify()
    whole = left[: left.rfind(b"\n") + 1]
    assert whole == ledger.path.read_bytes()[: len(whole)]
    torn = len(left) - len(whole)
    assert bool(torn) is any(f"torn last line of {torn} bytes" in entry.note for entry in ledger.entries())


def test_a_record_that_finds_no_room_keeps_its_lines(tmp_path: Path) -> None:
    """A line that cannot be written is refused whole, so that the run can go on, or be closed, when there is room."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    path = writer.folder / "record.jsonl"
    before = path.read_bytes()
    _, start, *_ = run.lines()
    with no_file_beyond(len(before) + 10), pytest.raises(RecordError, match=r"cannot be written: .*make room"):
        writer.write(start)
    assert before == path.read_bytes()
    writer.write(start)
    assert run.outcome is not None
    writer.close(run.outcome)
    assert () == faults_of(store)


@pytest.mark.parametrize("room_bytes", [0, 100], ids=["in-the-record", "in-the-ledger"])
def test_a_run_that_finds_no_room_to_be_registered_never_was(tmp_path: Path, room_bytes: int) -> None:
    """Neither entry nor folder is left of a run that could not be registered."""
    make_experiment(tmp_path, names=["fleet"])
    store, header = RunStore(tmp_path), make_run(session="later", at=FIRST_MOMENT.replace(hour=20)).header
    room_bytes = store.ledger.path.stat().st_size + room_bytes if room_bytes else 0
    with no_file_beyond(room_bytes), pytest.raises((RecordError, LedgerError), match="make room"):
        store.register(header)
    assert (1, ()) == (len(store.survey()), faults_of(store))
    assert not (tmp_path / "runs" / header.run_id).exists()

    store.register(header).abandon()

    assert (2, ()) == (len(store.survey()), faults_of(store))


def test_a_close_that_finds_no_room_leaves_an_aborted_run(tmp_path: Path) -> None:
    """A run whose close cannot be written was registered, so it counts, and nobody is thought to write it."""
    run = make_run()
    store = RunStore(tmp_path)
    writer = store.register(run.header)
    assert run.outcome is not None
    with no_file_beyond(store.ledger.path.stat().st_size), pytest.raises((RecordError, LedgerError)):
        writer.close(run.outcome)
    assert [("aborted", False)] == [(one.record.status, one.is_running) for one in store.survey() if one.record]
    assert () == faults_of(store)


@given(st.integers(0, 10_000))
@settings(max_examples=80, deadline=None)
def test_a_writer_that_was_killed_at_any_byte_is_repaired(tmp_path_factory: pytest.TempPathFactory, cut: int) -> None:
    """Whatever byte was the last one, whole lines stay as they are, and a torn one is replaced by a word about it."""
    folder = tmp_path_factory.mktemp("cut")
    ledger = filled(folder)
    raw = ledger.path.read_bytes()[: cut % (ledger.path.stat().st_size + 1)]
    ledger.path.write_bytes(raw)
    assert () == ledger.verify()

    Ledger(ledger.path).append(register("later"))

    whole = raw[: raw.rfind(b"\n") + 1]
    assert () == ledger.verify()
    assert whole == ledger.path.read_bytes()[: len(whole)]
    said = "\n".join(read_runs((folder,), "e1").ledger.notes)
    assert (f"cut off a torn last line of {len(raw) - len(whole)} bytes" in said) is (raw != whole)


def test_a_copied_folder_is_whole_and_both_are_not_taken_for_two(tmp_path: Path) -> None:
    """A copy that went on by itself verifies as the original does; together they are refused, with the reason."""
    first, second = tmp_path / "first", tmp_path / "second"
    make_experiment(first, names=["fleet"])
    shutil.copytree(first, second)
    shared = RunStore(first).ledger.head
    for folder, hour in ((first, 15), (second, 16)):
        make_experiment(folder, names=["fleet"], session=folder.name, at=FIRST_MOMENT.replace(hour=hour))
        assert () == faults_of(RunStore(folder))
        assert () == RunStore(folder).ledger.verify(head=shared, count=3)
    assert RunStore(first).ledger.read().first == RunStore(second).ledger.read().first
    assert RunStore(first).ledger.head != RunStore(second).ledger.head
    with pytest.raises(RecordError, match=r"was given twice.*neither holds them all"):
        read_runs((first, second), "e1")
    assert "hold copies of one ledger" in "\n".join(read_runs((first, second), "another").ledger.notes)


def _folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def _pipe(path: Path) -> None:
    path.unlink()
    os.mkfifo(path)


def _link(path: Path) -> None:
    path.rename(path.with_name("elsewhere"))
    path.symlink_to("elsewhere")


def _dangling(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


@pytest.mark.parametrize("replace_by", [_folder, _pipe, _link, _dangling])
def test_what_is_no_file_is_no_ledger(tmp_path: Path, replace_by: Callable[[Path], None]) -> None:
    """Something else in the ledger's place is a fault to whoever reads, and nobody waits for it or writes to it."""
    ledger = filled(tmp_path)
    replace_by(ledger.path)
    assert "expected a file" in ledger.verify()[0]
    assert "expected a file" in ledger.read().faults[0]
    assert ("", 0, "") == (ledger.head, ledger.read().count, ledger.read().first)
    with pytest.raises(LedgerError, match="expected a file"):
        ledger.append(register("later"))
    assert not (tmp_path / "nowhere").exists()


@pytest.mark.parametrize("replace_by", [_folder, _pipe, _link, _dangling])
def test_what_is_no_file_is_no_record(tmp_path: Path, replace_by: Callable[[Path], None]) -> None:
    """A sealed record in whose place something else stands is a fault, and nobody waits for it."""
    store = make_experiment(tmp_path, names=["fleet"])
    replace_by(store.survey()[0].folder / "record.jsonl")
    assert "expected a file" in "\n".join(faults_of(store))


@contextmanager
def as_somebody_else() -> Iterator[None]:
    """Do without the rights of the superuser."""
    if os.geteuid() != 0:
        yield
        return
    os.seteuid(65_534)
    try:
        yield
    finally:
        os.seteuid(0)


def test_a_folder_that_may_only_be_read_is_read_and_not_added_to() -> None:
    """Who may not write can verify, also with a torn line; adding is refused in words."""
    # Pytest's own folders are closed to other users.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        ledger = filled(folder)
        with ledger.path.open("ab") as file:
            file.write(b'{"n":4')
        Path(f"{ledger.path}.lock").unlink(missing_ok=True)
        ledger.path.chmod(0o444)
        folder.chmod(0o555)
        with as_somebody_else():
            assert ((), 4) == (ledger.verify(), ledger.read().count)
            with pytest.raises(LedgerError, match=r"nothing can be added.*--mixgpu-report"):
                ledger.append(register("later"))
            assert () == ledger.verify()
        folder.chmod(0o755)


@pytest.mark.parametrize(
    ("change", "line", "why"),
    [
        pytest.param(lambda raw: raw.replace(b"\n", b"\r\n"), 1, "not written as this ledger writes", id="crlf"),
        pytest.param(lambda raw: b"\xef\xbb\xbf" + raw, 1, "not an entry of a ledger", id="byte-order-mark"),
        pytest.param(lambda raw: raw.decode().encode("utf-16"), 1, "not an entry of a ledger", id="utf-16"),
        pytest.param(lambda raw: raw.replace(b"\n", b"\0\n", 1), 1, "not an entry of a ledger", id="nul"),
        pytest.param(lambda raw: raw + b"\n", 5, "not an entry of a ledger", id="empty-line"),
        pytest.param(lambda raw: raw + b"[" * 50_000 + b"\n", 5, "not an entry of a ledger", id="deep"),
        pytest.param(lambda raw: raw + b"1" * 70_000 + b"\n", 5, "a line of more than 65536 bytes", id="long-line"),
        pytest.param(lambda raw: raw.replace(b'"run-1"', b'"run-\xff"'), 3, "not an entry of a ledger", id="not-utf-8"),
    ],
)
def test_bytes_that_are_no_entry_are_named_by_line(
    tmp_path: Path, change: Callable[[bytes], bytes], line: int, why: str
) -> None:
    """Whatever a tool or a stranger did to the bytes, the line is named where it begins."""
    ledger = filled(tmp_path)
    ledger.path.write_bytes(change(ledger.path.read_bytes()))
    fault = ledger.verify()[0]
    assert f"line {line}: " in fault
    assert why in fault
    with pytest.raises(LedgerError, match="not added to"):
        ledger.append(register("later"))


@pytest.mark.parametrize("tail", [b"\0" * 100, b"later", b'{"n":4}', b"1" * 70_000])
def test_an_end_that_no_writer_left_is_a_fault_and_stays(tmp_path: Path, tail: bytes) -> None:
    """What cannot be the beginning of the next entry is no torn line: it is named, and nobody cuts it off."""
    ledger = filled(tmp_path)
    raw = ledger.path.read_bytes() + tail
    ledger.path.write_bytes(raw)
    assert "are no entry that belongs there" in ledger.verify()[0]
    with pytest.raises(LedgerError, match="no entry that belongs there"):
        ledger.append(register("later"))
    assert raw == ledger.path.read_bytes()


def test_an_entry_that_is_too_long_is_not_written(tmp_path: Path) -> None:
    """What a reader would refuse is refused to the writer."""
    ledger = filled(tmp_path)
    with pytest.raises(LedgerError, match="more than 65536 bytes"):
        ledger.append(register("x" * MAX_LINE_BYTES))
    assert (4, ()) == (ledger.read().count, ledger.verify())


def test_many_faults_are_told_in_few_words(tmp_path: Path) -> None:
    """The first faults are told one by one, of the others the number."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(b"x\n" * (MAX_FAULTS + 80))
    faults = ledger.verify()
    assert MAX_FAULTS + 1 == len(faults)
    assert faults[-1].endswith("and 80 more faults of its chain")


def test_a_writer_sees_what_others_added_meanwhile(tmp_path: Path) -> None:
    """Two that add in turns share one chain, and each refuses what the other has registered."""
    one = filled(tmp_path, num_runs=1)
    other = Ledger(one.path)
    other.append(register("others"))
    one.append(register("own"))
    with pytest.raises(LedgerError, match="run own is registered for the second time; nothing was written"):
        other.append(register("own"))
    with pytest.raises(LedgerError, match="run others is registered for the second time; nothing was written"):
        one.append(register("others"))
    assert ((), 4) == (one.verify(), one.read().count)


@pytest.mark.parametrize("is_copy", [False, True], ids=["in-place", "another-file"])
def test_a_writer_sees_an_edit_behind_its_back(tmp_path: Path, *, is_copy: bool) -> None:
    """What was changed since the last entry is found before the next one is added, however small it is."""
    ledger = filled(tmp_path)
    # Clocks of file systems tick; an edit within the tick of the last entry is found by whoever verifies.
    time.sleep(0.05)
    raw = ledger.path.read_bytes().replace(b"run-0", b"run-9")
    if is_copy:
        ledger.path.unlink()
    ledger.path.write_bytes(raw)
    with pytest.raises(LedgerError, match=r"line 3: .*not added to"):
        ledger.append(register("later"))
    assert raw == ledger.path.read_bytes()
