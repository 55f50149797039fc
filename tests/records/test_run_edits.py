"""Any file of a run that was edited, taken away, added, moved or repeated is found, and so is a copied run."""

import os
import shutil
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.records.store import RunStore
from tests.records.chains import made_good
from tests.samples import make_experiment
from tests.stored_faults import faults_of


@pytest.fixture(scope="module")
def sealed(tmp_path_factory: pytest.TempPathFactory) -> RunStore:
    """Two runs with their logs; not to be changed."""
    return make_experiment(tmp_path_factory.mktemp("sealed"), names=["fleet", "mixed"])


def _flip(path: Path, data: st.DataObject) -> None:
    raw = bytearray(path.read_bytes())
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    path.write_bytes(raw)


def _cut(path: Path, data: st.DataObject) -> None:
    os.truncate(path, data.draw(st.integers(0, path.stat().st_size - 1)))


def _lengthen(path: Path, data: st.DataObject) -> None:
    path.write_bytes(path.read_bytes() + data.draw(st.binary(min_size=1, max_size=9)))


def _repeat_a_line(path: Path, data: st.DataObject) -> None:
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(data.draw(st.integers(0, len(lines))), data.draw(st.sampled_from(lines)))
    path.write_bytes(b"".join(lines))


def _delete(path: Path, data: st.DataObject) -> None:
    path.unlink()


def _delete_run(path: Path, data: st.DataObject) -> None:
    shutil.rmtree(_run_of(path))


def _rename(path: Path, data: st.DataObject) -> None:
    path.rename(path.with_name("another-name"))


def _copy_beside(path: Path, data: st.DataObject) -> None:
    shutil.copy(path, path.with_name("another-name"))


def _copy_run(path: Path, data: st.DataObject) -> None:
    run = _run_of(path)
    shutil.copytree(run, run.with_name("another-run"))


def _swap_runs(path: Path, data: st.DataObject) -> None:
    one, other = sorted(_run_of(path).parent.iterdir())
    one.rename(one.with_name("meanwhile"))
    other.rename(one)
    one.with_name("meanwhile").rename(other)


def _take_from_the_other_run(path: Path, data: st.DataObject) -> None:
    run = _run_of(path)
    (other,) = [folder for folder in run.parent.iterdir() if folder != run]
    theirs = other / path.relative_to(run)
    if theirs.read_bytes() == path.read_bytes():
        path.write_bytes(b"another")
    else:
        shutil.copy(theirs, path)


def _link(path: Path, data: st.DataObject) -> None:
    path.rename(path.parents[3] / "elsewhere")
    path.symlink_to(path.parents[3] / "elsewhere")


def _run_of(path: Path) -> Path:
    return next(folder for folder in path.parents if folder.parent.name == "runs")


EDITS = (
    _flip, _cut, _lengthen, _repeat_a_line, _delete, _delete_run, _rename, _copy_beside, _copy_run, _swap_runs,
    _take_from_the_other_run, _link,
)  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
@given(data=st.data())
@settings(max_examples=12, deadline=None)
def test_a_file_of_a_run_that_was_touched_is_found(
    sealed: RunStore,
    tmp_path_factory: pytest.TempPathFactory,
    edit: Callable[[Path, st.DataObject], None],
    data: st.DataObject,
) -> None:
    """Whatever is done to any file of a run after it closed, there is a fault."""
    store = RunStore(shutil.copytree(sealed.folder, tmp_path_factory.mktemp("touched") / "reports"))
    files = sorted(path for path in (store.folder / "runs").rglob("*") if path.is_file())
    edit(data.draw(st.sampled_from(files)), data)

    assert () != faults_of(store)


def test_a_run_that_was_made_good_with_its_ledger_is_found_by_the_kept_head_only(tmp_path: Path) -> None:
    """Who edits a record and writes the whole chain anew leaves no fault inside the folder; a kept head tells."""
    store = make_experiment(tmp_path, names=["fleet"])
    kept = store.ledger.head
    path = store.survey()[0].folder / "record.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"num_correct":441', b'"num_correct":449'))
    digest = sha256(path.read_bytes()).hexdigest()
    entries = [replace(one, record_digest=digest) if one.event == "close" else one for one in store.ledger.entries()]
    store.ledger.path.write_bytes(made_good(entries))

    assert () == faults_of(store)
    assert "rebuilt or cut" in store.ledger.verify(head=kept)[0]
