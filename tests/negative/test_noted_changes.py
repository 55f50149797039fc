"""What was changed after the freeze and is no tampering: each change leaves its note and names what differs."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.differences import plain
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.lock import Lock
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.present import Present
from tests.judging import e1_marks, make_evidence
from tests.marks.lock_parts import resealed
from tests.sample_doctors import with_digests
from tests.samples import e1_plan, made_recipe

FILES = {
    "pytest_mixgpu/jobs/conduct.py": "c0" * 32,
    "pytest_mixgpu/marks/judge.py": "d0" * 32,
    "conftest.py": "e0" * 32,
    "test_e1.py::test_fleet": "f0" * 32,
    "test_e1.py::test_mixture": "f1" * 32,
}
COVERS = {
    "code": ("pytest_mixgpu/jobs/conduct.py",),
    "evaluator": ("pytest_mixgpu/jobs/conduct.py",),
    "judge": ("pytest_mixgpu/marks/judge.py",),
    "e1-speedup": ("conftest.py", "test_e1.py::test_fleet"),
    "e1-phases": ("conftest.py", "test_e1.py::test_fleet"),
    "e1-parity": ("conftest.py", "test_e1.py::test_mixture"),
}
WORKLOADS = ("digits-vit", "pets-vit-b16")


def bound(lock: Lock) -> Lock:
    """Bind the judge, the tests and the recipes by value too, as a freeze does."""
    tests = dict.fromkeys(lock.ids, "aa" * 32)
    contents = replace(lock.contents, sources=FILES, recipes={name: made_recipe(name) for name in WORKLOADS})
    return resealed(replace(lock, bindings=replace(lock.bindings, judge="bb" * 32, tests=tests), contents=contents))


def now_with(evidence: Evidence, *, judge: str = "bb", tests: dict[str, str] | None = None, **files: str) -> Evidence:
    """Return the evidence with what is there now: everything as it was frozen but this."""
    assert evidence.lock is not None
    bindings = evidence.lock.bindings
    changed = {path: files.get(path.rpartition("/")[2].partition(".py")[0], digest) for path, digest in FILES.items()}
    present = Present(
        bindings=replace(bindings, judge=judge * 32, tests=bindings.tests | (tests or {})),
        contents=replace(evidence.lock.contents, sources=changed),
        covers=COVERS,
        places={"e1-speedup": "test_e1.py::test_fleet"},
    )
    return replace(evidence, present=present)


def verdict_on(id_: str, evidence: Evidence) -> Verdict:
    suite = e1_marks()
    if id_ in {mark.id for mark in suite.marks}:
        return judge_mark(suite.mark(id_), evidence)
    return judge_claim(suite.claim(id_), evidence)


def other_code(evidence: Evidence) -> Evidence:
    """Take the evidence as made with code that lies here now, and that is not what was frozen."""
    assert evidence.present is not None
    bindings = replace(evidence.present.bindings, code="99" * 32)
    return replace(evidence, present=replace_bindings(evidence.present, bindings))


def replace_bindings(present: Present, bindings: object) -> Present:
    return replace(present, bindings=bindings)


class Change(NamedTuple):
    """One change that is noted."""

    what: str
    make: Callable[[], Evidence]
    ids: tuple[str, ...]
    """Marks and claims that it concerns; the others keep their verdict as it was."""
    says: str


CHANGES = (
    Change(
        "another-judge",
        lambda: now_with(make_evidence(lock=bound), judge="00", judge_py="00" * 32),
        ("e1-speedup", "e1-parity", "e1-phases"),
        "judges them is not as it was frozen",
    ),
    Change(
        "another-test",
        lambda: now_with(make_evidence(lock=bound), tests={"e1-parity": "00" * 32}),
        ("e1-parity",),
        "the test of e1-parity is not as it was frozen",
    ),
    Change(
        "a-helper-of-two-tests",
        lambda: now_with(
            make_evidence(lock=bound), tests={"e1-speedup": "00" * 32, "e1-phases": "01" * 32}, conftest="00" * 32
        ),
        ("e1-speedup", "e1-phases"),
        "is not as it was frozen (conftest.py)",
    ),
    Change(
        "runs-of-other-code",
        lambda: other_code(
            now_with(make_evidence(lock=bound, doctor=lambda run: with_digests(run, code="99" * 32)), conduct="00" * 32)
        ),
        ("e1-speedup", "e1-parity"),
        "runs were made with the code that produces the number 999999999999…, passmarks.lock has",
    ),
)


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.what)
def test_what_changed_behind_a_verdict_is_noted_and_named(change: Change) -> None:
    """The note stands at exactly the marks that it concerns, and a sentence says what differs."""
    evidence = change.make()
    for id_ in ("e1-speedup", "e1-parity", "e1-phases"):
        verdict = verdict_on(id_, evidence)
        told = [text for text in verdict.details if text.startswith("code-changed: ")]

        assert "PASS" == verdict.word, verdict
        assert (id_ in change.ids) == ("code-changed" in verdict.notes), verdict
        assert (id_ in change.ids) == any(change.says in text for text in told), told


def test_changed_code_of_runs_is_named_by_its_file() -> None:
    """As far as the code that the runs were made with lies here."""
    verdict = verdict_on("e1-speedup", CHANGES[3].make())

    assert any(text.endswith(": pytest_mixgpu/jobs/conduct.py") for text in verdict.details), verdict.details


@pytest.mark.parametrize("id_", ["e1-speedup", "e1-parity", "e1-phases"])
def test_unchanged_everything_is_not_noted(id_: str) -> None:
    """What the cases change is what makes the note."""
    verdict = verdict_on(id_, now_with(make_evidence(lock=bound)))

    assert ("PASS", False) == (verdict.word, "code-changed" in verdict.notes), verdict


def contents_with(**changes: object) -> Callable[[Lock], Lock]:
    return lambda lock: replace(bound(lock), contents=replace(bound(lock).contents, **changes))


def mark_with(**changes: object) -> Callable[[Lock], Lock]:
    return lambda lock: replace(lock, marks=tuple(replace(mark, **changes) for mark in lock.marks))


LOCK_EDITS = (
    pytest.param(mark_with(least_runs=2), "e1-speedup.least_runs: ", id="least-runs"),
    pytest.param(mark_with(straddling="fail"), "e1-speedup.straddling: ", id="straddling"),
    pytest.param(
        contents_with(plan=plain(replace(e1_plan(), question="Is it fast?"))),
        'question: benchmark.toml has "Do 16 GPUs',
        id="plan-by-value",
    ),
    pytest.param(
        contents_with(recipes={"digits-vit": made_recipe("digits-vit") | {"model": "cnn"}}),
        'recipes.digits-vit.model: digits-vit.toml has "vit", passmarks.lock has "cnn"',
        id="recipe-by-value",
    ),
    pytest.param(
        contents_with(sources=FILES | {"pytest_mixgpu/marks/judge.py": "00" * 32}),
        "contents.sources: passmarks.lock lists pytest_mixgpu/marks/judge.py",
        id="source-files",
    ),
)


@pytest.mark.parametrize("sealed_again", [False, True], ids=["broken-seal", "sealed-again"])
@pytest.mark.parametrize(("edit", "says"), LOCK_EDITS)
def test_an_edit_of_what_the_lock_holds_by_value_is_tampering(
    edit: Callable[[Lock], Lock], says: str, *, sealed_again: bool
) -> None:
    """By its seal, and where that was made good again, by what it no longer agrees with."""
    evidence = now_with(make_evidence(lock=lambda lock: resealed(edit(lock)) if sealed_again else edit(lock)))
    assert evidence.lock is not None
    present = evidence.present
    assert present is not None
    honest = replace(
        present,
        contents=replace(present.contents, recipes={name: made_recipe(name) for name in WORKLOADS}, sources=FILES),
    )

    verdict = judge_mark(e1_marks().mark("e1-speedup"), replace(evidence, present=honest))

    assert "TAMPERED" == verdict.word
    assert sealed_again != ("edited by hand" in verdict.reason), verdict.reason
    assert any(says in text for text in (verdict.reason, *verdict.details)), verdict
