"""The lock: `passmarks.lock` read into a `Lock` and written back, with the digests that seal it. Decides nothing.

The lock holds every mark and claim as they were frozen, what they are bound to, and a chain: one entry for each
freeze and amendment with its date, its reason and what was there before (`lock_chain`).
"""

import os
import tomllib
from hashlib import sha256
from pathlib import Path
from typing import Any, Literal

import msgspec

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.model import Claim, PassMark
from pytest_mixgpu.records.plan import Disturbance, Seeds

LOCK_SCHEMA = 3
"""History: 1 is the first; 2 holds plan and recipes by value, tests, judge and source files, and in each change which
runs there were; 3 seals in each change every part by itself. An older lock is read, its seals hold as they were made,
and the next change writes schema 3."""
READABLE_SCHEMAS = (1, 2, LOCK_SCHEMA)
BINDINGS = ("plan", "code", "evaluator", "data", "recipes", "judge", "tests")
"""What can be amended besides marks and claims; it concerns all of them."""
RUN_BINDINGS = ("plan", "code", "evaluator", "data", "recipes")
"""Those that runs were made under: runs from before such an amendment count no more. Another judge, or a test that was
written anew, judges the runs that there are."""

_PREFACE = """\
# Pass marks and claims as they were frozen. Written by `pytest --passmark-freeze`; changed only by
# `pytest --passmark-amend=ID --passmark-why=REASON`, which adds to the chain below. An edit by hand is TAMPERED.

"""


class Bindings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the numbers are bound to: SHA-256, hexadecimal."""

    plan: str
    """Of the plan; empty for a suite without one."""
    code: str
    """Of the modules that produce the numbers."""
    evaluator: str
    data: dict[str, str] = {}
    """Of the data manifest, by workload; a workload that is not named was not opened when the lock was written."""
    recipes: dict[str, str] = {}
    """Of the recipe (model, data, input, augmentation, optimizer) as plain data, by workload."""
    judge: str = ""
    """Of the modules that hand over numbers, compute metrics and judge; empty in a lock of schema 1."""
    tests: dict[str, str] = {}
    """Of the test that judges it and of what that imports from the suite, by id of the mark or claim, without the
    markers themselves."""


class Contents(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the digests of the bindings stand for, so that a difference can be named field by field."""

    plan: dict[str, object] = {}
    """The plan as plain data, without fields that are None; empty for a suite without one."""
    recipes: dict[str, dict[str, object]] = {}
    """Likewise each recipe that the plan names."""
    sources: dict[str, str] = {}
    """SHA-256 of each source file that the bindings cover, without its comments, by path: names what changed. Empty: it
    was bound before the lock listed files, and what it then held is not known."""


