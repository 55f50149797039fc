"""The README tells the truth: its commands parse, its tables name what exists, and its own suite runs."""

import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import get_args

import pytest

from pytest_mixgpu.devices.catalog_file import read_own_kinds
from pytest_mixgpu.jobs.workloads.model import Input, Model, NpzData, Optimizer, Recipe
from pytest_mixgpu.marks.checks import CHECKS
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Note, Qualifier, Word

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
BLOCK = re.compile(
    r"^<!-- block: (?P<name>[a-z-]+) -->\n```(?P<language>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
BLOCKS = {found["name"]: found["text"] for found in BLOCK.finditer(README)}
PLAN_FILES = ("plan-file", "plan-recipe", "plan-data", "plan-suite-file")
"""Blocks that are files, each with its path in a comment on its first line."""
OWN_JOB = ("own-job-file", "own-job-command")
OUR_FLAG = re.compile(r"(?<![\w-])--(?:gpus|emulate|mixgpu-[a-z-]+|passmark-[a-z-]+)")

# torch is looked for, not imported: pytester forgets what a test imports, and torch does not bear a second import.
needs_torch = pytest.mark.skipif(find_spec("torch") is None, reason="the example of the README times torch")


def commands(*names: str) -> Iterator[list[str]]:
    """Split the commands of these blocks into words."""
    for name in names:
        for line in BLOCKS[name].splitlines():
            for part in re.split(r"\s+&&\s+", line):
                yield shlex.split(part)


def section(title: str) -> str:
    """Return the text under one heading."""
    return README.split(f"\n## {title}\n", 1)[1].split("\n## ", 1)[0]


def first_cells(text: str) -> set[str]:
    """Name what the first column of the tables in a text lists."""
    rows = re.findall(r"^\| (`[^|]+) \|", text, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row)}


def test_every_block_has_a_name() -> None:
    """A block that no test knows is a block that nobody checks."""
    assert README.count("\n```") == 2 * len(BLOCKS)
    own_suites = {"own-suite-file", "own-suite-commands", "own-suite-amend", *PLAN_FILES, "plan-commands"}
    assert (
        set(BLOCKS)
        == {"set-up", "main", "tests", "devices", "fleet", "ray", "slurm", "outside", "own-kinds-file", *OWN_JOB}
        | own_suites
    )


def test_kinds_of_ones_own_can_be_read(tmp_path: Path) -> None:
    """The example is a file of kinds as it stands."""
    path = tmp_path / "kinds.toml"
    path.write_text(BLOCKS["own-kinds-file"], encoding="utf-8")
    assert read_own_kinds(path).own == {"x1-sxm"}


@pytest.mark.parametrize("name", ["set-up", "main", "tests"])
def test_a_stranger_can_type_every_line(name: str) -> None:
    """One command a line, none of which needs more than Python and a shell."""
    assert {words[0] for words in commands(name)} <= {"python", ".", "pip", "pytest"}
    assert [line for line in BLOCKS[name].splitlines() if line.endswith("\\") or not line.strip()] == []


def test_extras_that_are_installed_exist() -> None:
    """`pip` only warns of an extra that does not exist."""
    wanted = {extra for text in re.findall(r"\.\[([\w,-]+)\]", README) for extra in text.split(",")}
    declared = set(re.findall(r"^([\w-]+) = \[\"", (ROOT / "pyproject.toml").read_text("utf-8"), re.MULTILINE))

    assert wanted <= declared


@pytest.mark.parametrize(
    "words",
    [
        words
        for words in commands(
            "main",
            "devices",
            "fleet",
            "ray",
            "outside",
            "own-job-command",
            "own-suite-commands",
            "own-suite-amend",
            "plan-commands",
        )
        if words[0] == "pytest"
    ],
    ids=" ".join,
)
def test_a_command_uses_real_flags(pytester: pytest.Pytester, words: list[str]) -> None:
    """Pytest with the plugin takes every flag with its value."""
    pytester.parseconfig(*words[1:])


@pytest.mark.parametrize("flag", sorted(set(OUR_FLAG.findall(README))))
def test_a_flag_that_is_named_exists(pytester: pytest.Pytester, flag: str) -> None:
    """Prose and tables promise no flag that is not there."""
    values = {
        "--mixgpu-launcher": "local",
        "--mixgpu-split": "equal",
        "--mixgpu-anchor": "git",
        "--mixgpu-nonce": "1e" * 16,
        "--passmark-export": "mllog",
    }
    switches = {"--mixgpu-devices", "--mixgpu-official", "--passmark-freeze", "--passmark-plan"}
    pytester.parseconfig(flag if flag in switches else f"{flag}={values.get(flag, '1')}")


def test_every_flag_is_explained(pytester: pytest.Pytester) -> None:
    """What the plugin offers stands in the README."""
    shown = pytester.runpytest_subprocess("--help").stdout.str()

    assert set(OUR_FLAG.findall(shown)) == set(OUR_FLAG.findall(README))


def test_every_word_of_a_verdict_is_explained() -> None:
    """Verdict words, qualifiers and notes stand in the tables, and no others."""
    found = first_cells(section("Reading a verdict"))

    assert found == {*get_args(Word), *get_args(Qualifier), *get_args(Note)}


def test_every_metric_and_check_is_listed() -> None:
    """A suite with a plan is written with these names, so they stand in its section, and no others."""
    assert first_cells(section("With a plan")) == {*METRICS, *CHECKS}


