"""Edits of one field in a copy of the sample, and all its hashes made good again, as a forger who knows them would."""

import tomllib
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
import tomli_w
from msgspec.structs import replace

from pytest_mixgpu.marks.differences import plain
from pytest_mixgpu.marks.lock import lock_digest, read_lock
from pytest_mixgpu.marks.lock_file import Lock, lock_text, seal_of, state_digest
from pytest_mixgpu.marks.sealed_parts import parts_of
from pytest_mixgpu.records.chain import FIRST_PREV
from pytest_mixgpu.records.digests import folder_digests
from pytest_mixgpu.records.plan_file import load_plan, plan_digest

Path_ = tuple[str | int, ...]
_ANOTHER = {
    "completed": "failed", "fleet": "mixed", "baseline": "fleet", "mixed": "fleet", "control": "reference",
    "reference": "control", "register": "close", "close": "register", "freeze": "amend", "amend": "freeze",
    "test": "validation", "validation": "test", "at_least": "at_most", "at_most": "at_least", "within": "at_most",
    "points": "x", "x": "points", "before": "after", "after": "before", "local": "elsewhere",
}  # fmt: skip
"""What a word can be changed into so that it is still one of those that are known."""


_LISTED = {"sources", "parts", "tests", "packages", "files", "environment"}
"""Tables that list one thing a key."""


class Field(NamedTuple):
    """One field of one document: which line of which file, and the way to it."""

    file: str
    """Relative to the copy."""
    line: int
    """Of a file of JSON lines; -1 for TOML."""
    path: Path_

    @property
    def shape(self) -> tuple[str, ...]:
        """The field without places in lists and keys of what is a list by name: all rounds have the same fields."""
        steps = zip(("", *self.path), self.path, strict=False)
        return tuple("*" if isinstance(step, int) or before in _LISTED else step for before, step in steps)


def fields_of(folder: Path, file: str) -> Iterator[Field]:
    """Yield every field that holds a single value."""
    for number, document in enumerate(_documents(folder / file)):
        line = -1 if file.endswith((".toml", ".lock")) else number
        yield from (Field(file, line, path) for path in _leaves(document))


def edit(folder: Path, field: Field) -> str:
    """Change one field and nothing else; return what it was and what it is."""
    path = folder / field.file
    documents = list(_documents(path))
    place = max(field.line, 0)
    target = documents[place]
    for step in field.path[:-1]:
        target = target[step]
    was = target[field.path[-1]]
    target[field.path[-1]] = _other(was)
    if field.line < 0:
        path.write_text(tomli_w.dumps(documents[0]), "utf-8")
    else:
        path.write_bytes(b"".join(_line(document) for document in documents))
    return f"{was!r:.40} made {target[field.path[-1]]!r:.40}"


def seal_again(folder: Path) -> None:
    """Make every hash good again: plan and lock, runs made under that lock, records, and the ledger from its start.

    Raises:
        MixgpuError: what was edited cannot be read any more.
    """
    suite, records = folder / "suite", folder / "records"
    before = read_lock(suite / "passmarks.lock")
    assert before is not None
    plan = load_plan(suite / "benchmark.toml")
    lock = _bound_to_plan(before, plan_digest(plan), plain(plan))
    (suite / "passmarks.lock").write_text(lock_text(lock), "utf-8")
    old = {text: digest for text, digest in _old_digests(records).items() if digest}
    new = {"plan": lock.bindings.plan, "lock": lock_digest(lock)}
    prev = FIRST_PREV
    lines = []
    for number, entry in enumerate(_documents(records / "ledger.jsonl")):
        record = records / "runs" / str(entry.get("run_id", "")) / "record.jsonl"
        if entry["event"] == "close" and record.is_file():
            entry["record_digest"] = _sealed_record(record, new, entry["record_digest"])
        for part in ("plan", "lock"):
            if entry.get(f"{part}_digest") == old.get(part):
                entry[f"{part}_digest"] = new[part]
        line = _line({**entry, "n": number, "prev": prev})
        prev = sha256(line[:-1]).hexdigest()
        lines.append(line)
    (records / "ledger.jsonl").write_bytes(b"".join(lines))


def _sealed_record(record: Path, digests: dict[str, str], sealed_before: str) -> str:
    raw = record.read_bytes()
    if sha256(raw).hexdigest() == sealed_before and all(digest.encode() in raw for digest in digests.values()):
        return sealed_before
    lines = list(_documents(record))
    lines[0]["digests"] |= digests
    lines[-1]["files"] = folder_digests(record.parent, without=(record.name,))
    sealed = b"".join(_line(line) for line in lines)
    record.write_bytes(sealed)
    return sha256(sealed).hexdigest()


def _old_digests(records: Path) -> dict[str, str]:
    """Under which plan and lock the runs were made, as most of the ledger says."""
    entries = [entry for entry in _documents(records / "ledger.jsonl") if entry["event"] == "close"]
    return {part: max((entry.get(f"{part}_digest", "") for entry in entries), default="") for part in ("plan", "lock")}


def _bound_to_plan(lock: Lock, digest: str, contents: dict[str, object]) -> Lock:
    """Bind a lock to the plan as it is, and seal its chain again from the start: the last change seals what stands."""
    lock = replace(lock, bindings=replace(lock.bindings, plan=digest), contents=replace(lock.contents, plan=contents))
    chain = list(lock.chain)
    chain[-1] = replace(chain[-1], state=state_digest(lock), parts=parts_of(lock))
    previous = ""
    for place, entry in enumerate(chain):
        linked = replace(entry, previous=previous, seal="")
        chain[place] = replace(linked, seal=seal_of(linked))
        previous = chain[place].seal
    return replace(lock, chain=tuple(chain))


def _documents(path: Path) -> Iterator[Any]:
    if path.suffix == ".jsonl":
        yield from (msgspec.json.decode(line) for line in path.read_bytes().splitlines())
    else:
        yield tomllib.loads(path.read_text("utf-8"))


def _line(document: Any) -> bytes:
    return msgspec.json.encode(document) + b"\n"


def _leaves(value: Any, path: Path_ = ()) -> Iterator[Path_]:
    if isinstance(value, dict):
        for name, inner in value.items():
            yield from _leaves(inner, (*path, name))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from _leaves(inner, (*path, place))
    else:
        yield path


def _other(value: Any) -> Any:
    """Another value of the same type, as near as it can be and not the same for any reader."""
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if isinstance(value, float):
        return value * 1.01 + 1e-3
    return 1 if value is None else _other_text(value)


def _other_text(text: str) -> str:
    if text in _ANOTHER:
        return _ANOTHER[text]
    if text[:4].isdigit() and "T" in text[:12]:
        # A date stays one: a year earlier.
        return f"{int(text[:4]) - 1}{text[4:]}"
    if text and set(text) <= set("0123456789abcdef"):
        return ("1" if text[0] == "0" else "0") + text[1:]
    return f"{text}x"
