"""From source files to their digests, and from a test to the files that it stands on. Runs none of them, no torch.

What counts is what a file does, not how it is set: comments, blank lines and trailing blanks are no part of a digest.
Of a test, the markers `passmark` and `claim` are none either, since the lock compares those by value, nor are the other
tests of its file, unless it names them.
"""

import ast
import os
from collections.abc import Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from pathlib import Path

from pytest_mixgpu.records.digests import significant, significant_content, source_text
from pytest_mixgpu.records.secrets import readable

INSTALLED = frozenset({"site-packages", "dist-packages"})
"""Folders of packages that somebody installed: their versions stand in every record, their files are not bound."""
_MARKERS = frozenset({"passmark", "claim"})
_WORKING = frozenset({"crew_job"})
"""Functions that are told by name, `module:function`, what workers are to import."""
_IMPORTING = frozenset({"import_module", "importorskip", "__import__"})


def source_digests(paths: Iterable[Path], root: Path) -> dict[str, str]:
    """Return the SHA-256 of each file, without its comments, by its path relative to a folder."""
    return {path.relative_to(root).as_posix(): _sha256(significant_content(path)) for path in sorted(paths)}


def sources_of(  # noqa: PLR0913 - one argument for each thing that decides what is found
    test_file: Path, test: str, *, folder: Path, root: Path, search: Sequence[Path] = (), without: Collection[Path] = ()
) -> dict[str, str]:
    """Return the SHA-256 of everything that a test stands on, by path relative to its suite.

    These are its own file, each `conftest.py` from there up to the root, and what they import of files below the root,
    as far as that stands in the source: an import whose name is worked out while it runs is not seen.

    Args:
        test_file: where the test is written.
        test: its name there, `test_speed` or `TestFleet::test_speed`; its file is listed with it.
        folder: of the suite.
        root: nothing outside it is followed.
        search: further folders in which modules are looked for.
        without: folders below the root whose files are bound otherwise.
    """
    digests = {}
    places = _Places(root, search=(folder, *search), without=without)
    first = [test_file, *_packages_of(test_file), *places.conftests(test_file)]
    for path in places.closure(first):
        name = readable(Path(os.path.relpath(path, folder.resolve())).as_posix())
        if path.suffix != ".py":
            digests[name] = _sha256(significant_content(path))
        elif path == test_file.resolve():
            digests[f"{name}::{test}"] = _sha256(significant(without_markers(path.read_bytes(), test=test)))
        else:
            digests[name] = _sha256(significant(without_markers(path.read_bytes())))
    return digests


def sources_of_job(  # noqa: PLR0913 - one argument for each thing that decides what is found
    module: str,
    files: Iterable[Path] = (),
    *,
    folder: Path,
    root: Path,
    search: Sequence[Path] = (),
    without: Collection[Path] = (),
) -> dict[str, str]:
    """Return the SHA-256 of a user's own job and of what it imports, by path relative to the suite.

    A module that is found in none of the folders is installed, or nowhere: it has no entry.

    Args:
        module: of the factory.
        files: that a command line names.
        folder: as in `sources_of`, and so the rest.
        root: likewise.
        search: likewise.
        without: likewise.
    """
    places = _Places(root, search=(folder, *search), without=without)
    first = [path for place in (folder, *search, root) for path in _files_of(place, module)]
    first += [path.resolve() for path in files]
    return {
        readable(Path(os.path.relpath(path, folder.resolve())).as_posix()): _sha256(significant_content(path))
        for path in places.closure(path for path in first if places.is_ours(path))
    }


class _Places:
    """Where modules of a project are found, without asking Python's import system, which would run them.

    Args:
        root: nothing outside it is found.
        search: folders to look in besides the root and the importing file's own.
        without: folders whose files are not found.
    """

    def __init__(self, root: Path, *, search: Sequence[Path], without: Collection[Path]) -> None:
        self._root = root.resolve()
        self._search = tuple(path.resolve() for path in search)
        self._without = tuple(path.resolve() for path in without)

    def conftests(self, test_file: Path) -> tuple[Path, ...]:
        """The `conftest.py` that pytest loads for a test, nearest first."""
        folders = [folder for folder in test_file.resolve().parents if folder.is_relative_to(self._root)]
        return tuple(path for folder in folders if (path := folder / "conftest.py").is_file())

    def closure(self, first: Iterable[Path]) -> tuple[Path, ...]:
        """These files and all that they import, and so on, in the order of their paths."""
        found: set[Path] = set()
        waiting = [path.resolve() for path in first]
        while waiting:
            path = waiting.pop()
            if path in found:
                continue
            found.add(path)
            if path.suffix == ".py":
                waiting += [other for other in self._imports(path) if self.is_ours(other)]
        return tuple(sorted(found))

    def is_ours(self, path: Path) -> bool:
        """Whether a file lies in the project, and is neither installed nor bound otherwise."""
        inside = path.is_relative_to(self._root) and INSTALLED.isdisjoint(path.relative_to(self._root).parts)
        return inside and not any(path.is_relative_to(folder) for folder in self._without)

    def _imports(self, path: Path) -> Iterator[Path]:
        try:
            tree = ast.parse(source_text(path.read_bytes()))
        except (SyntaxError, ValueError, OSError):
            return
        top = _packages_of(path)[-1].parent.parent if _packages_of(path) else path.parent
        # All of them, though Python takes the first: which that is depends on how the session was started.
        folders = dict.fromkeys((path.parent, top, *self._search, self._root))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.level:
                base = path.parents[min(node.level, len(path.parents)) - 1]
                for name in _names_of(node):
                    yield from _files_of(base, name)
            else:
                for name in _names_of(node):
                    for folder in folders:
                        yield from _files_of(folder, name)


