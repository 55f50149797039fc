"""The end of a session: from collected verdicts to a report for each suite, closing lines and the exit status."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.official import official_refusal
from pytest_mixgpu.plugin.junit_file import JunitFile
from pytest_mixgpu.plugin.left_out import left_out_of
from pytest_mixgpu.plugin.suite_report import SuiteReport
from pytest_mixgpu.report.sanitise import clean_for_log
from pytest_mixgpu.report.terminal import wrapped
from pytest_mixgpu.report.verdict_rows import gravest_word

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pytest_mixgpu.plugin.session import MixgpuSession
    from pytest_mixgpu.plugin.suites import Suite


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
        self._judged: dict[str, list[Judged]] = {}
        """By test."""
        self._flipped: set[str] = set()
        """Tests that were reported as passed with a verdict that fails: a hook of somebody's came after ours."""
        self._reports: list[SuiteReport] = []
        self._junit = JunitFile.of(session.config)
        self._exported: list[str] = []
        self._left_out: list[str] = []
        self._troubles: list[str] = []
        self._stopped = False
        self._was_summarised = False

    def collect(self, report: pytest.TestReport) -> None:
        """Take the verdicts off a report; a test that is run again reports all that fell so far."""
        rows: list[dict[str, Any]] = report.mixgpu_verdicts  # set by opinions.attach
        self._judged[report.nodeid] = [_judged(row) for row in rows]
        if report.outcome == "passed" and not all(one.verdict.passed for one in self._judged[report.nodeid]):
            self._flipped.add(report.nodeid)

    def finish(
        self, pytest_session: pytest.Session, *, folders: Sequence[Path], spoken: Mapping[str, list[dict[str, Any]]]
    ) -> None:
        """Write the files of each suite; an official session fails on what was frozen and not judged.

        Args:
            pytest_session: whose exit status is set.
            folders: with a lock, that this session was asked to run.
            spoken: the verdicts that fell, by test.
        """
        if self._session.options.runs_no_test or self._session.config.option.collectonly:
            return
        # Nothing was judged then, and what could not be read at the start cannot be read now.
        if pytest_session.exitstatus == pytest.ExitCode.USAGE_ERROR:
            return
        self._stopped = pytest_session.exitstatus == pytest.ExitCode.INTERRUPTED or bool(
            pytest_session.shouldfail or pytest_session.shouldstop
        )
        unreported = self._take_over(spoken)
        if self._junit is not None:
            self._junit.tell_in_sentences()
        judged = [Path(one.folder) for one in self._all()]
        for folder in dict.fromkeys([*judged, *(suite.folder for suite in self._session.suites()), *folders]):
            self._settle(self._session.suite_at(folder))
        # A failing verdict fails its test by itself, unless the test was skipped or expected to fail.
        unmet = self._left_out or any(not one.verdict.passed for one in self._all())
        fails = unreported or (self._session.options.official and unmet)
        # What was asked to end pytest early may have asked for the status of a success, too.
        if fails and pytest_session.exitstatus in {pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED}:
            pytest_session.exitstatus = pytest.ExitCode.TESTS_FAILED

    def say_what_fails(self, reporter: pytest.TerminalReporter) -> None:
        """Say why a session that had no summary failed, since no test of it need have failed.

        Before 9.1 pytest asks nobody for a summary under `--no-summary`, and after an internal error it never does.
        """
        if not self._was_summarised:
            self._write_left_out(reporter)

    def _take_over(self, spoken: Mapping[str, list[dict[str, Any]]]) -> bool:
        """Take verdicts that no report carried: whoever dropped the report cannot drop them. Say if any fails."""
        fails = False
        for test, rows in spoken.items():
            found = [_judged(row) for row in rows]
            if found == self._judged.get(test) and test not in self._flipped:
                continue
            self._judged[test] = found
            failing = [one.verdict.id for one in found if not one.verdict.passed]
            if failing:
                fails = True
                text = (
                    f"mixgpu: {test} was not reported as it was judged ({', '.join(failing)} failed): a plugin or hook "
                    "ran it again or changed its report, or it ended the session; what was judged stands"
                )
                self._troubles.append(text)
                if self._junit is not None:
                    self._junit.add_case(f"{test} (as it was judged)", clean_for_log(text), outcome="failed")
        return fails

    def _all(self) -> list[Judged]:
        return [one for found in self._judged.values() for one in found]

    def summarise(self, reporter: pytest.TerminalReporter) -> None:
        """Print the closing lines; under `--no-summary` those that no exit status tells."""
        self._was_summarised = True
        if not (self._reports or self._left_out or self._troubles):
            return
        config = self._session.config
        verbosity = min(config.get_verbosity(), -2) if config.option.no_summary else config.get_verbosity()
        reporter.section("pass marks", sep="=")
        for report in self._reports:
            for line in report.lines(width=_width(reporter), verbosity=verbosity):
                reporter.write_line(line.text, **line.markup)
        for text in self._exported:
            reporter.write_line(text)
        self._write_left_out(reporter)

    def _write_left_out(self, reporter: pytest.TerminalReporter) -> None:
        official = self._session.options.official
        for text in (*self._refused(), *self._left_out, *self._troubles):
            is_warning = text in self._left_out and not official
            for line in wrapped(text, _width(reporter)):
                reporter.write_line(line, red=not is_warning, yellow=is_warning)
        if self._left_out and official:
            reporter.write_line("    an official session fails on what was left out", red=True)

    def _refused(self) -> list[str]:
        """What was met and is not enough for an official session, a sentence for each reason."""
        if not self._session.options.official:
            return []
        ids: dict[str, list[str]] = {}
        for verdict in (one.verdict for one in self._all() if one.verdict.passed):
            refusal = official_refusal(verdict)
            if refusal:
                ids.setdefault(refusal, []).append(verdict.id)
        return [f"REFUSED by --mixgpu-official: {', '.join(found)}: {refusal}" for refusal, found in ids.items()]

    def _settle(self, suite: Suite) -> None:
        mine = [judged for judged in self._all() if Path(judged.folder) == suite.folder]
        try:
            left_out = left_out_of(suite.lock, {judged.verdict.id for judged in mine}, why=self._why_left_out())
            if left_out:
                ids = ", ".join(verdict.id for verdict in left_out)
                self._left_out.append(f"{gravest_word(left_out)} {ids}: {left_out[0].reason}")
            if mine or left_out:
                self._report(SuiteReport(self._session, suite, mine, left_out), is_told=bool(mine))
        except (MixgpuError, OSError) as error:
            self._troubles.append(
                f"mixgpu: the report of {suite.folder.name} could not be written: {error}; --mixgpu-report=DIR names "
                "another folder"
            )

    def _report(self, report: SuiteReport, *, is_told: bool) -> None:
        if self._junit is not None:
            report.tell_junit(self._junit)
        if is_told:
            # Before anything is written: what cannot be written takes nothing from what is said.
            self._reports.append(report)
        places, troubles = report.export()
        self._exported += places
        self._troubles += troubles
        report.write()

    def _why_left_out(self) -> str:
        if self._stopped:
            return "this session was stopped before"
        return "no test of this session judged it (deselected, ignored, skipped whole, renamed or deleted)"


def _width(reporter: pytest.TerminalReporter) -> int:
    return reporter._tw.fullwidth  # noqa: SLF001  (the only public way to a terminal's width is its writer)


def _judged(row: dict[str, Any]) -> Judged:
    return Judged(
        verdict=msgspec.convert(row["verdict"], Verdict), folder=row["folder"], test=row["test"], title=row["title"]
    )
