"""What changed between two changes of a lock, part by part, against what each says of itself. Pure.

Each entry of the chain seals a digest of every part that the lock held when it was written: each mark and claim, each
test, recipe and data set, the plan, the code. So what differs between two entries that follow each other is known, and
has to be what the later one names: whoever edits a mark and seals a change anew that was made for another one is
found. What plan, recipes and source files say by value (`contents`) is no part: it is compared with what is there now.

What this does not show: a chain that was rebuilt from the freeze of the mark on. Only git and a lock kept elsewhere do.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from pytest_mixgpu.marks.lock_file import ChainEntry, Lock
from pytest_mixgpu.records.digests import canonical_digest

PARTS_SINCE = 3
"""The schema of locks whose changes seal each part."""

_ONE_DIGEST = ("plan", "code", "evaluator", "judge")
_MANY = {"recipes": "recipe of ", "data": "data of ", "tests": "test of "}
"""Bindings that hold a digest for each of several things, and what the names of these parts begin with."""


def parts_of(lock: Lock) -> dict[str, str]:
    """Return the SHA-256 of every part that a lock holds, by its name: `mark e1-speedup`, `test of e1-speedup`, `plan`.

    What is empty is no part: it was not bound.
    """
    bound = lock.bindings
    held: dict[str, object] = {
        **{f"mark {mark.id}": mark for mark in lock.marks},
        **{f"claim {claim.id}": claim for claim in lock.claims},
        **{f"{kind}{name}": digest for part, kind in _MANY.items() for name, digest in getattr(bound, part).items()},
        **{part: getattr(bound, part) for part in _ONE_DIGEST},
        "planned": lock.planned,
        "suite": lock.suite,
    }
    return {name: _digest_of(held[name]) for name in sorted(held) if _digest_of(held[name])}


def part_faults(lock: Lock) -> Iterator[str]:
    """Say what differs in a lock and is named by no change, or is named and does not differ, a sentence each."""
    if lock.schema < PARTS_SINCE:
        for number, entry in enumerate(lock.chain, start=1):
            if entry.parts is not None:
                yield (
                    f"the lock says schema {lock.schema}, and change {number} of it seals each part by itself, as "
                    f"schema {PARTS_SINCE} does: the number was lowered"
                )
        return
    before = None
    for number, entry in enumerate(lock.chain, start=1):
        yield from _faults_of(number, entry, before)
        before = entry
    yield from _faults_of_last(lock)
    yield from _untrue_befores(lock)


def _faults_of_last(lock: Lock) -> Iterator[str]:
    number, last = len(lock.chain), lock.chain[-1]
    if last.parts is None:
        yield f"change {number} of the lock, its last, does not seal each part by itself: the digests were dropped"
        return
    for name in _differing(last.parts, parts_of(lock)):
        yield f"{name} is not as change {number} of the lock, its last, sealed it"
    if last.event == "bind":
        yield f"change {number} of the lock, its last, binds what stood before a change, and the change is not there"


def _faults_of(number: int, entry: ChainEntry, before: ChainEntry | None) -> Iterator[str]:
    """Say where one change does not do what it says, given the one before it."""
    if entry.parts is None:
        if entry.event == "bind" or (before is not None and before.parts is not None):
            yield f"change {number} of the lock does not seal each part by itself: the digests were dropped"
    elif before is None:
        yield from _faults_of_first(entry, entry.parts)
    elif before.parts is None:
        if entry.event != "bind" or entry.ids:
            yield (
                f"change {number} of the lock is the first that seals each part, and none before it binds what stood "
                "until then"
            )
    elif entry.event == "bind":
        yield f"change {number} of the lock binds what the change before it had bound already"
    else:
        yield from _faults_between(number, entry, before.parts, entry.parts)


def _faults_of_first(entry: ChainEntry, now: Mapping[str, str]) -> Iterator[str]:
    own = {name for id_ in entry.ids for name in _names_of(id_)}
    for name in now:
        if name.startswith(("mark ", "claim ")) and name not in own:
            yield f"change 1 of the lock holds {name}, and names only {', '.join(entry.ids)}"
    for id_ in entry.ids:
        if not now.keys() & _names_of(id_):
            yield f"change 1 of the lock names {id_}, which it does not hold"


def _faults_between(number: int, entry: ChainEntry, before: Mapping[str, str], now: Mapping[str, str]) -> Iterator[str]:
    changed = _differing(before, now)
    named: set[str] = set()
    if entry.event == "amend" and len(entry.ids) != 1:
        yield f"change {number} of the lock amends {len(entry.ids)} things ({', '.join(entry.ids)}); each has its own"
    for id_ in entry.ids:
        mine = {name for name in changed if _is_named(name, id_, entry.event, before)}
        named |= mine
        if not mine and entry.event == "amend":
            yield f"change {number} of the lock amends {id_}, which is the same in change {number - 1}"
        elif not mine:
            yield f"change {number} of the lock freezes {id_}, which it does not add"
    for name in changed:
        if name not in named and not _comes_along(name, before, now):
            yield (
                f"{name} differs between change {number - 1} and change {number} of the lock, which names only "
                f"{', '.join(entry.ids)}"
            )


def _is_named(name: str, id_: str, event: str, before: Mapping[str, str]) -> bool:
    """Whether an id stands for a part: a freeze only adds, and an amendment adds no mark and no claim."""
    if event == "freeze":
        return name in _names_of(id_) and not before.keys() & _names_of(id_)
    if id_ in _MANY:
        return name.startswith(_MANY[id_])
    if id_ == "plan":
        # A plan names its workloads, and another workload has another recipe.
        return name in {"plan", "planned"} or name.startswith(_MANY["recipes"])
    return name == id_ if id_ in _ONE_DIGEST else name in _names_of(id_) and name in before


def _comes_along(name: str, before: Mapping[str, str], now: Mapping[str, str]) -> bool:
    """Whether a part changes with any change: bound for the first time, or a test that went with its mark."""
    if name not in before:
        return name == "judge" or name.startswith(_MANY["tests"])
    is_gone = name not in now and name.startswith(_MANY["tests"])
    return is_gone and not now.keys() & _names_of(name.removeprefix(_MANY["tests"]))


def _untrue_befores(lock: Lock) -> Iterator[str]:
    """Say which amendments tell something else of what was there before than what was sealed then.

    From the lock as it is back to its freeze: what an amendment keeps of a mark are the fields that it changed.
    """
    tables = {f"mark {mark.id}": msgspec.to_builtins(mark) for mark in lock.marks}
    tables |= {f"claim {claim.id}": msgspec.to_builtins(claim) for claim in lock.claims}
    for number in range(len(lock.chain), 1, -1):
        entry, before = lock.chain[number - 1], lock.chain[number - 2].parts
        if entry.event != "amend" or entry.parts is None or before is None:
            continue
        try:
            was = msgspec.json.decode(entry.was, type=dict[str, object])
        except msgspec.DecodeError:
            yield f"change {number} of the lock does not say what was there before it"
            continue
        told = dict(_told_before(was, entry.ids, tables, before))
        for name in sorted(told.keys() | _to_be_told(entry, before)):
            if before.get(name, "") != _digest_of(told.get(name)):
                yield f"change {number} of the lock tells another {name} than change {number - 1} sealed"
        tables |= {name: table for name, table in told.items() if isinstance(table, dict)}


def _told_before(
    was: Mapping[str, object], ids: Sequence[str], tables: Mapping[str, dict[str, object]], before: Mapping[str, str]
) -> Iterator[tuple[str, object]]:
    """Return the parts that an amendment says something of, as they were."""
    for id_ in ids:
        for name in sorted(before.keys() & _names_of(id_)):
            yield name, {**tables.get(name, {}), **was}
        if id_ in _ONE_DIGEST:
            yield id_, was.get(id_)
        for part in ("recipes",) if id_ == "plan" else (id_,):
            listed = was.get(part) if part in _MANY else None
            if isinstance(listed, dict):
                yield from ((f"{_MANY[part]}{name}", digest) for name, digest in listed.items())


def _to_be_told(entry: ChainEntry, before: Mapping[str, str]) -> set[str]:
    """Return the parts that an amendment changed and that were there; of `planned` the plan tells the fields."""
    changed = _differing(before, entry.parts or {})
    named = {name for name in changed for id_ in entry.ids if _is_named(name, id_, entry.event, before)}
    return {name for name in named if name in before and name != "planned"}


def _digest_of(part: object) -> str:
    return "" if part is None or part == "" else canonical_digest(part)


def _names_of(id_: str) -> set[str]:
    return {f"mark {id_}", f"claim {id_}"}


def _differing(before: Mapping[str, str], now: Mapping[str, str]) -> tuple[str, ...]:
    return tuple(name for name in sorted({*before, *now}) if before.get(name) != now.get(name))
