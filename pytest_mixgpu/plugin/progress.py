"""Lines of progress while a long run goes, also under capture. From text to the terminal; imports no room."""

from __future__ import annotations

import textwrap
import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

QUIET_S = 2.0
"""Least time between two lines of one run, so that short rounds do not flood the terminal."""


class Progress:
    """Writes past pytest's capture, on a line of its own; silent in xdist's workers and under `-q -q`."""

    def __init__(self, config: pytest.Config) -> None:
        self._reporter: pytest.TerminalReporter | None = config.pluginmanager.getplugin("terminalreporter")
        self._capture = config.pluginmanager.getplugin("capturemanager")
        self._silent = hasattr(config, "workerinput") or config.getoption("verbose", 0) < -1
        self._last_at = 0.0
        self._last_label = ""

    def say(self, text: str) -> None:
        """Show one line, unless one of the same run was shown just now."""
        label = text.split(":", 1)[0]
        now = time.monotonic()
        if self._silent:
            return
        if label == self._last_label and now - self._last_at < QUIET_S:
            return
        self._last_at, self._last_label = now, label
        if self._capture is None:
            self._write(text)
            return
        with self._capture.global_and_fixture_disabled():
            self._write(text)

    def _write(self, text: str) -> None:
        if self._reporter is None:
            return
        width = self._reporter._tw.fullwidth  # noqa: SLF001  (the only public way to a terminal's width is its writer)
        wrapped = textwrap.fill(f"  mixgpu: {text}", width, subsequent_indent="    ", break_on_hyphens=False)
        self._reporter.ensure_newline()
        self._reporter.write_line(wrapped, light=True)