class Planned(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How many runs count, with which seeds, and from where on they are disturbed."""

    seeds: Seeds
    rehearsal_seeds: Seeds | None = None
    disturbance: Disturbance


class ChainEntry(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change of the lock."""

    event: Literal["freeze", "amend", "bind"]
    """`bind` stands once, right before the first change that schema 3 wrote in an older lock, and changes nothing."""
    ids: tuple[str, ...]
    """The marks and claims concerned, or one of `BINDINGS`; none where all that stands is bound."""
    at: str
    """UTC, ISO 8601, as the host's clock said."""
    why: str
    was: str = ""
    """What stood there before, as JSON; empty for a freeze."""
    num_runs: int | None = None
    """Runs of the suite that the ledger of the folder of reports had registered by then, rehearsals apart."""
    ledger_head: str | None = None
    """That ledger's head; empty where there was none. None in changes that schema 1 wrote."""
    ledger_count: int | None = None
    previous: str
    """Seal of the entry before; empty in the first."""
    state: str
    """SHA-256 of the lock without its chain, as this entry left it."""
    parts: dict[str, str] | None = None
    """SHA-256 of each part of it, by name: `mark e1-speedup`, `test of e1-speedup`, `plan`. None in changes that schema
    1 or 2 wrote. `sealed_parts` says what may differ from one entry to the next."""
    seal: str
    """SHA-256 over all other fields of this entry."""

    @property
    def runs_then(self) -> str:
        """Which runs there were, in words; empty where the entry does not say it."""
        if self.num_runs is None:
            return ""
        if not self.ledger_head:
            return "while the report folder held no ledger"
        count = f"after {self.num_runs} run{'' if self.num_runs == 1 else 's'}"
        return f"{count}, ledger head {self.ledger_head[:12]}… at line {self.ledger_count}"

    @property
    def sentence(self) -> str:
        """When it was, what it changed, after which runs, why, and what was there before."""
        runs = f" {self.runs_then}" if self.runs_then else ""
        return f"{self.at}: {', '.join(self.ids)} amended{runs}: {self.why} (was {self.was})"


class RunsThen(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the ledger of the folder of reports holds at the moment of a change."""

    num_runs: int
    """Runs of the suite, rehearsals apart."""
    head: str
    count: int


class Lock(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The whole of `passmarks.lock`."""

    schema: int = LOCK_SCHEMA
    suite: str
    frozen_at: str
    """When the first freeze was; later ones stand in the chain."""
    bindings: Bindings
    planned: Planned | None = None
    """None for a suite without a plan."""
    contents: Contents = Contents()
    marks: tuple[PassMark, ...] = ()
    claims: tuple[Claim, ...] = ()
    chain: tuple[ChainEntry, ...] = ()

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of all marks and claims."""
        return (*(mark.id for mark in self.marks), *(claim.id for claim in self.claims))

    def mark(self, id_: str) -> PassMark | None:
        """Return the frozen mark of that id."""
        return next((mark for mark in self.marks if mark.id == id_), None)

    def claim(self, id_: str) -> Claim | None:
        """Return the frozen claim of that id."""
        return next((claim for claim in self.claims if claim.id == id_), None)

    def amendments(self, *ids: str) -> tuple[ChainEntry, ...]:
        """Return the amendments that concern one of these ids, oldest first."""
        return tuple(entry for entry in self.chain if entry.event == "amend" and set(entry.ids) & set(ids))

    def frozen_since(self, id_: str) -> str:
        """Return when a mark or claim was frozen first; empty if never."""
        return next((entry.at for entry in self.chain if entry.event == "freeze" and id_ in entry.ids), "")

    def last_change(self, *ids: str) -> int:
        """Return the place in the chain of the last change that concerns these ids, or what all runs are bound to.

        A freeze adds marks and claims and leaves the others as they are, so it concerns those alone.
        """
        concerned = (
            place
            for place, entry in enumerate(self.chain)
            if set(entry.ids) & ({*ids, *RUN_BINDINGS} if entry.event == "amend" else set(ids))
        )
        return max(concerned, default=0)


def read_lock(path: Path) -> Lock | None:
    """Read a lock file; None where there is none.

    Raises:
        LockError: it is no TOML, or not a lock of a schema known here.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except (OSError, UnicodeDecodeError) as error:
        raise LockError(f"{path} cannot be read: {error}") from error
    return parse_lock(text, where=str(path))


def parse_lock(text: str, *, where: str) -> Lock:
    """Read the text of a lock.

    Args:
        text: TOML.
        where: how errors name it.

    Raises:
        LockError: it is no TOML, or not a lock of a schema known here.
    """
    try:
        table = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise LockError(f"{where} is no TOML: {error}; restore it from git") from error
    schema = table.get("schema")
    if schema not in READABLE_SCHEMAS:
        expected = f"{', '.join(map(str, READABLE_SCHEMAS[:-1]))} or {READABLE_SCHEMAS[-1]}"
        raise LockError(f"{where}: found schema {schema!r}, expected {expected}; another version wrote it")
    try:
        return msgspec.convert(table, Lock)
    except msgspec.ValidationError as error:
        raise LockError(f"{where}: {error}; restore it from git") from error


def lock_text(lock: Lock) -> str:
    """Write a lock as TOML, one table a mark, a claim and a change."""
    import tomli_w

    table = _without_none(msgspec.to_builtins(lock))
    # What people look for comes first; what the digests stand for is long.
    last = ("marks", "claims", "planned", "bindings", "contents", "chain")
    ordered = {key: table[key] for key in (*(key for key in table if key not in last), *last) if key in table}
    if not lock.chain:
        del ordered["chain"]
    return _PREFACE + tomli_w.dumps(ordered)


def write_lock(path: Path, lock: Lock) -> None:
    """Write a lock file whole or not at all.

    Raises:
        LockError: what was written does not read back as the same lock.
    """
    text = lock_text(lock)
    if parse_lock(text, where=str(path)) != lock:
        raise LockError(f"{path} was not written: its text would not read back as the same lock; please report this")
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8")
    temporary.replace(path)


def lock_digest(lock: Lock | None) -> str:
    """Return the SHA-256 of a lock's content, insensitive to layout and comments; empty where there is no lock.

    It is taken from the content without its chain and the seal of the last change, which seals the chain. So the
    digest that the lock had after each change can be worked out from the chain.
    """
    return "" if lock is None else _digest([state_digest(lock), lock.chain[-1].seal if lock.chain else ""])


def digests_since(lock: Lock, place: int) -> tuple[str, ...]:
    """Return the digests that a lock had from one change of its chain on, today's last."""
    earlier = (_digest([entry.state, entry.seal]) for entry in lock.chain[place:-1])
    return (*earlier, lock_digest(lock))


def state_digest(lock: Lock) -> str:
    """Return the SHA-256 of a lock without its chain."""
    state = msgspec.to_builtins(msgspec.structs.replace(lock, chain=()))
    return _digest(_as_schema_1(state) if lock.schema == 1 else state)


def seal_of(entry: ChainEntry) -> str:
    """Return the SHA-256 over an entry's fields but its seal."""
    sealed = msgspec.to_builtins(msgspec.structs.replace(entry, seal=""))
    # What an older schema did not write is no part of its seals.
    return _digest({name: value for name, value in sealed.items() if value is not None})


def _as_schema_1(state: dict[str, Any]) -> dict[str, Any]:
    """Return a lock's state as schema 1 sealed it: without the fields that came later."""
    return {
        **{name: value for name, value in state.items() if name != "contents"},
        "bindings": {name: value for name, value in state["bindings"].items() if name not in {"judge", "tests"}},
        "marks": [
            {name: value for name, value in mark.items() if name not in {"least_runs", "straddling"}}
            for mark in state["marks"]
        ],
    }


def _digest(value: object) -> str:
    return sha256(msgspec.json.encode(value, order="sorted")).hexdigest()


def _without_none(value: Any) -> Any:
    """TOML knows no null: a field that is None is left out, and reads back as its default."""
    if isinstance(value, dict):
        return {key: _without_none(entry) for key, entry in value.items() if entry is not None}
    if isinstance(value, list | tuple):
        return [_without_none(entry) for entry in value]
    return value
