"""The end of a session: from collected verdicts to files, closing lines and the exit status."""

from __future__ import annotations

import sys
import textwrap
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.marks.lock import missing_from
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.plugin.suites import shown
from pytest_mixgpu.records.environment import host_facts
from pytest_mixgpu.records.secrets import scrub_command
from pytest_mixgpu.records.store import RunStore
from pytest_mixgpu.report.html import write_page
from pytest_mixgpu.report.model import Occasion
from pytest_mixgpu.report.rows import build_report
from pytest_mixgpu.report.terminal import summary_lines
from pytest_mixgpu.report.verdicts import write_verdicts

if TYPE_CHECKING:
    from pytest_mixgpu.devices.model import Pool
    from pytest_mixgpu.plugin.session import MixgpuSession
    from pytest_mixgpu.plugin.suites import Suite
    from pytest_mixgpu.records.model import HostFacts, RunRecord
    from pytest_mixgpu.report.model import Report


class Judged(msgspec.Struct, frozen=True, kw_only=True):
    """A verdict as a report carried it, with the test that asked for it."""

    verdict: Verdict
    folder: str
    test: str
    title: str


class Outcomes:
    """Collects verdicts as reports come in, and settles them when the session ends."""

    def __init__(self, session: MixgpuSession) -> None:
        self._session = session
        self._judged: list[Judged] = []
        self._reports: list[tuple[Report, Path]] = []
        self._left_out: list[str] = []
        self._troubles: list[str] = []
        self._stopped = False

    def collect(self, report: pytest.TestReport) -> None:
        """Take the verdicts off a report."""
        carried: list[dict[str, Any]] = report.mixgpu_verdicts  # set by opinions.attach
        for row in carried:
            self._judged.append(
                Judged(
                    verdict=msgspec.convert(row["verdict"], Verdict),
                    folder=row["folder"],
                    test=row["test"],
                    title=row["title"],
                )
            )

    def finish(self, pytest_session: pytest.Session) -> None:
        """Write the files of each suite; an official session fails on what was frozen and not judged."""
        if self._session.options.edits_lock or self._session.config.option.collectonly:
            return
        # Nothing was judged then, and what could not be read at the start cannot be read now.
        if pytest_session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        self._stopped = pytest_session.exitstatus == pytest.ExitCode.INTERRUPTED
        judged = [Path(one.folder) for one in self._judged]
        for folder in dict.fromkeys([*judged, *(suite.folder for suite in self._session.suites())]):
            self._settle(self._session.suite_at(folder))
        # A failing verdict fails its test by itself, unless the test was skipped or expected to fail.
        unmet = self._left_out or any(not one.verdict.passed for one in self._judged)
        if self._session.options.official and unmet and pytest_session.exitstatus == pytest.ExitCode.OK:
            pytest_session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def summarise(self, reporter: pytest.TerminalReporter) -> None:
        """Print the closing lines."""
        if not (self._reports or self._left_out or self._troubles):
            return
        reporter.section("pass marks", sep="=")
        width = reporter._tw.fullwidth  # noqa: SLF001  (the only public way to a terminal's width is its writer)
        for report, page in self._reports:
            for line in summary_lines(report, page=shown(page, self._session.config), width=width):
                reporter.write_line(line.text, **line.markup)
        official = self._session.options.official
        for text in self._left_out:
            wrapped = textwrap.fill(text, width, subsequent_indent="    ", break_on_hyphens=False)
            reporter.write_line(wrapped, red=official, yellow=not official)
        if self._left_out and official:
            reporter.write_line("    an official session fails on what was left out", red=True)
        for text in self._troubles:
            reporter.write_line(text, red=True)

    def _settle(self, suite: Suite) -> None:
        mine = [judged for judged in self._judged if Path(judged.folder) == suite.folder]
        self._left_out += _left_out(suite, {judged.verdict.id for judged in mine}, self._why_left_out())
        if not mine:
            return
        folder = self._session.options.report / suite.name
        try:
            occasion = self._occasion(suite, mine)
            verdicts = [judged.verdict for judged in mine]
            host, pool = self._measured_on(suite)
            report = build_report(
                verdicts,
                self._records(suite),
                occasion=occasion,
                plan=suite.plan,
                evidence=self._session.evidence_of(suite),
                host=host,
                pool=pool,
            )
            write_verdicts(folder / "verdicts.json", verdicts, occasion=occasion, host=host, pool=pool)
            write_page(folder / "index.html", report)
        except (MixgpuError, OSError) as error:
            self._troubles.append(f"mixgpu: the report of {suite.name} could not be written: {error}")
        else:
            self._reports.append((report, folder / "index.html"))

    def _measured_on(self, suite: Suite) -> tuple[HostFacts | None, Pool | None]:
        """Host and pool of this session; none where it judged records, which state their own."""
        if self._session.options.records:
            return None, None
        try:
            return host_facts(), self._session.pool_of(suite)
        except pytest.UsageError:
            return host_facts(), None

    def _why_left_out(self) -> str:
        if self._stopped:
            return "this session was stopped before"
        return "no test of this session judged it (deselected, not collected or deleted)"

    def _occasion(self, suite: Suite, mine: list[Judged]) -> Occasion:
        options = self._session.options
        return Occasion(
            suite=suite.name,
            session=self._session.id,
            made_at=datetime.now(UTC).isoformat(timespec="seconds"),
            mode="records" if options.records else "measured",
            folder=shown(options.records[0] if options.records else options.report, self._session.config),
            command=scrub_command(tuple(sys.argv)),
            titles={judged.verdict.id: judged.title for judged in mine},
            tests={judged.verdict.id: judged.test for judged in mine},
            order=tuple(judged.verdict.id for judged in mine),
        )

    def _records(self, suite: Suite) -> list[RunRecord]:
        folders = self._session.options.records or (self._session.options.report,)
        return [
            record
            for folder in folders
            if (folder / "ledger.jsonl").is_file()
            for record in RunStore(folder).records(suite.name)
        ]


def _left_out(suite: Suite, judged: set[str], why: str) -> list[str]:
    """One line for the frozen marks and claims of which this session says nothing."""
    missing = [] if suite.lock is None else missing_from(suite.lock, tuple(judged))
    return [f"UNJUDGED {', '.join(missing)}: frozen in {suite.lock_path.name}, and {why}"] if missing else []
