"""An entry that was deleted, moved, edited or repeated is found; of a chain made good again, a kept head says so."""

from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.records.chain import LedgerEntry
from pytest_mixgpu.records.ledger import Ledger
from tests.records.chains import made_good, read_chain

NUM_RUNS = 3
TEXTS = (
    "at", "run_id", "session", "suite", "role", "name", "leg", "plan_digest", "lock_digest", "record_digest", "status",
    "note",
)  # fmt: skip


class Edit(NamedTuple):
    """Something that was done to the entries of a ledger."""

    entries: tuple[LedgerEntry, ...]
    at: int
    """Place of the first entry that is another than it was, or is gone."""


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[LedgerEntry, ...]:
    """A small ledger of which one run never closed."""
    ledger = Ledger(tmp_path_factory.mktemp("written") / "ledger.jsonl")
    for index in range(NUM_RUNS):
        entry = LedgerEntry(
            at=f"2026-11-29T12:0{index}:00.000+00:00", event="register", run_id=f"run-{index}", suite="e1",
            session="one", role="fleet", name="fleet", repeat=index, seed=20261129 + index,
            rehearsal=False, lock_digest="ab",
        )  # fmt: skip
        ledger.append(entry)
        if index != 1:
            ledger.append(replace(entry, event="close", record_digest="cd", status="completed"))
    return ledger.entries()


def _delete(entries: Sequence[LedgerEntry], data: st.DataObject) -> Sequence[LedgerEntry]:
    gone = data.draw(st.integers(0, len(entries) - 1))
    return [*entries[:gone], *entries[gone + 1 :]]


def _repeat(entries: Sequence[LedgerEntry], data: st.DataObject) -> Sequence[LedgerEntry]:
    copied, to = (data.draw(st.integers(0, len(entries) - 1)) for _ in range(2))
    return [*entries[: to + 1], entries[copied], *entries[to + 1 :]]


def _reorder(entries: Sequence[LedgerEntry], data: st.DataObject) -> Sequence[LedgerEntry]:
    return data.draw(st.permutations(entries).filter(lambda order: list(order) != list(entries)))


def _edit(entries: Sequence[LedgerEntry], data: st.DataObject) -> Sequence[LedgerEntry]:
    at = data.draw(st.integers(0, len(entries) - 1))
    old = entries[at]
    changes: list[dict[str, object]] = [{name: f"{getattr(old, name)}x"} for name in TEXTS]
    changes += [{"repeat": (old.repeat or 0) + 1}, {"seed": (old.seed or 0) + 1}, {"rehearsal": not old.rehearsal}]
    changes += [{"event": event} for event in ("open", "register", "close", "repair") if event != old.event]
    new = msgspec.convert(msgspec.to_builtins(old) | data.draw(st.sampled_from(changes)), LedgerEntry)
    return [*entries[:at], new, *entries[at + 1 :]]


EDITS = st.sampled_from([_delete, _repeat, _reorder, _edit])


def edited(entries: tuple[LedgerEntry, ...], data: st.DataObject) -> Edit:
    """Do one thing to the entries, and say from where on they are others."""
    change: Callable[[Sequence[LedgerEntry], st.DataObject], Sequence[LedgerEntry]] = data.draw(EDITS)
    after = tuple(change(entries, data))
    pairs = zip(entries, after, strict=False)
    at = next((place for place, (old, new) in enumerate(pairs) if old != new), min(len(entries), len(after)))
    return Edit(after, at)


def as_they_are(entries: Sequence[LedgerEntry]) -> bytes:
    """Write entries with the places and hashes that they had."""
    return b"".join(msgspec.json.encode(entry) + b"\n" for entry in entries)


def can_have_happened(entries: Sequence[LedgerEntry]) -> bool:
    """Tell a ledger's story again: opened once and first, no run registered twice, none closed that is not open."""
    events = [entry.event for entry in entries]
    story = [(entry.run_id, entry.event) for entry in entries if entry.event in {"register", "close"}]
    runs = {run_id for run_id, _ in story}
    by_run = [[event for one, event in story if one == run_id] for run_id in runs]
    return events[:1] in ([], ["open"]) and "open" not in events[1:] and all(
        told in (["register"], ["register", "close"]) for told in by_run
    )  # fmt: skip


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_an_entry_that_was_changed_is_found_where_it_stands(
    written: tuple[LedgerEntry, ...], data: st.DataObject
) -> None:
    """An edit, deletion, move or copy is named at its line or the next; at the end it takes the kept head to see it."""
    edit = edited(written, data)
    raw = as_they_are(edit.entries)

    faults = read_chain(raw).faults

    is_at_the_end = edit.at >= len(edit.entries) - 1 and len(edit.entries) <= len(written)
    if not is_at_the_end:
        assert faults[0].startswith((f"ledger, line {edit.at + 1}: ", f"ledger, line {edit.at + 2}: "))


@given(st.data())
@settings(max_examples=300, deadline=None)
def test_a_chain_that_was_made_good_again_is_whole_and_does_not_hold_the_kept_head(
    written: tuple[LedgerEntry, ...], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Without a head from outside only what cannot have happened is found; with it every change is."""
    kept = read_chain(made_good(written))
    assert written == kept.entries
    edit = edited(written, data)
    ledger = Ledger(tmp_path_factory.mktemp("made-good") / "ledger.jsonl")
    ledger.path.write_bytes(made_good(edit.entries))

    assert can_have_happened(edit.entries) is (ledger.verify() == ())
    # What was only added behind the kept head is no change to what the head speaks of.
    is_added_behind = edit.at >= len(written)
    assert is_added_behind is not any(
        "kept outside" in fault for fault in ledger.verify(head=kept.head, count=kept.count)
    )
    assert ({kept.head: kept.count} if is_added_behind else {}) == ledger.places({kept.head})


@given(st.data())
@settings(max_examples=100, deadline=None)
def test_a_kept_head_vouches_for_all_lines_up_to_it_and_for_none_after(
    written: tuple[LedgerEntry, ...], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Of a head that was kept when the ledger was shorter, only changes before it are found."""
    kept = data.draw(st.integers(1, len(written)))
    head = read_chain(made_good(written[:kept])).head
    edit = edited(written, data)
    ledger = Ledger(tmp_path_factory.mktemp("older-head") / "ledger.jsonl")
    ledger.path.write_bytes(made_good(edit.entries))

    assert (edit.at >= kept) is (ledger.places({head}) == {head: kept})


def test_places_tells_where_each_head_stood(written: tuple[LedgerEntry, ...], tmp_path: Path) -> None:
    """Heads are looked up in one reading; one that this ledger never had is not there."""
    ledger = Ledger(tmp_path / "ledger.jsonl")
    raw = made_good(written)
    ledger.path.write_bytes(raw)
    heads = [sha256(line).hexdigest() for line in raw.splitlines()]

    assert {head: place for place, head in enumerate(heads, start=1)} == ledger.places([*heads, "0" * 64])
    assert (heads[0], heads[-1], len(heads)) == (ledger.read().first, ledger.head, ledger.read().count)
    assert ledger.places(heads) == ledger.read().places
