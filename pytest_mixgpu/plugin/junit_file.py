"""What the process that owns the terminal adds to pytest's JUnit XML, also under xdist, before it is written.

The fixture `record_testsuite_property` has no effect in xdist's workers, so that the suites' properties come from here.
The schema of Jenkins' xUnit plugin, which `junit_family=xunit2` (pytest's default) is for, knows no properties of a
test: there they stand with the suite, and a test says the same in sentences, in its `system-out`.
"""

from __future__ import annotations

import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING, Literal

import pytest
from _pytest.junitxml import xml_key

from pytest_mixgpu.report.junit import PREFIX, SENTENCE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from _pytest.junitxml import LogXML


class JunitFile:
    """The XML file of this session.

    Args:
        log: of pytest.
    """

    def __init__(self, log: LogXML) -> None:
        self._log = log

    @classmethod
    def of(cls, config: pytest.Config) -> JunitFile | None:
        """Return the file that this process will write, if any."""
        log = config.stash.get(xml_key, None)
        return None if log is None else cls(log)

    @property
    def is_strict(self) -> bool:
        """Whether a test may have no properties of its own."""
        return self._log.family == "xunit2"

    def add_suite(self, rows: Sequence[tuple[str, str]]) -> None:
        """Add properties to the suite."""
        for name, value in rows:
            self._log.add_global_property(name, value)

    def add_case(self, nodeid: str, text: str, *, outcome: Literal["failed", "skipped"]) -> None:
        """Add what no test said: a reader of this file alone must not take the session for a success."""
        place = nodeid.partition("::")[0]
        longrepr = text if outcome == "failed" else (place, 0, text)
        for when, ended, said in (("call", outcome, longrepr), ("teardown", "passed", None)):
            report = pytest.TestReport(nodeid, (place, None, nodeid), {}, ended, said, when)  # type: ignore[arg-type]
            self._log.pytest_runtest_logreport(report)

    def tell_in_sentences(self) -> None:
        """Let each test say its verdicts in `system-out`, and take from it what the schema does not allow."""
        for reporter in self._log.node_reporters_ordered:
            _tell(reporter.to_xml(), is_strict=self.is_strict)


def _tell(case: ET.Element, *, is_strict: bool) -> None:
    held = case.find("properties")
    mine = [] if held is None else [one for one in held if one.get("name", "").startswith(PREFIX)]
    if held is None or not mine:
        return
    said = "\n".join(one.get("value", "") for one in mine if one.get("name", "").endswith(SENTENCE))
    out = case.find("system-out")
    if out is None:
        out = ET.SubElement(case, "system-out")
    out.text = "\n".join(text for text in (said, out.text) if text)
    if not is_strict:
        return
    for one in mine:
        held.remove(one)
    if not len(held):
        case.remove(held)
