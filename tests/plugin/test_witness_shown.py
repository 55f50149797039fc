"""What git shows of a mark and what it cannot: on the terminal with -v, on the page, in verdicts.json and in JUnit."""

import re

from markupsafe import escape

from pytest_mixgpu.marks.witnessed import CANNOT_SHOW
from tests.judging import COMMITTED_AT
from tests.plugin.bench import Bench, prose
from tests.plugin.suite_texts import VALUE

RECORDS = "--mixgpu-records=reports"
LATE = "2026-11-29T23:00:00+00:00"


def test_every_frozen_mark_has_its_witness_wherever_its_verdict_is(e1: Bench) -> None:
    """Commit, dates and limits, also of those that passed."""
    result = e1.pytest(RECORDS, "-v", "--junitxml=made.xml")
    verdicts, page = e1.verdicts(), (e1.folder / "reports" / "e1" / "index.html").read_text("utf-8")

    xml = (e1.folder / "made.xml").read_text("utf-8")
    made = re.search('<property name="mixgpu.e1.e1-speedup.witness" value="([^"]*)"', xml)

    assert made is not None
    assert 12 == len(verdicts)
    for verdict in verdicts.values():
        assert any(f"committer's date {COMMITTED_AT}" in text for text in verdict.witness), verdict
        assert CANNOT_SHOW in verdict.witness
    assert CANNOT_SHOW in made[1]
    assert "Who can say when" in page
    assert all(escape(text) in page for verdict in verdicts.values() for text in verdict.witness)
    assert CANNOT_SHOW in prose(result)


def test_a_lock_that_was_committed_late_is_named(e1: Bench) -> None:
    """The claim about recording first fails; each mark says it among its details."""
    e1.git("commit", "--quiet", "--amend", "--no-edit", "--date", COMMITTED_AT, date=LATE)
    e1.pytest(RECORDS)
    verdicts = e1.verdicts()

    assert "FAIL" == verdicts["e1-recorded-first"].word
    assert any("committed after the first run" in text for text in verdicts["e1-speedup"].details)


def test_a_number_has_a_witness_too(bench: Bench) -> None:
    """No run of a ledger stands behind it; since when its mark is as it is, git says all the same."""
    bench.write("test_latency.py", VALUE)
    bench.freeze()
    result = bench.pytest("--gpus=cpu:1", "-v")
    (verdict,) = bench.verdicts(bench.folder.name).values()

    assert "brought its present value" in verdict.witness[0]
    assert "no run of a ledger stands behind this verdict" in verdict.witness[1]
    assert "witness of latency:" in prose(result)
