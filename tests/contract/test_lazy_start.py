"""Who does not use the plugin does not pay for it: pytest starts with few more modules and none that is heavy."""

import json
import subprocess
import sys
from pathlib import Path

MAX_MORE_MODULES = 25
HEAVY = (
    *("torch", "numpy", "scipy", "ray", "jinja2", "msgspec", "altair", "timm", "torchvision", "sklearn", "pynvml"),
    "amdsmi",
)

# Other plugins of this environment are kept out: they import modules that ours would then seem not to add.
QUIET = ("-p", "no:cacheprovider", "-p", "no:benchmark", "-p", "no:xdist", "-p", "no:hypothesispytest")

TELL = """
import json, sys

def pytest_unconfigure(config):
    with open("modules.json", "w") as file:
        json.dump(sorted(sys.modules), file)
"""

MARKED = """
import pytest

@pytest.mark.passmark("x-speed", metric="speedup", at_least=1.5, unit="x")
def test_one(passmark):
    passmark.judge()
"""


def _modules(folder: Path, *flags: str, body: str = "def test_one(): pass") -> set[str]:
    """Run bare pytest on one test in a folder of its own, and list what it had imported at its end."""
    folder.mkdir()
    (folder / "conftest.py").write_text(TELL)
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / "test_one.py").write_text(body)
    command = [sys.executable, "-m", "pytest", "-q", *QUIET, *flags]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=120)

    assert done.returncode == 0, done.stdout + done.stderr
    return set(json.loads((folder / "modules.json").read_text()))


def _tops(modules: set[str]) -> set[str]:
    return {module.partition(".")[0] for module in modules}


def test_a_session_without_marks_imports_little_more_than_bare_pytest(tmp_path: Path) -> None:
    """At most 25 modules more, and none that is heavy."""
    without = _modules(tmp_path / "without", "-p", "no:mixgpu")
    with_plugin = _modules(tmp_path / "with")

    more = sorted(with_plugin - without)
    assert "pytest_mixgpu.plugin" in more
    assert len(more) <= MAX_MORE_MODULES, more
    assert sorted(set(HEAVY) & _tops(set(more))) == []


def test_looking_around_needs_no_torch(tmp_path: Path) -> None:
    """`--help` loads nothing heavy; `--collect-only` reads marks and touches no device."""
    listed = _modules(tmp_path / "help", "--help")
    collected = _modules(tmp_path / "collected", "--collect-only", body=MARKED)

    assert sorted(set(HEAVY) & _tops(listed)) == []
    assert sorted((set(HEAVY) - {"msgspec"}) & _tops(collected)) == []
