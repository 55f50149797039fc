"""What a session has to say of one suite: from verdicts and runs to lines, JUnit properties, page and other files."""

from __future__ import annotations

import os
import sys
from datetime import UTC, datetime
from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.plugin.again import again_command
from pytest_mixgpu.plugin.exporting import export
from pytest_mixgpu.plugin.suites import shown
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.secrets import scrub_command
from pytest_mixgpu.records.store import RunStore
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.figures import figures_of
from pytest_mixgpu.report.html import write_page
from pytest_mixgpu.report.junit import suite_properties
from pytest_mixgpu.report.model import Occasion
from pytest_mixgpu.report.rows import build_report
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.terminal import summary_lines, verdict_text
from pytest_mixgpu.report.verdict_file import write_verdicts

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pytest_mixgpu.devices.model import Pool
    from pytest_mixgpu.marks.model import Verdict
    from pytest_mixgpu.plugin.junit_file import JunitFile
    from pytest_mixgpu.plugin.outcome import Judged
    from pytest_mixgpu.plugin.session import MixgpuSession
    from pytest_mixgpu.plugin.suites import Suite
    from pytest_mixgpu.records.model import HostFacts, RunRecord
    from pytest_mixgpu.report.model import Report
    from pytest_mixgpu.report.terminal import Line


class SuiteReport:
    """The report of one suite, ready to be told and written.

    Args:
        session: whose verdicts these are.
        suite: that they belong to.
        judged: what fell, in the order of the checklist.
        left_out: what was frozen and not judged: on the page and in every file; the terminal has one line for all that.
    """

    def __init__(
        self, session: MixgpuSession, suite: Suite, judged: Sequence[Judged], left_out: Sequence[Verdict]
    ) -> None:
        self._session = session
        self._suite = suite
        self._left_out = left_out
        self._judged = [one.verdict for one in judged]
        self._verdicts = [*self._judged, *left_out]
        self._folder = session.options.report / suite.name
        self._page = self._folder / "index.html"
        self._is_written = False
        self._occasion = _occasion(session, suite, judged)
        self._host, self._pool = _measured_on(session, suite)
        self._records = _records(session, suite)
        self._whole = self._report_on(self._verdicts)
        self._told = self._report_on(self._judged) if judged and left_out else self._whole

    @property
    def _again(self) -> str:
        """The command that takes the verdicts again; empty where there is no run to judge."""
        return self._occasion.again if self._whole.runs else ""

    def _report_on(self, verdicts: Sequence[Verdict]) -> Report:
        return build_report(
            verdicts,
            self._records,
            occasion=self._occasion,
            plan=self._suite.plan,
            evidence=self._session.evidence_of(self._suite),
            host=self._host,
            pool=self._pool,
        )

    def lines(self, *, width: int, verbosity: int) -> list[Line]:
        """Give the closing lines of the terminal; they name no page that could not be written."""
        page = shown(self._page, self._session.config) if self._is_written else ""
        return summary_lines(self._told, page=page, again=self._again, width=width, verbosity=verbosity)

    def tell_junit(self, junit: JunitFile) -> None:
        """Hand the suite's properties and what was left out to the XML file."""
        options, config = self._session.options, self._session.config
        for verdict in self._left_out:
            place = f"{shown(self._suite.lock_path, config)}::{clean(verdict.id)}"
            junit.add_case(place, verdict_text(verdict), outcome="failed" if options.official else "skipped")
        junit.add_suite(
            suite_properties(
                self._whole,
                self._verdicts,
                page=shown(self._page, config),
                again=self._again,
                each=junit.is_strict,
            )
        )

    def export(self) -> tuple[list[str], list[str]]:
        """Write other formats, those that are always written and those that were asked for.

        Returns:
            Where what was asked for lies, and what could not be written, a sentence each.
        """
        options, config = self._session.options, self._session.config
        material = Material(
            occasion=self._occasion,
            report=self._whole,
            verdicts=tuple(self._verdicts),
            records=tuple(self._records),
            plan=self._suite.plan,
            folders=options.records or (options.report,),
            lock=self._suite.lock_path,
        )
        return export(material, self._folder, asked=options.exports, show=lambda path: shown(path, config))

    def write(self) -> None:
        """Write verdicts and page.

        Raises:
            OSError: one of them cannot be written.
        """
        write_verdicts(
            self._folder / "verdicts.json", self._verdicts, occasion=self._occasion, host=self._host, pool=self._pool
        )
        evidence = self._session.evidence_of(self._suite)
        figures = figures_of(self._verdicts, self._records, plan=self._suite.plan, evidence=evidence)
        write_page(self._page, self._whole, figures)
        self._is_written = True


def _occasion(session: MixgpuSession, suite: Suite, judged: Sequence[Judged]) -> Occasion:
    options = session.options
    return Occasion(
        suite=suite.name,
        # Whoever judges records makes no run: nothing carries that session's id.
        session="" if options.records else session.id,
        made_at=_moment(judges_records=bool(options.records)).isoformat(timespec="seconds"),
        mode="records" if options.records else "measured",
        folder=shown(options.records[0] if options.records else options.report, session.config),
        command=scrub_command(tuple(sys.argv)),
        again=again_command(suite, options, session.config),
        titles={one.verdict.id: one.title for one in judged},
        tests={one.verdict.id: one.test for one in judged},
        order=tuple(one.verdict.id for one in judged),
    )


def _moment(*, judges_records: bool) -> datetime:
    """Now; or, for output of records that is to be the same byte for byte, what `SOURCE_DATE_EPOCH` says.

    Where something was measured, no variable sets the date of it.
    """
    fixed = os.environ.get("SOURCE_DATE_EPOCH", "")
    if judges_records and fixed.isdecimal():
        return datetime.fromtimestamp(int(fixed[:11]), UTC)
    return datetime.now(UTC)


def _measured_on(session: MixgpuSession, suite: Suite) -> tuple[HostFacts | None, Pool | None]:
    """Host and pool of this session; none where it judged records, which state their own."""
    if session.options.records:
        return None, None
    try:
        return host_facts(), session.pool_of(suite)
    except pytest.UsageError:
        return host_facts(), None


def _records(session: MixgpuSession, suite: Suite) -> Sequence[RunRecord]:
    """All runs of the suite that have ended; the judge of a plan's runs has read them already."""
    if suite.plan is not None:
        return session.experiment_of(suite).ended_runs
    folders = session.options.records or (session.options.report,)
    return [
        record
        for folder in folders
        if (folder / "ledger.jsonl").is_file()
        for record in RunStore(folder).records(suite.name)
    ]
