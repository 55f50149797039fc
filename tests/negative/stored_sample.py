"""The committed sample as a verifier judges it: signatures are checked once, since no edit of these tests touches them.

Digests of the code are those that the sample was frozen with, so that it can be judged when the code has moved on.
"""

from functools import cache
from pathlib import Path
from shutil import copytree

from msgspec.structs import replace

from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.differences import plain
from pytest_mixgpu.marks.evidence import Evidence, gather
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Lock, read_lock
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.present import Present
from pytest_mixgpu.plugin.outside import Kept, held_outside, read_kept
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.plugin.suites import Suite
from pytest_mixgpu.records.plan_file import plan_digest

SAMPLE = Path(__file__).parents[2] / "reports" / "samples"
NOTHING_KEPT = Kept()


@cache
def original_lock() -> Lock:
    """Return the lock that the sample was frozen with."""
    lock = read_lock(SAMPLE / "suite" / "passmarks.lock")
    assert lock is not None
    return lock


@cache
def kept_outside() -> Kept:
    """Verify every signature of the sample."""
    suite = Suite(SAMPLE / "suite")
    stored = read_runs((SAMPLE / "records",), suite.name)
    return read_kept(stored, suite, signers=suite.folder / "allowed_signers")


class Copy:
    """A copy of the sample that can be edited and put back."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for part in ("suite", "records"):
            copytree(SAMPLE / part, folder / part)
        paths = [folder / "suite" / "benchmark.toml", folder / "suite" / "passmarks.lock"]
        paths += [folder / "records" / "ledger.jsonl", *folder.glob("records/runs/*/record.jsonl")]
        self._content = {path: path.read_bytes() for path in paths}

    @property
    def is_as_committed(self) -> bool:
        """Whether no byte differs: sealing again undid an edit of what is a hash itself."""
        return all(path.read_bytes() == content for path, content in self._content.items())

    def put_back(self) -> None:
        """Undo every edit."""
        for path, content in self._content.items():
            if path.read_bytes() != content:
                path.write_bytes(content)


def evidence_of(folder: Path, *, kept: Kept) -> Evidence:
    """Read a copy of the sample as a session that judges its records, with the marks that its tests have.

    Raises:
        MixgpuError: lock, plan or records cannot be read, and say why.
    """
    frozen, suite = original_lock(), Suite(folder / "suite")
    plan, lock = suite.plan, suite.lock
    assert plan is not None
    stored = read_runs((folder / "records",), suite.name, lock=lock)
    return gather(
        plan,
        lock,
        stored.records,
        session="",
        rehearsal=False,
        plan_digest=plan_digest(plan),
        code_digest=frozen.bindings.code,
        evaluator_digest=frozen.bindings.evaluator,
        recipe_digests=frozen.bindings.recipes,
        present=Present(
            bindings=replace(frozen.bindings, plan=plan_digest(plan)),
            contents=replace(frozen.contents, plan=plain(plan)),
        ),
        marks=frozen.marks,
        claims=frozen.claims,
        ledger=held_outside(stored, suite, kept, rehearsal=False),
        lost=stored.lost,
        seals=stored.seals,
    )


def verdicts_of(evidence: Evidence) -> dict[str, Verdict]:
    """Judge all marks and claims of the sample."""
    frozen = original_lock()
    marks = {mark.id: judge_mark(mark, evidence) for mark in frozen.marks}
    return marks | {claim.id: judge_claim(claim, evidence) for claim in frozen.claims}
