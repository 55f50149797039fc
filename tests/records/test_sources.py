"""What a test stands on: the files of the project that it imports, and which edits of them count."""

from pathlib import Path

import pytest

from pytest_mixgpu.records.sources import source_digests, sources_of, without_markers

TEST = '''\
"""What is tested."""
import pytest

from helper import measure

LIMIT = 3


@pytest.mark.passmark("speed", metric="latency", at_most=2.0, unit="s")
def test_speed(passmark):
    passmark.judge(measure())


@pytest.mark.claim("wait", checks=["wait-stated"])
def test_wait(claim):
    claim.judge(None)


class TestFleet:
    limit = 4

    def test_first(self, passmark):
        passmark.judge(1.0)

    def test_second(self, passmark):
        passmark.judge(2.0)
'''


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a suite in a folder of its own, and helpers here and there."""
    files = {
        "conftest.py": 'pytest_plugins = ["fixtures.pools"]\n',
        "fixtures/__init__.py": "",
        "fixtures/pools.py": "import shared.clock\n",
        "shared/clock.py": "NOW = 1\n",
        "unrelated.py": "X = 1\n",
        "suites/e7/conftest.py": "",
        "suites/e7/helper.py": "def measure():\n    from shared.unit import SECOND\n    return SECOND\n",
        "shared/unit.py": "SECOND = 1\n",
        "suites/e7/test_e7.py": TEST,
        "lib/site-packages/helper.py": "raise RuntimeError\n",
    }
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return tmp_path


def look(project: Path, test: str = "test_speed") -> dict[str, str]:
    folder = project / "suites" / "e7"
    return sources_of(folder / "test_e7.py", test, folder=folder, root=project, search=(project / "lib/site-packages",))


def edit(project: Path, name: str, old: str, new: str) -> None:
    path = project / name
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def test_a_test_stands_on_what_it_imports_of_the_project(project: Path) -> None:
    """Helpers, every `conftest.py` up to the root, the plugins that these name, and what all of them import."""
    expected = {
        "test_e7.py::test_speed",
        "conftest.py",
        "helper.py",
        "../../conftest.py",
        "../../fixtures/__init__.py",
        "../../fixtures/pools.py",
        "../../shared/clock.py",
        "../../shared/unit.py",
    }

    assert expected == set(look(project))


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        pytest.param("suites/e7/test_e7.py", "at_most=2.0", "at_most=9.0", id="bound-in-a-marker"),
        pytest.param("suites/e7/test_e7.py", '"speed"', '"quick", pool="cpu:1"', id="another-marker"),
        pytest.param(
            "suites/e7/test_e7.py", "LIMIT = 3", "LIMIT = 3  # of seconds\n\n\n", id="comment-and-blank-lines"
        ),
        pytest.param("suites/e7/test_e7.py", "claim.judge(None)", "claim.judge(1)", id="another-test"),
        pytest.param("suites/e7/test_e7.py", "passmark.judge(1.0)", "passmark.judge(7.0)", id="test-of-a-class"),
        pytest.param("suites/e7/helper.py", "def measure():", "# why\ndef measure():   ", id="comment-in-a-helper"),
        pytest.param("unrelated.py", "X = 1", "X = 2", id="file-that-is-not-imported"),
        pytest.param("lib/site-packages/helper.py", "raise RuntimeError", "pass", id="installed-package"),
    ],
)
def test_what_does_not_change_the_test_is_no_change(project: Path, name: str, old: str, new: str) -> None:
    """Markers are compared by value, other tests have marks of their own, comments do nothing."""
    before = look(project)
    edit(project, name, old, new)

    assert before == look(project)


@pytest.mark.parametrize(
    ("name", "old", "new", "changed"),
    [
        pytest.param("suites/e7/test_e7.py", "measure()", "1.0", "test_e7.py::test_speed", id="body"),
        pytest.param("suites/e7/test_e7.py", "LIMIT = 3", "LIMIT = 4", "test_e7.py::test_speed", id="constant"),
        pytest.param("suites/e7/helper.py", "return SECOND", "return 2", "helper.py", id="helper"),
        pytest.param("shared/unit.py", "SECOND = 1", "SECOND = 60", "../../shared/unit.py", id="imported-late"),
        pytest.param("shared/clock.py", "NOW = 1", "NOW = 2", "../../shared/clock.py", id="imported-by-a-plugin"),
        pytest.param(
            "suites/e7/test_e7.py",
            "at_most=2.0",
            "at_most=eval('2.0')",
            "test_e7.py::test_speed",
            id="marker-that-computes",
        ),
    ],
)
def test_what_changes_the_test_is_named(project: Path, name: str, old: str, new: str, changed: str) -> None:
    """The digest of exactly the file that changed is another one."""
    before = look(project)
    edit(project, name, old, new)
    after = look(project)

    assert [changed] == [path for path in before if before[path] != after.get(path)]


def test_a_new_import_brings_a_file_along(project: Path) -> None:
    """Also one whose name stands in a text that is imported from."""
    edit(
        project,
        "suites/e7/helper.py",
        "def measure",
        'import importlib\nimportlib.import_module("unrelated")\ndef measure',
    )

    assert "../../unrelated.py" in look(project)


def test_another_test_that_is_called_belongs_to_the_test(project: Path) -> None:
    """A helper does not get away by calling itself a test."""
    edit(project, "suites/e7/test_e7.py", "passmark.judge(measure())", "test_wait(None)")
    before = look(project)
    edit(project, "suites/e7/test_e7.py", "claim.judge(None)", "claim.judge(1)")

    assert before != look(project)


def test_a_test_of_a_class_keeps_the_class_and_leaves_its_other_tests_out(project: Path) -> None:
    """What the class holds besides tests counts."""
    before = look(project, "TestFleet::test_second")
    edit(project, "suites/e7/test_e7.py", "passmark.judge(1.0)", "passmark.judge(7.0)")
    same = look(project, "TestFleet::test_second")
    edit(project, "suites/e7/test_e7.py", "limit = 4", "limit = 5")

    assert before == same
    assert before != look(project, "TestFleet::test_second")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        pytest.param(
            'pytestmark = [pytest.mark.passmark("a", at_least=1), pytest.mark.slow]\n',
            'pytestmark = [pytest.mark.passmark("b", at_least=2, unit="x"), pytest.mark.slow]\n',
            id="module-marks",
        ),
        pytest.param(
            'FAST = mark.claim(\n    "a",\n    checks=["x"],\n)\n',
            'FAST = mark.claim("a", checks=["y", "z"])\n',
            id="alias",
        ),
        pytest.param(
            '@pytest.mark.claim("ä")\n@pytest.mark.passmark("ü", x=1) # why\ndef test(): pass\n',
            "def test(): pass\n",
            id="two-on-one-test",
        ),
    ],
)
def test_markers_are_cut_wherever_they_stand(one: str, other: str) -> None:
    """As decorators, in `pytestmark`, under another name."""
    left, right = (without_markers(text.encode()).replace(b" # why\n", b"") for text in (one, other))

    assert left.replace(b"\n", b"") == right.replace(b"\n", b"")


def test_other_markers_stay() -> None:
    """A marker that skips a test is no pass mark."""
    text = b'@pytest.mark.skipif(True)\n@pytest.mark.passmark\n@other.passmark("x")\ndef test(): pass\n'

    assert text == without_markers(text)


def test_what_cannot_be_parsed_is_taken_as_it_is() -> None:
    """A digest is taken of any file."""
    assert b"def (" == without_markers(b"def (", test="test_speed")


def test_digests_of_named_files_are_relative_to_their_root(project: Path) -> None:
    """Wherever they are installed, and however they are commented."""
    path = project / "shared" / "unit.py"
    before = source_digests([path], project)
    edit(project, "shared/unit.py", "SECOND = 1", "SECOND = 1  # s")

    assert ["shared/unit.py"] == list(before)
    assert before == source_digests([path], project)
