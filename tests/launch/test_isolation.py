"""What runs in a worker is what is installed, whatever the caller's environment and path hold. Real processes."""

import os
import site
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_mixgpu.jobs.workloads import evaluate
from pytest_mixgpu.launch.isolation import boot_command, isolated, set_aside
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Message
from tests.launch.processes import PATIENT, task

_PLANT = "import sys\nsys.planted_{name} = True\n"

Start = Callable[..., Message]


@pytest.fixture
def start(tmp_path: Path) -> Start:
    """Start a worker of a new launcher under the present environment and return what it says of its start."""

    def start(*modules: str) -> Message:
        tasks = [task("p-0", "tell_start", modules=list(modules))]
        with (
            LocalLauncher(preload=()) as launcher,
            launcher.start(tasks, log_dir=tmp_path / "logs", limits=PATIENT) as crew,
        ):
            return crew.receive()[1]

    return start


@pytest.fixture
def planted(tmp_path: Path) -> Path:
    """A folder with modules that replace what they are named after."""
    folder = tmp_path / "planted"
    user = Path(site.getusersitepackages()).relative_to(site.getuserbase())
    for path in (folder / "sitecustomize.py", folder / user / "usercustomize.py"):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(_PLANT.format(name=path.stem))
    for name in ("pytest_mixgpu/__init__.py", "msgspec/__init__.py", "random.py"):
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("raise RuntimeError('planted')\n")
    return folder


def test_the_callers_environment_runs_nothing_in_a_worker(
    planted: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A planted sitecustomize is not run, planted modules are not found, and the variables stand in the facts."""
    monkeypatch.setenv("PYTHONPATH", str(planted))
    monkeypatch.setenv("PYTHONUSERBASE", str(planted))
    monkeypatch.setenv("PYTHONOPTIMIZE", "2")
    monkeypatch.setenv("PYTHONUNBUFFERED", "1")
    monkeypatch.setenv("PYTHONHASHSEED", "7")

    said = start("random")

    assert [] == said["planted"]
    assert ["PYTHONHASHSEED"] == said["environment"]
    assert evaluate.__file__ == said["evaluator"]
    assert [__import__("random").__file__] == said["found"]
    expected = {
        "PYTHONPATH": str(planted),
        "PYTHONUSERBASE": str(planted),
        "PYTHONOPTIMIZE": "2",
        "PYTHONHASHSEED": "0",
    }
    assert expected == said["recorded"]


def test_an_environment_without_such_variables_says_nothing(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only what was set is stated."""
    for name in [name for name in os.environ if name.startswith("PYTHON")]:
        monkeypatch.delenv(name)

    assert {"PYTHONHASHSEED": "0"} == start()["recorded"]


def test_what_is_installed_comes_before_the_callers_path(
    planted: Path, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A folder that the supervisor put first serves modules that only it has, and replaces none."""
    (planted / "only_here.py").write_text("")
    monkeypatch.setattr(sys, "path", [str(planted), *sys.path])

    said = start("random", "only_here")

    assert [] == said["planted"]
    assert evaluate.__file__ == said["evaluator"]
    assert [__import__("random").__file__, str(planted / "only_here.py")] == said["found"]


def test_a_path_that_grows_reaches_the_next_worker(
    launcher: LocalLauncher, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Folders that a later test adds are found, though the parent process was started before."""
    with launcher.start([task("p-0", "echo")], log_dir=tmp_path / "a", limits=PATIENT) as crew:
        crew.receive()
    (tmp_path / "added_later.py").write_text("")
    monkeypatch.syspath_prepend(tmp_path)

    tasks = [task("p-0", "tell_start", modules=["added_later"])]
    with launcher.start(tasks, log_dir=tmp_path / "b", limits=PATIENT) as crew:
        assert [str(tmp_path / "added_later.py")] == crew.receive()[1]["found"]


def test_other_variables_pass() -> None:
    """Coverage, proxies and the like are the caller's business; odd bytes do no harm."""
    environ = {"COVERAGE_PROCESS_START": "x", "PATH": "/bin", "PYTHONPATH": "/odd\udcff", "PYTHONWARNINGS": "error"}

    kept = isolated(environ)

    assert {"COVERAGE_PROCESS_START": "x", "PATH": "/bin"}.items() <= kept.items()
    assert not {"PYTHONPATH", "PYTHONWARNINGS"} & kept.keys()
    assert {"PYTHONPATH": "/odd\udcff"} == set_aside(kept)


@pytest.mark.parametrize("dont_write", [True, False], ids=["no files", "files"])
def test_compiled_files_are_written_as_the_caller_does(monkeypatch: pytest.MonkeyPatch, *, dont_write: bool) -> None:
    """An interpreter that may leave no files behind has workers that leave none."""
    monkeypatch.setattr(sys, "dont_write_bytecode", dont_write)

    assert dont_write == ("-B" in boot_command("{}"))
