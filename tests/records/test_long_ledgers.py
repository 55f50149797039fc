"""However long a ledger is, and however long its lines: nothing is forgotten, and memory does not grow."""

import tracemalloc
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.errors import LedgerError
from pytest_mixgpu.records.chain import Event, LedgerEntry
from pytest_mixgpu.records.known_runs import NUM_HELD_RUNS
from pytest_mixgpu.records.ledger import Ledger
from tests.records.chains import AT, made_good, many_runs


def test_a_huge_line_is_never_held_whole(tmp_path: Path) -> None:
    """A reader's memory does not depend on how long a line somebody made."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(made_good(many_runs(3)))
    with ledger.path.open("ab") as file:
        file.truncate(32 << 20)
    tracemalloc.start()
    try:
        assert "more than 65536 bytes after the last line" in ledger.verify()[0]
        ledger.read()
        assert ledger.head
        peak_bytes = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak_bytes < 4 << 20


@pytest.mark.parametrize("place", [3, NUM_HELD_RUNS, 4 * NUM_HELD_RUNS], ids=["early", "just-put-away", "at-the-end"])
@pytest.mark.parametrize(
    ("event", "why"), [("register", "registered for the second time"), ("close", "closed for the second time")]
)
def test_what_happened_long_ago_is_not_forgotten(tmp_path: Path, event: Event, why: str, place: int) -> None:
    """A run that is registered or closed again is found, however many runs lie between."""
    entries = many_runs(2 * NUM_HELD_RUNS)
    run_id = entries[1].run_id
    entries.insert(place, replace(entries[1], event=event))
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(made_good(entries))
    assert (f"{ledger.path}, line {place + 1}: run {run_id} is {why}",) == ledger.verify()


def test_memory_does_not_grow_with_the_ledger(tmp_path: Path) -> None:
    """What is allocated for a ledger three times as long is no more, within a small slack."""
    peaks_bytes = []
    for num_runs in (2 * NUM_HELD_RUNS, 6 * NUM_HELD_RUNS):
        ledger = Ledger(tmp_path / f"{num_runs}.jsonl")
        ledger.path.write_bytes(made_good(many_runs(num_runs)))
        tracemalloc.start()
        try:
            assert () == ledger.verify()
            peaks_bytes.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks_bytes[1] < peaks_bytes[0] + (256 << 10)


def test_many_entries_are_added_without_reading_all_again(tmp_path: Path) -> None:
    """A writer that adds entry after entry reads the whole ledger once, and the chain is whole at the end."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    ledger.path.write_bytes(made_good(many_runs(NUM_HELD_RUNS)))
    for index in range(50):
        ledger.append(LedgerEntry(at=AT, event="register", run_id=f"fresh-{index}"))
        ledger.append(LedgerEntry(at=AT, event="close", run_id=f"fresh-{index}"))
    with pytest.raises(LedgerError, match="run run-0 is registered for the second time"):
        ledger.append(LedgerEntry(at=AT, event="register", run_id="run-0"))
    assert ((), 2 * NUM_HELD_RUNS + 101) == (ledger.verify(), ledger.read().count)
