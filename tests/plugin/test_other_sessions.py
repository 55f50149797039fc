"""Sessions without marks of ours pay nothing."""

from tests.plugin.bench import Bench

ROOMS = ("devices", "timing", "records", "marks", "launch", "jobs", "report")


def test_no_room_is_imported(bench: Bench) -> None:
    """A session of other people's tests loads the glue alone, and leaves no file."""
    bench.write("test_other.py", "def test_other(): pass\n")

    result = bench.pytest()

    result.assert_outcomes(passed=1)
    rooms = [name for name in bench.modules() if name.startswith("pytest_mixgpu.") and name.split(".")[1] in ROOMS]
    assert [] == rooms
    assert not {"torch", "numpy", "scipy", "jinja2", "msgspec"} & bench.modules()
    assert not (bench.folder / "reports").exists()
    result.stdout.no_fnmatch_line("*pass marks*")


def test_plan_in_the_folder_changes_nothing(e1: Bench) -> None:
    """Help and version answer beside a plan too."""
    assert 0 == e1.pytest("--help").ret
    assert 0 == e1.pytest("--version").ret
