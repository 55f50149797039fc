"""A suite in a folder and git repository of its own, and real pytest sessions on it, each a process of its own.

Pytester's in-process runs forget what a session imported, and torch does not bear a second import.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from pytest_mixgpu.jobs.code import code_paths, evaluator_paths
from pytest_mixgpu.marks.lock import Bindings, freeze, lock_digest, write_lock
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.plugin.measure import package_root
from pytest_mixgpu.records.codec import decode
from pytest_mixgpu.records.digests import code_digest
from pytest_mixgpu.records.ledger import LedgerEntry
from pytest_mixgpu.records.model import Digests, RoundLine, Start
from pytest_mixgpu.records.plan_file import load_plan, plan_digest
from pytest_mixgpu.records.store import RunStore
from pytest_mixgpu.report.verdict_file import read_verdicts
from tests.judging import COMMITTED_AT, E1_SUITE, FROZEN_AT, e1_marks
from tests.sample_doctors import Doctor
from tests.samples import E1_PLAN, make_experiment

USAGE_ERROR = pytest.ExitCode.USAGE_ERROR
OUR_FIXTURES = Path(__file__).parents[2] / "fixtures"
TIMEOUT_S = 240
"""Only so that a session that hangs ends; nothing here is judged by time."""

PATIENCE = "--mixgpu-wait=200"
"""Other sessions on this machine may hold its cores; a test of a refusal says otherwise."""

BESIDE_THE_POINT = ("hypothesispytest", "anyio")
"""Plugins that nothing here is about: they cost each session a third of its time, on imports alone."""

LIST_MODULES = """
import json, os, sys
from pathlib import Path

def pytest_unconfigure(config):
    place = Path(__file__).parent / "modules"
    place.mkdir(exist_ok=True)
    names = sorted(name for name, module in sys.modules.items() if module is not None)
    (place / f"{os.getpid()}.json").write_text(json.dumps(names))
"""

NO_DRAWINGS = """
import sys

