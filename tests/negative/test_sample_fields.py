"""Every field of the sample's lock, plan, ledger and records: no edit leaves a `PASS` that looks as it did before."""

import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.plugin.outside import Kept
from tests.negative.sample_edits import Field, edit, fields_of, seal_again
from tests.negative.stored_sample import NOTHING_KEPT, Copy, evidence_of, kept_outside, verdicts_of

EXAMPLES = int(os.environ.get("MIXGPU_EXAMPLES", "1"))
"""How many times each field is edited, each time in another run, round or participant."""
Look = tuple[str, frozenset[str], frozenset[str]]
FILES = ("suite/benchmark.toml", "suite/passmarks.lock", "records/ledger.jsonl", "record.jsonl")


def look(verdict: Verdict) -> Look:
    """What is printed wherever a verdict is: word, qualifiers, notes."""
    return verdict.word, frozenset(verdict.qualifiers), frozenset(verdict.notes)


@pytest.fixture(scope="module")
def sample(tmp_path_factory: pytest.TempPathFactory) -> Copy:
    return Copy(tmp_path_factory.mktemp("sample"))


@pytest.fixture(scope="module")
def before(sample: Copy) -> dict[str, Look]:
    return {id_: look(verdict) for id_, verdict in verdicts_of(evidence_of(sample.folder, kept=kept_outside())).items()}


def chosen(sample: Copy, file: str, seed: int) -> Iterator[Field]:
    """Choose of each kind of field one, in some run, some round and some participant."""
    names = [file]
    if file == "record.jsonl":
        names = sorted(
            str(path.relative_to(sample.folder)) for path in sample.folder.glob("records/runs/*/record.jsonl")
        )
    shapes: dict[tuple[str, ...], list[Field]] = {}
    for name in names:
        for field in fields_of(sample.folder, name):
            shapes.setdefault(field.shape, []).append(field)
    for place, fields in enumerate(shapes.values()):
        yield fields[(seed * 7919 + place * 104_729) % len(fields)]


def passes_as_before(folder: Path, before: dict[str, Look], kept: Kept) -> list[str]:
    """Name the marks and claims that pass and look as they did; a folder that cannot be read passes nothing."""
    try:
        found = verdicts_of(evidence_of(folder, kept=kept))
    except MixgpuError:
        return []
    return [id_ for id_, verdict in found.items() if verdict.word == "PASS" and look(verdict) == before[id_]]


def test_the_sample_as_it_is_passes_and_is_kept_outside(before: dict[str, Look]) -> None:
    """What the edits start from: marks that are met, one that is not, and no note that anything is missing outside."""
    words = {id_: word for id_, (word, _, _) in before.items()}
    notes = {note for _, _, found in before.values() for note in found}

    assert {"PASS": 10, "FAIL": 1} == dict(Counter(words.values()))
    assert "FAIL" == words["stripes-round"]
    assert not {"unanchored", "unattested", "code-changed"} & notes


@pytest.mark.parametrize("file", FILES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_an_edit_by_hand_leaves_nothing_as_it_was(sample: Copy, before: dict[str, Look], file: str, seed: int) -> None:
    """No hash is made good again: nothing that passes looks as before."""
    left = []
    for field in chosen(sample, file, seed):
        said = edit(sample.folder, field)
        left += [f"{field}: {said}: {id_}" for id_ in passes_as_before(sample.folder, before, kept_outside())]
        sample.put_back()

    assert [] == left


@pytest.mark.parametrize("is_kept", [True, False], ids=["heads-outside", "heads-taken-away"])
@pytest.mark.parametrize("file", FILES)
@settings(max_examples=EXAMPLES, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 10_000))
def test_an_edit_with_all_hashes_made_good_again_leaves_nothing_as_it_was(
    sample: Copy, before: dict[str, Look], file: str, seed: int, *, is_kept: bool
) -> None:
    """What is kept outside tells it; whoever takes that away too leaves the notes that it is not there."""
    left, num_sealed = [], 0
    for field in chosen(sample, file, seed):
        said = edit(sample.folder, field)
        try:
            seal_again(sample.folder)
        except (MixgpuError, KeyError, TypeError, AttributeError):
            # It cannot be read any more, so it cannot be sealed; the edit by hand is judged above.
            sample.put_back()
            continue
        if not sample.is_as_committed:
            num_sealed += 1
            kept = kept_outside() if is_kept else NOTHING_KEPT
            left += [f"{field}: {said}: {id_}" for id_ in passes_as_before(sample.folder, before, kept)]
        sample.put_back()

    assert [] == left
    # What cannot be sealed again is judged above, and nothing is shown here if that is all.
    assert num_sealed > 0
