"""The committed sample as a verifier judges it: signatures are checked once, since no edit of these tests touches them.

Digests of the code are those that the sample was frozen with, so that it can be judged when the code has moved on.
"""

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from shutil import copytree
from typing import NamedTuple

from msgspec.structs import replace

from pytest_mixgpu.marks.anchored import GivenLedger, JudgedRun, held_against
from pytest_mixgpu.marks.attested import examine
from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.differences import plain
from pytest_mixgpu.marks.evidence import Evidence, gather
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Lock, read_lock
from pytest_mixgpu.marks.lock_file import digests_since
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.present import Present
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.records.anchors.model import AnchorReading
from pytest_mixgpu.records.anchors.reading import read_anchors
from pytest_mixgpu.records.attestation import AttestationReading, read_attestation
from pytest_mixgpu.records.plan_file import load_plan, plan_digest
from pytest_mixgpu.records.store import RunStore

SAMPLE = Path(__file__).parents[2] / "reports" / "samples"
SUITE = "stripes"


class Kept(NamedTuple):
    """What was kept outside of the sample, verified."""

    anchors: AnchorReading
    signed: Mapping[str, AttestationReading]


NOTHING_KEPT = Kept(AnchorReading(), {})


@cache
def original_lock() -> Lock:
    """Return the lock that the sample was frozen with."""
    lock = read_lock(SAMPLE / "suite" / "passmarks.lock")
    assert lock is not None
    return lock


@cache
def kept_outside() -> Kept:
    """Verify every signature of the sample."""
    signers = SAMPLE / "suite" / "allowed_signers"
    records = SAMPLE / "records"
    runs = [entry.run_id for entry in RunStore(records).ledger.entries() if entry.event == "register"]
    return Kept(
        anchors=read_anchors(SAMPLE / "suite", signers=signers),
        signed={run: read_attestation(records, run, signers) for run in runs},
    )


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
    frozen, records = original_lock(), folder / "records"
    plan, lock = load_plan(folder / "suite" / "benchmark.toml"), read_lock(folder / "suite" / "passmarks.lock")
    stored = read_runs((records,), SUITE, lock=lock)
    ledger = RunStore(records).ledger.read()
    closes = {entry.run_id: entry for entry in stored.ledger.entries or () if entry.event == "close"}
    outside = held_against(
        kept.anchors,
        [GivenLedger(path="records", identity=ledger.first, count=ledger.count, places=ledger.places)],
        [JudgedRun(ledger="records", registered=one, closed=closes.get(one.run_id)) for one in stored.registered],
        suite=SUITE,
        locks=() if lock is None else digests_since(lock, 0),
        rehearsal=False,
    )
    signed = {one.run_id: kept.signed.get(one.run_id, AttestationReading()) for one in stored.registered}
    attested = examine(signed, stored.ledger.entries or (), stored.records, expected=())
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
        ledger=replace(stored.ledger, outside=outside, attested=attested),
        lost=stored.lost,
        seals=stored.seals,
    )


def verdicts_of(evidence: Evidence) -> dict[str, Verdict]:
    """Judge all marks and claims of the sample."""
    frozen = original_lock()
    marks = {mark.id: judge_mark(mark, evidence) for mark in frozen.marks}
    return marks | {claim.id: judge_claim(claim, evidence) for claim in frozen.claims}
