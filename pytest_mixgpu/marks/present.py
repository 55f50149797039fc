"""What the lock binds, as it is now, and what of it changed: from digests to notes in words. Pure; reads no file.

Changed code is no tampering. It is noted (`code-changed`), with the names of the files that differ.
"""

from collections.abc import Mapping

import msgspec

from pytest_mixgpu.marks.differences import short
from pytest_mixgpu.marks.lock_file import Bindings, Contents, Lock

CODE_BINDINGS = ("code", "evaluator", "judge")
MAX_NAMED = 8
"""So many files that changed are named; another version of the package changes most of them."""
UNKNOWN = ""
"""Digest of a file that was bound before the lock listed any."""


class Present(msgspec.Struct, frozen=True, kw_only=True):
    """What the lock can be bound to, as it is now."""

    bindings: Bindings
    contents: Contents = Contents()
    covers: Mapping[str, tuple[str, ...]] = {}
    """Paths of the source files that stand behind `code`, `evaluator`, `judge`, and behind each test, by mark's id."""
    places: Mapping[str, str] = {}
    """Where the marker of a mark or claim stands, by id: `test_e1.py::test_speed`."""


def place_of(present: Present | None, id_: str) -> str:
    """Name the place of a marker as a sentence does."""
    place = "" if present is None else present.places.get(id_, "")
    return f"the marker in {place}" if place else "the marker"


def changed_sources(lock: Lock, present: Present, part: str) -> tuple[str, ...]:
    """Name the source files behind one binding that are not as the lock lists them, added and removed ones too.

    Args:
        lock: as it is now.
        present: likewise everything else.
        part: `code`, `evaluator`, `judge`, or the id of a mark or claim for its test.
    """
    then, now = lock.contents.sources, present.contents.sources
    covered = present.covers.get(part, ())
    everywhere = {path for paths in present.covers.values() for path in paths}
    is_test = part not in CODE_BINDINGS
    names = [
        path if path in then else f"{path} (new)" for path in covered if then.get(path) not in {now[path], UNKNOWN}
    ]
    # Which test a file belonged to that no test uses any more, the lock does not say.
    names += [f"{path} (gone)" for path in then if path not in everywhere and _is_of_tests(path) == is_test]
    return tuple(names) if then else ()


def code_changes(lock: Lock, present: Present, id_: str, *, parts: tuple[str, ...] = ("judge",)) -> tuple[str, ...]:
    """Say what behind a verdict is not the code that the lock names, a sentence each; empty if all is.

    Args:
        lock: as it is now.
        present: likewise everything else.
        id_: of the mark or claim that is judged.
        parts: which of `code`, `evaluator` and `judge` count: what stands behind runs is taken from their records.
    """
    said = []
    for part in parts:
        then, now = getattr(lock.bindings, part), getattr(present.bindings, part)
        if then and now and then != now:
            said.append(
                f"{_WHAT[part]} is not as it was frozen{_named(changed_sources(lock, present, part))}{_to(part)}"
            )
    then, now = lock.bindings.tests.get(id_, ""), present.bindings.tests.get(id_, "")
    if then and now and then != now:
        said.append(
            f"the test of {id_} is not as it was frozen{_named(changed_sources(lock, present, id_))}{_to('tests')}"
        )
    return tuple(said)


def contradictions(lock: Lock, present: Present) -> tuple[str, ...]:
    """Say where the files that a lock lists cannot be those that its digests stand for: somebody edited the list.

    Of the package alone, which is always here whole: a file of a test may be listed as another test left it that was
    not collected.
    """
    then, now = _of_package(lock.contents.sources), _of_package(present.contents.sources)
    if not then:
        return ()
    stale = _stale(lock, present)
    wrong = [path for path, digest in now.items() if path not in stale and then.get(path) not in {digest, UNKNOWN}]
    if all(_is_bound(lock, present, part) for part in CODE_BINDINGS):
        wrong += [path for path in then if path not in now]
    return tuple(
        f"contents.sources: passmarks.lock lists {path} with {short(then.get(path, ''))}, and its digests stand for "
        f"{short(now.get(path, ''))}: the list was edited"
        for path in sorted(wrong)
    )


def settled_sources(lock: Lock, present: Present) -> dict[str, str]:
    """Return the source files as a lock should list them: as now where its digests are those of now, else as before."""
    then, now = lock.contents.sources, present.contents.sources
    stale = _stale(lock, present)
    is_whole = not stale and lock.bindings.tests.keys() <= present.covers.keys()
    kept = {path: digest for path, digest in then.items() if path in stale or not (is_whole or path in now)}
    # A lock of schema 1 lists nothing: what stood behind a digest that is not today's cannot be said any more.
    unknown = {} if then else dict.fromkeys(stale, UNKNOWN)
    fresh = {path: digest for path, digest in now.items() if path not in stale}
    return dict(sorted({**unknown, **kept, **fresh}.items()))


def _stale(lock: Lock, present: Present) -> set[str]:
    """Return the files of which some digest in the lock is not that of now."""
    return {path for part, paths in present.covers.items() if not _is_bound(lock, present, part) for path in paths}


def _is_bound(lock: Lock, present: Present, part: str) -> bool:
    """Whether the lock is bound to what stands behind a part as it is now."""
    if part in CODE_BINDINGS:
        return bool(getattr(lock.bindings, part)) and getattr(lock.bindings, part) == getattr(present.bindings, part)
    bound = lock.bindings.tests.get(part, "")
    return bool(bound) and bound == present.bindings.tests.get(part)


_WHAT = {
    "code": "what produces the number",
    "evaluator": "what scores the weights",
    "judge": "what hands over numbers and judges them",
}


def _named(files: tuple[str, ...]) -> str:
    more = f" and {len(files) - MAX_NAMED} more" if len(files) > MAX_NAMED else ""
    return f" ({', '.join(files[:MAX_NAMED])}{more})" if files else ""


def _to(part: str) -> str:
    return f"; restore it, or amend: --passmark-amend={part} --passmark-why='…'"


def _of_package(sources: Mapping[str, str]) -> dict[str, str]:
    return {path: digest for path, digest in sources.items() if not _is_of_tests(path)}


def _is_of_tests(path: str) -> bool:
    return not path.startswith("pytest_mixgpu/")