def test_every_field_of_a_recipe_is_named() -> None:
    """What the example leaves out stands in the text below it."""
    text = section("With a plan")
    fields = {name for table in (Recipe, NpzData, Input, Model, Optimizer) for name in table.__struct_fields__} - {
        "split_seed"
    }

    assert {name for name in fields if name not in text} == set()


def test_recipes_that_are_named_exist() -> None:
    """A workload is named by its recipe."""
    shipped = {path.stem for path in (ROOT / "pytest_mixgpu/jobs/workloads/recipes").glob("*.toml")}
    row = next(line for line in README.splitlines() if "`--mixgpu-workload=NAME`" in line)

    assert shipped == set(re.findall(r"`([\w-]+)`", row.split("|")[2]))


def test_paths_that_are_named_exist() -> None:
    """What a reader is sent to is there."""
    named = [*re.findall(r"`((?:suites|tests|benchmarks|\.ci)/[\w./-]+)`", README), "benchmarks/startup.py"]

    assert [path for path in named if not (ROOT / path).exists()] == []


def git(folder: Path, *words: str) -> None:
    """Run git as somebody, wherever the test runs."""
    identity = ["-c", "user.name=A Reader", "-c", "user.email=reader@localhost", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True)


def new_repository(folder: Path, *blocks: str) -> None:
    """Lay out files of the README in a repository of their own."""
    for block in blocks:
        path = folder / BLOCKS[block].splitlines()[0].removeprefix("# ")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(BLOCKS[block])
    # An ini file of its own keeps the settings of this project out.
    (folder / "pytest.ini").write_text("[pytest]\n")
    (folder / ".gitignore").write_text("data/\nreports/\n__pycache__/\n.pytest_cache/\n")
    git(folder, "init", "--quiet")


def run_pytest(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    """Run pytest in a process of its own; other tests of this project may hold the core meanwhile."""
    return pytester.run(sys.executable, "-m", "pytest", *arguments, "--mixgpu-wait=120", "-p", "no:cacheprovider")


def type_command(pytester: pytest.Pytester, words: list[str]) -> pytest.RunResult | None:
    """Run one command of a block; of pytest's, return what it said."""
    if words[0] == "pytest":
        return run_pytest(pytester, *words[1:])
    if words[0] == "git":
        git(pytester.path, *words[1:])
    else:
        subprocess.run(words, cwd=pytester.path, check=True)
    return None


@needs_torch
def test_the_suite_of_your_own_runs(pytester: pytest.Pytester) -> None:
    """Typed as it stands, in a new repository, it passes; with its bound moved afterwards, it is tampered with."""
    source = BLOCKS["own-suite-file"]
    name = source.splitlines()[0].removeprefix("# ")
    new_repository(pytester.path, "own-suite-file")
    typed = [type_command(pytester, words) for words in commands("own-suite-commands")]
    frozen, measured = (result for result in typed if result is not None)

    assert frozen.ret == 0, frozen.stdout.str() + frozen.stderr.str()
    assert "product-time" in (pytester.path / "passmarks.lock").read_text()
    assert measured.ret == 0, measured.stdout.str() + measured.stderr.str()
    measured.assert_outcomes(passed=1)
    measured.stdout.fnmatch_lines(["*PASS*product-time*<= 2 s*"])

    # One repository serves both, since every session here imports torch.
    (pytester.path / name).write_text(source.replace("at_most=2.0", "at_most=20.0"))
    moved = run_pytest(pytester, "--gpus=cpu:1")

    moved.assert_outcomes(failed=1)
    moved.stdout.fnmatch_lines(["*TAMPERED*product-time*"])

    (pytester.path / name).write_text(source)
    *_, amended = [type_command(pytester, words) for words in commands("own-suite-amend")]

    assert amended is not None
    amended.assert_outcomes(passed=1)
    amended.stdout.fnmatch_lines(["*PASS*product-time*<= 1.5 s*", "*amended*"])
    lock = (pytester.path / "passmarks.lock").read_text()
    assert "num_runs = 0\n" in lock
    assert "the target machine has a newer CPU" in lock


@needs_torch
def test_a_plan_of_your_own_is_read_and_frozen(pytester: pytest.Pytester) -> None:
    """Typed as it stands, up to the first run: plan, recipe, data and tests fit together, and an edit shows."""
    new_repository(pytester.path, *PLAN_FILES)
    *prepare, measure = commands("plan-commands")
    for words in prepare:
        if words[0] == "git":
            git(pytester.path, *words[1:])
            continue
        is_script = words[0] == "python"
        result = pytester.run(sys.executable, *words[1:]) if is_script else run_pytest(pytester, *words[1:])
        assert result.ret == 0, result.stdout.str() + result.stderr.str()
    lock = (pytester.path / "passmarks.lock").read_text()

    assert measure[0] == "pytest"
    assert [name for name in ("stripes-controls", "stripes-parity", "stripes-speedup") if name not in lock] == []
    assert "[bindings.data]\nstripes = " in lock
    assert "[bindings.recipes]\nstripes = " in lock

    # What departs from the lock is not measured, so this takes no run. One core is enough for that.
    recipe = pytester.path / "recipes/stripes.toml"
    recipe.write_text(recipe.read_text().replace("learning_rate = 3e-3", "learning_rate = 9e-3"))
    moved = run_pytest(pytester, "--gpus=cpu:1")

    moved.assert_outcomes(failed=2)
    moved.stdout.fnmatch_lines(["*TAMPERED*stripes-speedup*"])
    assert not (pytester.path / "reports/runs").exists()
