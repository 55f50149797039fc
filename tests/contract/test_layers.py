"""The rooms import each other along the arrows of the design only, and nothing heavy when they are imported."""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

PACKAGE = Path(__file__).parents[2] / "pytest_mixgpu"

LEAVES = frozenset({"errors", "units"})
"""Any room may import them; they import no room."""

ALLOWED: dict[str, frozenset[str]] = {
    "devices": frozenset(),
    "timing": frozenset(),
    "records": frozenset({"devices", "timing"}),
    "marks": frozenset({"records", "timing", "devices"}),
    "launch": frozenset({"devices"}),
    "jobs": frozenset({"launch", "devices", "timing", "records"}),
    "probes": frozenset({"jobs", "launch", "devices", "timing", "records"}),
    "report": frozenset({"marks", "records", "timing"}),
    "plugin": frozenset({"devices", "timing", "records", "marks", "launch", "jobs", "probes", "report"}),
}
"""What each room may import beside itself: the table of the design."""

HEAVY = frozenset(
    {"torch", "ray", "numpy", "scipy", "jinja2", "altair", "timm", "torchvision", "sklearn", "pynvml", "amdsmi"}
)
"""Imported inside the function that needs them, never with a module."""


class Import(NamedTuple):
    """One imported module, where it stands, and whether importing the file imports it."""

    file: Path
    line: int
    module: str
    at_import: bool

    @property
    def where(self) -> str:
        return f"{self.file.relative_to(PACKAGE.parent)}:{self.line} imports {self.module}"

    @property
    def top(self) -> str:
        return self.module.partition(".")[0]


def imports_of(source: str, file: Path) -> Iterator[Import]:
    """Find every import; those for type checking alone do not count, those inside a function are marked as late."""
    yield from _walk(ast.parse(source), file, at_import=True)


def _walk(node: ast.AST, file: Path, *, at_import: bool) -> Iterator[Import]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            for alias in child.names:
                yield Import(file, child.lineno, alias.name, at_import)
        elif isinstance(child, ast.ImportFrom):
            module = _absolute(child, file)
            # `from pytest_mixgpu import units` names a room in the second half.
            names = [f"{module}.{alias.name}" for alias in child.names] if module == PACKAGE.name else [module]
            for name in names:
                yield Import(file, child.lineno, name, at_import)
        elif isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield from _walk(other, file, at_import=at_import)
        else:
            is_function = isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda))
            yield from _walk(child, file, at_import=at_import and not is_function)


def _absolute(node: ast.ImportFrom, file: Path) -> str:
    if not node.level:
        return node.module or ""
    package = file.relative_to(PACKAGE.parent).with_suffix("").parts[: -node.level]
    return ".".join((*package, *([node.module] if node.module else [])))


def room_of(file: Path) -> str:
    """Name the room that a file lies in, or the leaf that it is."""
    return file.relative_to(PACKAGE).parts[0].removesuffix(".py")


def forbidden_arrow(found: Import) -> bool:
    """Whether an import goes from one room to another without an arrow in the design."""
    if found.top != PACKAGE.name or found.module == PACKAGE.name:
        return False
    room, target = room_of(found.file), found.module.split(".")[1]
    if target == room or target in LEAVES or target == "__version__":
        return room in LEAVES and target != room
    return target not in ALLOWED.get(room, frozenset())


FILES = sorted(PACKAGE.rglob("*.py"))
EVERY = [found for file in FILES for found in imports_of(file.read_text("utf-8"), file)]


def test_every_room_is_in_the_table() -> None:
    """A new room states what it may import before it does."""
    rooms = {folder.name for folder in PACKAGE.iterdir() if folder.is_dir() and any(folder.rglob("*.py"))}

    assert set() == rooms - set(ALLOWED)


def test_rooms_import_along_the_arrows_only() -> None:
    """No arrow that the design's table does not have."""
    assert [found.where for found in EVERY if forbidden_arrow(found)] == []


def test_only_the_plugin_knows_pytest() -> None:
    """Everything else can be used, and tested, without pytest."""
    testers = {"pytest", "_pytest", "pluggy", "pytest_benchmark", "xdist"}
    foreign = [found.where for found in EVERY if found.top in testers and room_of(found.file) != "plugin"]

    assert foreign == []


def test_nothing_heavy_is_imported_with_a_module() -> None:
    """Torch and its like are imported by the function that needs them, when it runs."""
    assert [found.where for found in EVERY if found.at_import and found.top in HEAVY] == []


def test_leaves_use_the_standard_library_only() -> None:
    """`errors` and `units` are imported by all, so they import nobody."""
    ours = {"msgspec", PACKAGE.name}
    foreign = [found.where for found in EVERY if room_of(found.file) in LEAVES and found.top in ours]

    assert foreign == []


@pytest.mark.parametrize(
    ("room", "source", "expected"),
    [
        pytest.param("marks", "import pytest_mixgpu.jobs.conduct", True, id="judge-runs-something"),
        pytest.param("records", "from pytest_mixgpu.marks.model import Verdict", True, id="record-knows-a-mark"),
        pytest.param("report", "from ..jobs import conduct", True, id="relative"),
        pytest.param("report", "from pytest_mixgpu import plugin", True, id="by-name"),
        pytest.param("marks", "def f():\n    from pytest_mixgpu.launch import local", True, id="late-is-no-excuse"),
        pytest.param("marks", "from pytest_mixgpu.records.model import Header", False, id="arrow"),
        pytest.param("marks", "from . import model", False, id="own-room"),
        pytest.param("devices", "from pytest_mixgpu import units", False, id="leaf"),
        pytest.param(
            "marks", "if TYPE_CHECKING:\n    from pytest_mixgpu.jobs import conduct", False, id="types-are-not-imports"
        ),
    ],
)
def test_a_forbidden_arrow_is_seen(room: str, source: str, *, expected: bool) -> None:
    """The check itself finds what it is for."""
    found = list(imports_of(source, PACKAGE / room / "made_up.py"))

    assert expected == any(forbidden_arrow(one) for one in found)


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        pytest.param("import torch.nn", True, id="plain"),
        pytest.param("try:\n    import torch\nexcept ImportError:\n    torch = None", True, id="in-try"),
        pytest.param("class C:\n    import numpy", True, id="in-class"),
        pytest.param("def f():\n    import torch", False, id="in-function"),
        pytest.param("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import torch", False, id="for-types"),
    ],
)
def test_a_heavy_import_is_seen(source: str, *, expected: bool) -> None:
    """Only what runs when the module is imported counts."""
    found = list(imports_of(source, PACKAGE / "jobs" / "made_up.py"))

    assert expected == any(one.at_import and one.top in HEAVY for one in found)