def without_markers(raw: bytes, *, test: str = "") -> bytes:
    """Return source without its `passmark` and `claim` markers; for one test, also without the other tests.

    Only positions in the syntax tree are used, since trees differ between Python versions. What cannot be parsed is
    returned unchanged.

    Args:
        raw: of a Python file.
        test: the test that matters, `test_speed` or `TestFleet::test_speed`; empty keeps all.
    """
    try:
        text = source_text(raw)
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return raw
    lines = [line.encode() for line in text.split("\n")]
    dropped = _other_tests(tree, test.split("::")) if test else []
    gone = {number for node in dropped for number in range(_first_line(node), (node.end_lineno or node.lineno) + 1)}
    for start, end, text_left in sorted(_marker_cuts(tree, lines), reverse=True):
        if start[0] in gone:
            continue
        first, last = lines[start[0] - 1][: start[1]], lines[end[0] - 1][end[1] :]
        lines[start[0] - 1] = first + text_left + last
        gone.update(range(start[0] + 1, end[0] + 1))
    return b"\n".join(line for number, line in enumerate(lines, start=1) if number not in gone)


_Place = tuple[int, int]


def _marker_cuts(tree: ast.Module, lines: Sequence[bytes]) -> Iterator[tuple[_Place, _Place, bytes]]:
    """Yield from where to where a marker goes, and what is left in its place."""
    decorators = {id(one) for node in ast.walk(tree) for one in getattr(node, "decorator_list", ())}
    for node in ast.walk(tree):
        if not (isinstance(node, ast.Call) and _is_marker(node.func) and _is_literal(node)):
            continue
        end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
        before = lines[node.lineno - 1][: node.col_offset]
        if id(node) in decorators and before.strip() == b"@":
            yield (node.lineno, 0), end, b""
        else:
            yield (node.func.end_lineno or node.lineno, node.func.end_col_offset or 0), end, b"()"


def _is_marker(node: ast.expr) -> bool:
    if not (isinstance(node, ast.Attribute) and node.attr in _MARKERS):
        return False
    owner = node.value
    return (owner.attr if isinstance(owner, ast.Attribute) else getattr(owner, "id", "")) == "mark"


def _is_literal(node: ast.Call) -> bool:
    """Whether its arguments are values as they stand there: what computes one may do something else besides."""
    try:
        for value in (*node.args, *(keyword.value for keyword in node.keywords)):
            ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return all(keyword.arg is not None for keyword in node.keywords)


_Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


def _other_tests(tree: ast.Module, own: Sequence[str]) -> list[_Definition]:
    """Return the definitions of other tests that nothing else in the file names."""
    others = [*_tests_in(tree.body, without=own[0])]
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == own[0] and len(own) > 1:
            others += _tests_in(node.body, without=own[1])
    while True:
        left_out = {id(node) for node in others}
        named = set(_words(tree, left_out))
        kept = [node for node in others if node.name not in named]
        if len(kept) == len(others):
            return kept
        others = kept


def _tests_in(body: Iterable[ast.stmt], *, without: str) -> Iterator[_Definition]:
    for node in body:
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name.startswith("test")
        is_class = isinstance(node, ast.ClassDef) and node.name.startswith("Test")
        if isinstance(node, _Definition) and (is_function or is_class) and node.name != without:
            yield node


def _words(node: ast.AST, left_out: Collection[int]) -> Iterator[str]:
    """Yield every name that a tree uses, also as an attribute or as a text."""
    if id(node) in left_out:
        return
    if isinstance(node, ast.Name):
        yield node.id
    elif isinstance(node, ast.Attribute):
        yield node.attr
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    for child in ast.iter_child_nodes(node):
        yield from _words(child, left_out)


def _names_of(node: ast.AST) -> Iterator[str]:
    """Yield the modules that a statement may import, with dots."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        for alias in node.names:
            yield ".".join(part for part in (node.module or "", alias.name) if part != "*" and part)
    elif isinstance(node, ast.Call):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in _IMPORTING and node.args:
            yield from _texts(node.args[0])
        elif called in _WORKING:
            yield from (text.partition(":")[0] for text in _texts(node))
    elif isinstance(node, ast.Assign) and any(getattr(target, "id", "") == "pytest_plugins" for target in node.targets):
        yield from _texts(node.value)


def _texts(node: ast.expr) -> Iterator[str]:
    for child in ast.walk(node):
        if isinstance(child, ast.Constant) and isinstance(child.value, str):
            yield child.value


def _files_of(folder: Path, module: str) -> Iterator[Path]:
    """Yield the files that importing a module from a folder would run, as far as its name leads to any."""
    if (folder / "__init__.py").is_file() and not module:
        yield folder / "__init__.py"
    for part in module.split(".") if module else ():
        if not part.isidentifier():
            return
        if (file := folder / f"{part}.py").is_file():
            yield file.resolve()
        folder /= part
        if (file := folder / "__init__.py").is_file():
            yield file.resolve()
        elif not folder.is_dir():
            return


def _packages_of(path: Path) -> tuple[Path, ...]:
    """Return the `__init__.py` of the packages that a file lies in, innermost first."""
    found = []
    for folder in path.resolve().parents:
        if not (folder / "__init__.py").is_file():
            break
        found.append(folder / "__init__.py")
    return tuple(found)


def _first_line(node: _Definition) -> int:
    return min([node.lineno, *(one.lineno for one in node.decorator_list)])


def _sha256(raw: bytes) -> str:
    return sha256(raw).hexdigest()
