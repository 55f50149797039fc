"""The lock's way through git: from a repository to the commits since which each mark is as it is now. Judges nothing.

A mark's value is its table and the last change in the lock's chain that concerns it, in a lock whose seals hold. So
another mark that is frozen or amended changes nothing for it, and a chain that was rebuilt is another value. From HEAD
the way goes back along every line on which the value stood without a break; where it was brought on several lines that
were merged, each is told. A lock that was moved is followed by its chain, however much was edited in the same commit.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta, timezone
from hashlib import sha256
from pathlib import PurePosixPath

import msgspec

from pytest_mixgpu.errors import LockError
from pytest_mixgpu.marks.lock_chain import broken_seals
from pytest_mixgpu.marks.lock_file import Lock, parse_lock
from pytest_mixgpu.records.repository import Repository

WHOLE = ""
"""Stands for the lock as a whole, where an id is asked for."""

_AT_ONCE = 64
_STAMP = re.compile(r" (\d{1,12}) ([+-])(\d\d)(\d\d)$")


class Version(msgspec.Struct, frozen=True, kw_only=True):
    """The lock in one commit that changed it."""

    commit: str
    path: str
    blob: str
    start: str
    """The commit from which its line was listed."""


class Commit(msgspec.Struct, frozen=True, kw_only=True):
    """A commit as it is stored, whatever grafts or a shallow clone make of its parents."""

    id: str
    parents: tuple[str, ...]
    author_date: str
    """ISO 8601; empty where it is none."""
    committer_date: str


class _Line(msgspec.Struct, frozen=True, kw_only=True):
    """The commits that changed one path, with those that came before them on it."""

    tip: str
    parents: Mapping[str, tuple[str, ...]]
    blobs: Mapping[str, str]
    """Empty where the file is not there."""


class _State(msgspec.Struct, frozen=True, kw_only=True):
    """What one version of the lock says, by id, in a form that can be compared."""

    origin: str = ""
    """Seal of its first change: what a lock keeps wherever it is moved."""
    values: Mapping[str, str] = {}


class LockHistory:
    """Walks back from a commit.

    Args:
        repository: that holds the lock.
    """

    def __init__(self, repository: Repository) -> None:
        self._repository = repository
        self._lines: dict[tuple[str, str], _Line] = {}
        self._states: dict[str, _State] = {}
        self._commits: dict[str, Commit] = {}
        self._places: dict[tuple[Version, str], list[tuple[str, str]]] = {}
        self._everywhere: dict[tuple[str, str], dict[str, str]] = {}

    def bringing(self, head: str, path: str, id_: str) -> tuple[Version, ...]:
        """Return the versions that brought the present value of a mark or claim, one a line that was merged.

        Args:
            head: the commit whose value is the present one.
            path: of the lock in it.
            id_: of a mark or claim, or `WHOLE`.

        Raises:
            RepositoryError: what decides it is not in this clone, or git gave no answer.
        """
        first = self._tip(head, path)
        if first is None:
            return ()
        wanted = self._value(first.blob, id_)
        if not wanted:
            return ()
        pending, seen, found = [first], {first}, []
        while pending:
            version = pending.pop()
            before = self._same_before(version, wanted, id_)
            pending += [one for one in before if one not in seen]
            seen |= set(before)
            if not before:
                found.append(version)
        return tuple(found)

    def holders(self, head: str, path: str, id_: str) -> tuple[str, ...]:
        """Return the commits of all branches that changed the lock and left a value as it is in a commit.

        Raises:
            RepositoryError: git gave no answer.
        """
        first = self._tip(head, path)
        wanted = "" if first is None else self._value(first.blob, id_)
        if not wanted:
            return ()
        if (head, path) not in self._everywhere:
            listed = self._repository.run("rev-list", "--full-history", head, "--all", "--", path)
            if listed.code:
                raise self._repository.unreadable(listed)
            self._everywhere[head, path] = self._blobs(listed.text.split(), path)
        held = self._everywhere[head, path]
        return tuple(commit for commit, blob in held.items() if blob and self._value(blob, id_) == wanted)

    def commit(self, id_: str) -> Commit:
        """Read a commit.

        Raises:
            RepositoryError: it is not in this clone.
        """
        if id_ not in self._commits:
            stored = self._repository.objects([id_])[id_]
            if stored is None:
                raise self._repository.lacking(id_)
            self._commits[id_] = _parse_commit(id_, stored.raw)
        return self._commits[id_]

    def _same_before(self, version: Version, wanted: str, id_: str) -> list[Version]:
        """Return the versions right before one that hold the same value."""
        line = self._line(version.start, version.path)
        before = [
            Version(commit=parent, path=version.path, blob=line.blobs[parent], start=version.start)
            for parent in line.parents[version.commit]
        ]
        same = [one for one in before if one.blob and self._value(one.blob, id_) == wanted]
        # The list ends where the clone does, and knows nothing of moves: the commit itself says what was before it.
        return same or list(self._same_in_parents(version, wanted, id_))

    def _same_in_parents(self, version: Version, wanted: str, id_: str) -> Iterator[Version]:
        for parent in self.commit(version.commit).parents:
            self.commit(parent)
            if (version, parent) not in self._places:
                self._places[version, parent] = self._places_before(version, parent)
            for path, blob in self._places[version, parent]:
                tip = self._tip(parent, path) if self._value(blob, id_) == wanted else None
                if tip is not None:
                    yield tip
                    break

    def _places_before(self, version: Version, parent: str) -> list[tuple[str, str]]:
        """Return where the lock was in a parent: at its path, else at one that the commit removed."""
        blob = self._blobs([parent], version.path)[parent]
        if blob:
            return [(version.path, blob)]
        removed = self._repository.run(
            "diff-tree", "-r", "-z", "--no-renames", "--diff-filter=D", "--raw", parent, version.commit
        )
        if removed.code:
            raise self._repository.unreadable(removed)
        fields = removed.text.split("\0")
        kind = PurePosixPath(version.path).suffix
        there = [
            (path, facts.split(" ")[2])
            for facts, path in zip(fields[::2], fields[1::2], strict=False)
            if PurePosixPath(path).suffix == kind
        ]
        origin = self._state(version.blob).origin
        return [
            (path, blob)
            for path, blob in there
            if blob == version.blob or (origin and self._state(blob).origin == origin)
        ]

    def _tip(self, start: str, path: str) -> Version | None:
        line = self._line(start, path)
        if not line.tip:
            return None
        return Version(commit=line.tip, path=path, blob=line.blobs[line.tip], start=start)

    def _line(self, start: str, path: str) -> _Line:
        """List the commits that changed a path; of merges those that join lines which differ."""
        if (start, path) not in self._lines:
            listed = self._repository.run(
                "rev-list", "--parents", "--full-history", "--simplify-merges", "--topo-order", start, "--", path
            )
            if listed.code:
                raise self._repository.unreadable(listed)
            rows = [line.split(" ") for line in listed.text.splitlines()]
            parents = {commit: tuple(others) for commit, *others in rows}
            self._lines[start, path] = _Line(
                tip=rows[0][0] if rows else "", parents=parents, blobs=self._blobs(list(parents), path)
            )
        return self._lines[start, path]

    def _blobs(self, commits: Sequence[str], path: str) -> dict[str, str]:
        """Return the id of a file in each commit; empty where it is not there."""
        names = "".join(f"{commit}:{path}\n" for commit in commits).encode()
        lines = self._repository.run("cat-file", "--batch-check", "--buffer", stdin=names).text.splitlines()
        found = {}
        for place, commit in enumerate(commits):
            words = lines[place].split(" ") if place < len(lines) else []
            is_blob = len(words) == 3 and words[1] == "blob"
            # Also what is in the history and not in this clone is called missing there.
            found[commit] = words[0] if is_blob else self._repository.entry(commit, path)
        return found

    def _value(self, blob: str, id_: str) -> str:
        return blob if id_ == WHOLE else self._state(blob).values.get(id_, "")

    def _state(self, blob: str) -> _State:
        if blob not in self._states:
            # Those that will be asked for next, in one go.
            near = [blob, *(one for line in self._lines.values() for one in line.blobs.values())]
            wanted = [one for one in dict.fromkeys(near) if one and one not in self._states][:_AT_ONCE]
            for id_, stored in self._repository.objects(wanted).items():
                if stored is not None:
                    self._states[id_] = _read_state(stored.raw)
        if blob not in self._states:
            raise self._repository.lacking(blob)
        return self._states[blob]


def _read_state(raw: bytes) -> _State:
    try:
        lock = parse_lock(raw.decode(), where="a lock in the history")
    except (LockError, UnicodeDecodeError):
        return _State()
    if broken_seals(lock):
        return _State(origin=lock.chain[0].seal if lock.chain else "")
    return _State(origin=lock.chain[0].seal, values={id_: _value_of(lock, id_) for id_ in lock.ids})


def _value_of(lock: Lock, id_: str) -> str:
    table = lock.mark(id_) or lock.claim(id_)
    return sha256(msgspec.json.encode([table, lock.chain[lock.last_change(id_)].seal], order="sorted")).hexdigest()


def _parse_commit(id_: str, raw: bytes) -> Commit:
    head = raw.partition(b"\n\n")[0].decode(errors="replace").splitlines()
    dates = {line.partition(" ")[0]: _moment(line) for line in head if line.startswith(("author ", "committer "))}
    return Commit(
        id=id_,
        parents=tuple(line.removeprefix("parent ") for line in head if line.startswith("parent ")),
        author_date=dates.get("author", ""),
        committer_date=dates.get("committer", ""),
    )


def _moment(line: str) -> str:
    """Read the end of a line `author NAME <MAIL> SECONDS ZONE`; empty where that is no moment."""
    found = _STAMP.search(line)
    if found is None:
        return ""
    offset = timedelta(hours=int(found[3]), minutes=int(found[4]))
    try:
        zone = timezone(-offset if found[2] == "-" else offset) if offset else UTC
        return datetime.fromtimestamp(int(found[1]), zone).isoformat()
    except (ValueError, OverflowError, OSError):
        return ""