# As where it is not installed: loading it and drawing takes longer than all else that a short session does.
sys.modules["altair"] = None
"""
CONFTEST = LIST_MODULES + NO_DRAWINGS


class Bench:
    """One folder with a suite, its repository and its reports."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @classmethod
    def new(cls, folder: Path, *, draws: bool = False) -> "Bench":
        """Lay out an empty repository. An ini file of its own keeps the settings of this project out.

        Args:
            folder: where.
            draws: whether its pages have drawings where the library is installed.
        """
        folder.mkdir(parents=True, exist_ok=True)
        bench = cls(folder)
        bench.write("pytest.ini", "[pytest]\n")
        bench.write(".gitignore", "reports*/\nmodules/\n__pycache__/\n.pytest_cache/\n*.xml\n")
        bench.write("conftest.py", LIST_MODULES if draws else CONFTEST)
        bench.git("init", "--quiet")
        return bench

    def copied(self, folder: Path) -> "Bench":
        """Return the same again, with its repository and its reports, for a test that changes something."""
        shutil.copytree(self.folder, folder, dirs_exist_ok=True)
        return Bench(folder)

    def write(self, name: str, text: str) -> Path:
        """Write a file of the suite."""
        path = self.folder / name
        path.write_text(text, "utf-8")
        return path

    def edit(self, name: str, old: str, new: str) -> None:
        """Change a file of the suite."""
        text = (self.folder / name).read_text("utf-8")
        assert old in text, f"{old!r} is not in {name}"
        self.write(name, text.replace(old, new))

    def git(self, *words: str, date: str = "") -> None:
        """Run git as somebody, wherever the test runs."""
        identity = ["-c", "user.name=A Reader", "-c", "user.email=reader@localhost", "-c", "commit.gpgsign=false"]
        dates = {"GIT_AUTHOR_DATE": date, "GIT_COMMITTER_DATE": date} if date else {}
        subprocess.run(
            ["git", *identity, *words], cwd=self.folder, check=True, capture_output=True, env=os.environ | dates
        )

    def commit(self, *, date: str = "") -> None:
        """Commit everything that is not ignored."""
        self.git("add", "--all")
        self.git("commit", "--quiet", "--allow-empty", "--message", "As it is now", date=date)

    def freeze(self) -> pytest.RunResult:
        """Freeze what the tests carry, and commit it."""
        result = self.pytest("--passmark-freeze")
        assert result.ret == 0, f"{result.stdout}\n{result.stderr}"
        self.commit()
        return result

    def pytest(self, *words: str) -> pytest.RunResult:
        """Run a whole session."""
        shutil.rmtree(self.folder / "modules", ignore_errors=True)
        with self.session(*words) as session:
            out, err = session.communicate(timeout=TIMEOUT_S)
        return pytest.RunResult(session.returncode, out.splitlines(), err.splitlines(), 0.0)

    @contextmanager
    def session(self, *words: str) -> Iterator[subprocess.Popen[str]]:
        """Start a session to which something happens while it runs; whatever is left of it ends with the block."""
        process = subprocess.Popen(
            [sys.executable, "-m", "pytest", *no_plugins("cacheprovider", *BESIDE_THE_POINT), PATIENCE, *words],
            cwd=self.folder,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={name: value for name, value in os.environ.items() if not name.startswith(("PYTEST_", "COV_"))},
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.kill()
            process.wait()

    def modules(self) -> set[str]:
        """Name what the processes of the last whole session had imported when they ended."""
        found = [json.loads(path.read_text()) for path in (self.folder / "modules").glob("*.json")]
        assert found, "no process of the session came to its end"
        return {name for names in found for name in names}

    def store(self, report: str = "reports") -> RunStore:
        """Return the store of a report folder."""
        return RunStore(self.folder / report)

    def registered(self, report: str = "reports") -> list[LedgerEntry]:
        """Return the runs that were registered, in their order."""
        return [entry for entry in self.store(report).ledger.entries() if entry.event == "register"]

    def verdicts(self, suite: str = "e1", report: str = "reports") -> dict[str, Verdict]:
        """Return the verdicts that the last session wrote, by id."""
        written = read_verdicts(self.folder / report / suite / "verdicts.json").verdicts
        return {verdict.id: verdict for verdict in written}


def bench_of_e1(folder: Path, *, rehearsal: bool = True, doctor: Doctor | None = None) -> Bench:
    """Lay out E1 with its lock, frozen and committed before runs that never happened."""
    bench = Bench.new(folder)
    shutil.copy(E1_PLAN, bench.folder)
    shutil.copy(E1_SUITE, bench.folder)
    shutil.copytree(OUR_FIXTURES, bench.folder / "fixtures", ignore=shutil.ignore_patterns("__pycache__"))
    bench.write("pytest.ini", "[pytest]\npythonpath = .\n")
    bench.write("conftest.py", CONFTEST + '\n\npytest_plugins = ["fixtures.experiments"]\n')
    plan, marks, root = load_plan(E1_PLAN), e1_marks(), package_root()
    digests = Digests(
        plan=plan_digest(plan),
        lock="",
        code=code_digest(code_paths(), root),
        evaluator=code_digest(evaluator_paths(), root),
    )
    lock = freeze(
        None,
        marks.marks,
        marks.claims,
        suite=plan.id,
        plan=plan,
        bindings=Bindings(plan=digests.plan, code=digests.code, evaluator=digests.evaluator),
        now=FROZEN_AT,
    )
    write_lock(bench.folder / "passmarks.lock", lock)
    bench.commit(date=COMMITTED_AT)
    under_lock = Digests(plan=digests.plan, lock=lock_digest(lock), code=digests.code, evaluator=digests.evaluator)
    make_experiment(bench.folder / "reports", digests=under_lock, rehearsal=rehearsal, doctor=doctor)
    return bench


def no_plugins(*names: str) -> list[str]:
    """Return the words that leave these plugins out."""
    return [word for name in names for word in ("-p", f"no:{name}")]


def prose(result: pytest.RunResult) -> str:
    """Return what a session said, without the line breaks of its terminal."""
    return " ".join(result.stdout.str().split())


def word_of(verdicts: dict[str, Verdict]) -> dict[str, tuple[str, str, str, float | None]]:
    """Return what must not differ between two judgements of the same runs."""
    return {id_: (one.word, one.reason, " ".join(one.qualifiers), one.value) for id_, one in verdicts.items()}


class Watch:
    """Looks into the record of a run while it is written."""

    def __init__(self, bench: Bench, session: subprocess.Popen[str]) -> None:
        self._bench = bench
        self._session = session
        self.family: set[psutil.Process] = set()
        """The session and every process that it started, also those that have other parents by now."""

    def wait_for_round(self, role: str) -> Start:
        """Wait until a run of this role has a round, and return what its workers said at their start."""
        deadline_s = time.monotonic() + TIMEOUT_S
        while time.monotonic() < deadline_s:
            if self._session.poll() is not None:
                out, err = self._session.communicate()
                raise AssertionError(f"the session ended before {role} had a round:\n{out}\n{err}")
            self._meet()
            for path in sorted((self._bench.folder / "reports" / "runs").glob(f"*-{role}-*/record.jsonl")):
                lines = [decode(raw) for raw in path.read_bytes().splitlines(keepends=True) if raw.endswith(b"\n")]
                start = next((line for line in lines if isinstance(line, Start)), None)
                if start is not None and any(isinstance(line, RoundLine) for line in lines):
                    self._meet()
                    return start
            time.sleep(0.05)
        raise AssertionError(f"{role} had no round within {TIMEOUT_S} s")

    def orphans(self) -> list[psutil.Process]:
        """Return what still runs of the session, after it was given time to go."""
        _, alive = psutil.wait_procs(list(self.family), timeout=30)
        return [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]

    def interrupt(self) -> None:
        """Do as Ctrl-C does: the signal reaches the whole foreground group."""
        os.killpg(self._session.pid, signal.SIGINT)

    def _meet(self) -> None:
        try:
            session = psutil.Process(self._session.pid)
            self.family |= {session, *session.children(recursive=True)}
        except psutil.NoSuchProcess:
            return
