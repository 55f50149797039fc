"""The ledger shows every accident to its chain, and with a head kept outside every change."""

from pathlib import Path

import pytest
from filelock import FileLock
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_mixgpu.errors import LedgerError
from pytest_mixgpu.records.chain import FIRST_PREV, LedgerEntry, is_torn_write
from pytest_mixgpu.records.known_runs import KnownRuns
from pytest_mixgpu.records.ledger import Ledger
from tests.records.chains import read_chain

AT = "2026-11-29T12:00:00.000+00:00"


def entry(event: str, run_id: str, **fields: str) -> LedgerEntry:
    return LedgerEntry(at=AT, event=event, run_id=run_id, suite="e1", **fields)  # type: ignore[arg-type]


def fill(ledger: Ledger, num_runs: int = 3) -> bytes:
    for index in range(num_runs):
        ledger.append(entry("register", f"run-{index}", lock_digest="ab"))
        ledger.append(entry("close", f"run-{index}", record_digest="cd", status="completed"))
    return ledger.path.read_bytes()


@pytest.fixture(scope="module")
def chain(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    return fill(Ledger(tmp_path_factory.mktemp("chain") / "ledger.jsonl"))


def head_of(raw: bytes) -> str:
    return read_chain(raw).head


def is_found(raw: bytes, chain: bytes, folder: Path) -> bool:
    """Whether a changed ledger is told from the true one by its chain or by a head and count kept outside."""
    ledger = Ledger(folder / "ledger.jsonl")
    ledger.path.write_bytes(raw)
    reading = read_chain(raw)
    kept = read_chain(chain)
    return bool(reading.torn or ledger.verify(head=kept.head, count=kept.count))


def test_a_chain_that_was_written_is_whole(tmp_path: Path) -> None:
    """What the ledger wrote it finds in order, with places counted from 0 and each line bound to the one before."""
    ledger = Ledger(tmp_path / "reports" / "ledger.jsonl")
    raw = fill(ledger)
    entries = ledger.entries()
    assert ["open", *["register", "close"] * 3] == [one.event for one in entries]
    assert list(range(7)) == [one.n for one in entries]
    assert FIRST_PREV == entries[0].prev
    assert () == ledger.verify(head=ledger.head, count=7)
    assert (7, head_of(raw)) == (ledger.read().count, ledger.head)


def test_the_first_entry_binds_to_the_lock(tmp_path: Path) -> None:
    """A new ledger opens with the lock and plan of the first run."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.append(entry("register", "run-0", lock_digest="lock", plan_digest="plan"))
    assert ("open", "lock", "plan", "e1") == (
        (first := ledger.entries()[0]).event,
        first.lock_digest,
        first.plan_digest,
        first.suite,
    )


def test_a_ledger_that_is_not_there_is_empty(tmp_path: Path) -> None:
    """No file is no fault: nothing was registered yet."""
    ledger = Ledger(tmp_path / "none" / "ledger.jsonl")
    assert ((), "", 0, ()) == (ledger.entries(), ledger.head, ledger.read().count, ledger.verify())
    assert not ledger.path.parent.exists()


@given(st.data())
@settings(max_examples=150, deadline=None)
def test_a_cut_at_any_byte_is_found(
    tmp_path_factory: pytest.TempPathFactory, chain: bytes, data: st.DataObject
) -> None:
    """Whatever is missing from the end, chain or outer head show it."""
    size = data.draw(st.integers(0, len(chain) - 1))
    assert is_found(chain[:size], chain, tmp_path_factory.mktemp("cut"))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_an_edit_of_any_byte_is_found(
    tmp_path_factory: pytest.TempPathFactory, chain: bytes, data: st.DataObject
) -> None:
    """Any byte that is changed to any other is found; before the last line, by the chain alone."""
    place = data.draw(st.integers(0, len(chain) - 1))
    value = data.draw(st.integers(0, 255).filter(lambda one: one != chain[place]))
    raw = chain[:place] + bytes([value]) + chain[place + 1 :]
    assert is_found(raw, chain, tmp_path_factory.mktemp("edit"))
    if place < chain.rindex(b"\n", 0, -1):
        assert read_chain(raw).faults


@given(st.permutations(range(7)))
@settings(max_examples=100, deadline=None)
def test_another_order_is_found_by_the_chain_alone(chain: bytes, order: list[int]) -> None:
    """Lines in any order but their own break the chain."""
    lines = chain.splitlines(keepends=True)
    faults = read_chain(b"".join(lines[index] for index in order)).faults
    assert (order != list(range(7))) == bool(faults)


@given(st.integers(0, 6), st.integers(0, 7))
def test_a_line_that_is_repeated_is_found_by_the_chain_alone(chain: bytes, taken: int, place: int) -> None:
    """A copy of any line, put anywhere, breaks the chain."""
    lines = chain.splitlines(keepends=True)
    lines.insert(place, lines[taken])
    assert read_chain(b"".join(lines)).faults


@given(st.sets(st.integers(0, 6), min_size=1, max_size=6))
def test_lines_that_are_gone_are_found(tmp_path_factory: pytest.TempPathFactory, chain: bytes, gone: set[int]) -> None:
    """Lines taken out anywhere but at the end break the chain; at the end, the outer head shows it."""
    lines = chain.splitlines(keepends=True)
    raw = b"".join(line for index, line in enumerate(lines) if index not in gone)
    assert is_found(raw, chain, tmp_path_factory.mktemp("gone"))
    if gone != set(range(7 - len(gone), 7)):
        assert read_chain(raw).faults


def test_a_rebuilt_chain_is_shown_by_the_outer_head_only(tmp_path: Path) -> None:
    """A ledger written anew is whole in itself: only a head that was kept outside tells."""
    kept = read_chain(fill(Ledger(tmp_path / "first" / "ledger.jsonl")))
    rebuilt = Ledger(tmp_path / "second" / "ledger.jsonl")
    fill(rebuilt, num_runs=2)
    assert () == rebuilt.verify()
    assert "rebuilt or cut" in rebuilt.verify(head=kept.head, count=kept.count)[0]


def test_an_older_head_is_still_a_line_of_a_longer_ledger(tmp_path: Path) -> None:
    """A head that was kept when the ledger was shorter holds, at its own place only."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    fill(ledger, num_runs=2)
    head, count = ledger.head, ledger.read().count
    ledger.append(entry("register", "later"))
    assert () == ledger.verify(head=head, count=count)
    assert "stands at line 5, expected line 4" in ledger.verify(head=head, count=4)[0]


@pytest.mark.parametrize("kept", [1, 40, -1], ids=["first-byte", "some", "all-but-the-end"])
def test_a_torn_last_line_is_cut_off_and_said(tmp_path: Path, chain: bytes, kept: int) -> None:
    """What a killed writer left of a line is replaced by an entry that says so; nothing else is lost."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    last = chain.splitlines(keepends=True)[-1]
    ledger.path.write_bytes(chain[: -len(last)] + last[:kept])
    assert () == ledger.verify()
    ledger.append(entry("close", "run-2", status="failed"))
    events = [(one.event, one.note[:29]) for one in ledger.entries()[-2:]]
    assert [("repair", "cut off a torn last line of "[:29]), ("close", "")] == [(e, n[:28]) for e, n in events]
    assert () == ledger.verify()


def test_a_torn_first_line_is_said_in_the_opening(tmp_path: Path) -> None:
    """A ledger that was torn in its very first line starts again, and its opening says so."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(b'{"n":0,"prev":"00')
    ledger.append(entry("register", "run-0"))
    assert ["open", "register"] == [one.event for one in ledger.entries()]
    assert "torn last line of 17 bytes" in ledger.entries()[0].note


def test_a_broken_ledger_is_not_added_to(tmp_path: Path, chain: bytes) -> None:
    """To a chain that is broken nothing is added, and the refusal says what to do."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(chain.replace(b"run-1", b"run-7"))
    with pytest.raises(LedgerError, match=r"line 5: .*restore it from a copy.*--mixgpu-report"):
        ledger.append(entry("register", "run-9"))
    with pytest.raises(LedgerError, match="line 5"):
        ledger.entries()
    assert len(chain) == ledger.path.stat().st_size


@pytest.mark.parametrize(
    ("event", "run_id", "fault"),
    [
        ("register", "run-0", "run-0 is registered for the second time"),
        ("close", "run-0", "run-0 is closed for the second time"),
        ("close", "run-9", "run-9 is closed but was never registered"),
        ("open", "", "found `open`, expected `open` as the first line and nowhere else"),
        ("register", "", "found a `register` of no run, expected the run's id"),
    ],
    ids=["registered-twice", "closed-twice", "closed-unregistered", "opened-twice", "of-no-run"],
)
def test_what_cannot_have_happened_is_refused(tmp_path: Path, event: str, run_id: str, fault: str) -> None:
    """An entry that contradicts those before it is refused, and nothing is written."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    raw = fill(ledger)
    with pytest.raises(LedgerError, match=fault):
        ledger.append(entry(event, run_id))
    assert raw == ledger.path.read_bytes()


def test_an_entry_of_a_wrong_type_is_refused(tmp_path: Path) -> None:
    """What could not be read back is not appended."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    with pytest.raises(LedgerError, match="Expected `int"):
        ledger.append(LedgerEntry(at=AT, event="register", run_id="run-0", seed="seven"))  # type: ignore[arg-type]
    assert not ledger.path.exists()


def test_a_ledger_that_is_held_for_too_long_is_an_error(tmp_path: Path) -> None:
    """A session that hangs on to the ledger is named as the cause, with what to do; reading goes on meanwhile."""
    ledger = Ledger(tmp_path / "ledger.jsonl", lock_timeout_s=0.05)
    fill(ledger)
    with (
        FileLock(f"{ledger.path}.lock"),
        pytest.raises(LedgerError, match=r"another session has held it.*--mixgpu-report"),
    ):
        ledger.append(entry("register", "run-9"))
    with FileLock(f"{ledger.path}.lock"):
        assert 7 == ledger.read().count


@pytest.mark.parametrize(
    ("torn", "expected"),
    [
        pytest.param("", True, id="nothing"),
        pytest.param('{"n":2', True, id="number"),
        pytest.param('{"n":3', False, id="another-number"),
        pytest.param('{"n":2,"prev":"HEAD","at":"2026', True, id="moment"),
        pytest.param('{"n":2,"prev":"beef', False, id="another-head"),
        pytest.param('{"n":2,"prev":"HEAD","at":"x","event":"close","run_id":"open"', True, id="close"),
        pytest.param('{"n":2,"prev":"HEAD","at":"x","event":"close","run_id":"other"', False, id="close-of-nothing"),
        pytest.param('{"n":2,"prev":"HEAD","at":"x","event":"register","run_id":"new"', True, id="register"),
        pytest.param('{"n":2,"prev":"HEAD","at":"x","event":"register","run_id":"open"', False, id="register-again"),
    ],
)
def test_a_torn_write_is_told_from_anything_else(torn: str, expected: bool) -> None:  # noqa: FBT001
    """It is the beginning of an entry that could stand there."""
    head = "ab" * 32
    with KnownRuns() as known:
        known.note("open", is_closed=False)

        assert expected is is_torn_write(torn.replace("HEAD", head).encode(), count=2, head=head, known=known)
