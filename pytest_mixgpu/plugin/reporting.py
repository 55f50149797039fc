"""What the process that owns the terminal does with verdicts: collects, shows, writes. Imports no room by itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pytest_mixgpu.plugin.keys import SESSION

if TYPE_CHECKING:
    from pytest_mixgpu.plugin.outcome import Outcomes
    from pytest_mixgpu.plugin.trail import Trail

STATUSES = {
    "emulated": ("emulated", "E", ("EMULATED", {"yellow": True})),
    "rehearsal": ("rehearsed", "R", ("REHEARSED", {"yellow": True})),
    "exploratory": ("exploratory", "X", ("EXPLORATORY", {"yellow": True})),
}
"""Category in the closing line, letter and word of a pass with a qualifier, strongest first."""


class Reporting:
    """Registered once a session, never in an xdist worker; costs nothing until there is a verdict, or a lock."""

    def __init__(self, config: pytest.Config, trail: Trail) -> None:
        self._config = config
        self._trail = trail
        self._outcomes: Outcomes | None = None

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect the verdicts that a report carries, also from xdist's workers."""
        if getattr(report, "mixgpu_verdicts", None):
            self._open().collect(report)

    def pytest_report_teststatus(
        self, report: pytest.CollectReport | pytest.TestReport
    ) -> tuple[str, str, tuple[str, dict[str, bool]]] | None:
        """Show a pass with a qualifier under its own word: it was not the experiment."""
        verdicts = getattr(report, "mixgpu_verdicts", None)
        if not verdicts or report.outcome != "passed":
            return None
        found = {qualifier for row in verdicts for qualifier in row["verdict"]["qualifiers"]}
        return next((status for qualifier, status in STATUSES.items() if qualifier in found), None)

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Write verdicts and page, before JUnit XML is; an official session fails on what was left out."""
        folders, spoken = self._trail.locked_folders(), self._trail.spoken()
        if self._outcomes is not None or SESSION in self._config.stash or folders or spoken:
            self._open().finish(session, folders=folders, spoken=spoken)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say what was met and what was not."""
        if self._outcomes is not None:
            self._outcomes.summarise(terminalreporter)

    def pytest_unconfigure(self) -> None:
        """Leave no failure unexplained, though pytest asked for no summary."""
        reporter = self._config.pluginmanager.getplugin("terminalreporter")
        if self._outcomes is not None and reporter is not None:
            self._outcomes.say_what_fails(reporter)

    def _open(self) -> Outcomes:
        if self._outcomes is None:
            from pytest_mixgpu.plugin import open_session
            from pytest_mixgpu.plugin.outcome import Outcomes

            self._outcomes = Outcomes(open_session(self._config))
        return self._outcomes
