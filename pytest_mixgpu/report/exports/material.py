"""The value that every format is made of."""

from pathlib import Path

import msgspec

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.model import Occasion, Report


class Material(msgspec.Struct, frozen=True, kw_only=True):
    """What one session has to say of one suite, for every format."""

    occasion: Occasion
    report: Report
    """The same as rows of neutralised text, for formats that people read."""
    verdicts: tuple[Verdict, ...]
    """All of them, those of marks that were left out too."""
    records: tuple[RunRecord, ...] = ()
    """Every registered run that can be read, failed and aborted ones too, in the order of registration."""
    plan: Plan | None = None
    folders: tuple[Path, ...] = ()
    """Report folders that the records and their ledgers are from."""
    lock: Path | None = None
    """The suite's lock file; None where nothing was frozen."""
