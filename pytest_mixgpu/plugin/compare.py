"""Answers `--mixgpu-compare=A,B`: from two report folders to a page and lines. Runs no test and touches no device."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import msgspec
import pytest
from _pytest._io import TerminalWriter
from _pytest.config import create_terminal_writer

from pytest_mixgpu.errors import MixgpuError, RecordError
from pytest_mixgpu.marks.comparable import Side, obstacles
from pytest_mixgpu.marks.given_again import contradicted
from pytest_mixgpu.plugin.stored import read_runs
from pytest_mixgpu.plugin.suites import shown
from pytest_mixgpu.records.store import RunStore
from pytest_mixgpu.report.comparison.lines import comparison_lines
from pytest_mixgpu.report.comparison.page import write_comparison
from pytest_mixgpu.report.comparison.rows import Sided, build_comparison
from pytest_mixgpu.report.sanitise import clean_for_log
from pytest_mixgpu.report.verdict_file import read_verdicts

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from pytest_mixgpu.marks.comparable import Obstacle
    from pytest_mixgpu.plugin.stored import StoredRuns
    from pytest_mixgpu.records.model import RunRecord
    from pytest_mixgpu.report.verdict_file import VerdictFile

FLAG = "--mixgpu-compare"
VERDICTS = "verdicts.json"
MAX_TOLD = 30
"""So many fields are named one by one."""


def print_comparison(config: pytest.Config, request: str, report: Path) -> None:
    """Compare two sessions and write `compare.html` below the report folder.

    Args:
        config: of this session.
        request: `A,B`: report folders, suites' folders in them, or `verdicts.json` files.
        report: folder for reports.

    Raises:
        pytest.UsageError: they must not be compared, or one cannot be read; it names the side and the field.
    """
    words = [word.strip() for word in request.split(",")]
    if len(words) != 2 or not all(words):
        raise pytest.UsageError(f"{FLAG}={clean_for_log(request)}: found {len(words)}, expected two: {FLAG}=A,B")
    try:
        a, b = (_read(config, name, word) for name, word in zip("AB", words, strict=True))
    except MixgpuError as error:
        raise pytest.UsageError(clean_for_log(f"{FLAG}: {error}")) from error
    found = obstacles(a.side, b.side)
    if found:
        raise pytest.UsageError(_refusal(found))
    shared = {run.id for run in a.side.runs} & {run.id for run in b.side.runs}
    if shared:
        note = f"A and B share {len(shared)} of their runs: what they share differs in nothing"
        a, b = (msgspec.structs.replace(one, notes=(*one.notes, note)) for one in (a, b))
    comparison = build_comparison(a, b)
    page = report / a.side.suite / "compare.html"
    try:
        write_comparison(page, comparison)
    except OSError as error:
        raise pytest.UsageError(f"{FLAG}: {page} cannot be written: {error}; choose --mixgpu-report=DIR") from error
    # The options of colour are those of pytest's terminal plugin, which can be left out.
    has_terminal = hasattr(config.option, "color")
    writer = create_terminal_writer(config, sys.stdout) if has_terminal else TerminalWriter(sys.stdout)
    for line in comparison_lines(comparison, width=writer.fullwidth, page=shown(page, config)):
        writer.line(line.text, **line.markup)


def _refusal(found: Sequence[Obstacle]) -> str:
    lines = [f"{FLAG}: A and B are not the same experiment, and are not put side by side. What forbids it:"]
    lines += [f"  {clean_for_log(str(one))}" for one in found[:MAX_TOLD]]
    if len(found) > MAX_TOLD:
        lines.append(f"  and {len(found) - MAX_TOLD} more fields")
    if any(one.field == "lock" for one in found):
        lines.append(
            "  Where the lock was amended between them, take the verdicts of both again under one lock: "
            "pytest SUITE --mixgpu-records=DIR --mixgpu-report=DIR"
        )
    return "\n".join(lines)


def _read(config: pytest.Config, name: str, word: str) -> Sided:
    """Read one side: its verdicts, and the runs that they name, each against its seal."""
    path = _verdicts_at((config.invocation_params.dir / word).resolve(), name)
    file = read_verdicts(path)
    if not file.suite or file.suite != path.parent.name:
        raise RecordError(
            f"{name} ({path}) says that it is of the suite {file.suite!r}, and lies in a folder of another name: "
            "give a report folder as it was written"
        )
    home = path.parent.parent
    named = {run_id for verdict in file.verdicts for run_id in verdict.run_ids}
    runs: tuple[RunRecord, ...] = ()
    notes: tuple[str, ...] = ()
    if named or any(verdict.ledger_head for verdict in file.verdicts):
        stored = _stored(home, file, name)
        runs = tuple(record for record in stored.records if record.id in named)
        notes = tuple(_newer(stored, file))
        _refuse_without(named - {run.id for run in runs}, home, name)
    _refuse_edited(file, runs, path, name)
    side = Side(name=name, suite=file.suite, verdicts=file.verdicts, runs=runs)
    return Sided(side=side, file=file, place=shown(path, config), notes=(*_warnings(file), *notes))


def _verdicts_at(path: Path, name: str) -> Path:
    """Find the one file of verdicts that a word means."""
    if path.is_file():
        return path
    if (path / VERDICTS).is_file():
        return path / VERDICTS
    found = sorted(path.glob(f"*/{VERDICTS}"))
    if len(found) == 1:
        return found[0]
    if not found:
        raise RecordError(
            f"{name} is missing: there is no {VERDICTS} in {path}, nor in a folder of it; where there are runs, "
            f"write it by pytest SUITE --mixgpu-records={path} --mixgpu-report={path}"
        )
    names = ", ".join(one.parent.name for one in found)
    raise RecordError(f"{name} ({path}) holds verdicts of several suites ({names}): name one, as {found[0].parent}")


def _stored(home: Path, file: VerdictFile, name: str) -> StoredRuns:
    """Read the runs of a side, and refuse it where anything does not match its seal."""
    if not (home / "ledger.jsonl").is_file():
        raise RecordError(
            f"{name} is not whole: its verdicts name runs, and {home} holds no ledger.jsonl; judge the runs where they "
            f"lie, with --mixgpu-records and --mixgpu-report={home}"
        )
    stored = read_runs((home,), file.suite)
    gone = [f"run {one.run_id}: {'; '.join(one.faults)}" for one in stored.lost if one.was_closed]
    faults = [*stored.ledger.faults, *(fault for found in stored.seals.values() for fault in found), *gone]
    heads = RunStore(home).ledger.places({verdict.ledger_head for verdict in file.verdicts if verdict.ledger_head})
    faults += [
        f"{verdict.id} was judged under the ledger head {verdict.ledger_head[:12]}…, which this ledger never had"
        for verdict in file.verdicts
        if verdict.ledger_head and verdict.ledger_head not in heads
    ][:1]
    if faults:
        raise RecordError(f"{name} ({home}) is tampered with: {'; '.join(faults[:3])}")
    return stored


def _refuse_without(missing: set[str], home: Path, name: str) -> None:
    if missing:
        raise RecordError(
            f"{name} is not whole: its verdicts name run {min(missing)}, which cannot be read in {home}: whether it is "
            "the same experiment cannot be said"
        )


def _refuse_edited(file: VerdictFile, runs: Sequence[RunRecord], path: Path, name: str) -> None:
    """A file of verdicts has no seal: what its runs give again must be what it says."""
    by_id = {run.id: run for run in runs}
    found = [
        text
        for verdict in file.verdicts
        for text in contradicted(verdict, [by_id[id_] for id_ in dict.fromkeys(verdict.run_ids)])
    ]
    words = {verdict.word for verdict in file.verdicts if not verdict.passed}
    found += [f"its headline {file.headline!r} has no {word}" for word in sorted(words) if word not in file.headline]
    if found:
        raise RecordError(
            f"{name} ({path}) is not what its runs give: {'; '.join(found[:3])}: it was edited, or made by another "
            "version; take its verdicts again with --mixgpu-records"
        )


def _newer(stored: StoredRuns, file: VerdictFile) -> Iterator[str]:
    """Say where the ledger went on after the verdicts were taken."""
    judged = max((verdict.ledger_count for verdict in file.verdicts), default=0)
    if stored.ledger.count > judged:
        yield (
            f"its ledger has {stored.ledger.count - judged} entries that its verdicts do not know: "
            "take them again with --mixgpu-records"
        )


def _warnings(file: VerdictFile) -> Iterator[str]:
    words = {verdict.word for verdict in file.verdicts}
    if "TAMPERED" in words:
        yield "tampered: something did not match its seal when it was judged"
    if any(verdict.qualifiers for verdict in file.verdicts):
        found = sorted({qualifier for verdict in file.verdicts for qualifier in verdict.qualifiers})
        yield f"{', '.join(found)}: this was not the experiment"
