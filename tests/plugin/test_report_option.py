"""`--mixgpu-report`: where ledger, page and verdicts go."""

import pytest

from tests.plugin.bench import Bench, prose

RECORDS = "--mixgpu-records=reports"


@pytest.mark.parametrize("name", ["reports-here", "deep/reports"])
def test_files_go_there(e1: Bench, name: str) -> None:
    """The folder is made, and the closing lines name it."""
    result = e1.pytest(RECORDS, f"--mixgpu-report={name}")

    assert 0 == result.ret
    assert {"index.html", "verdicts.json"} <= {path.name for path in (e1.folder / name / "e1").iterdir()}
    assert not (e1.folder / "reports/e1").exists()
    result.stdout.fnmatch_lines([f"page: {name}/e1/index.html"])


def test_report_that_cannot_be_written(e1: Bench) -> None:
    """Verdicts still reach the terminal, and the trouble is said."""
    e1.write("reports-file", "in the way")

    result = e1.pytest(RECORDS, "--mixgpu-report=reports-file")

    assert {"passed": 8, "rehearsed": 2} == result.parseoutcomes()
    result.stdout.fnmatch_lines(["mixgpu: the report of e1 could not be written*"])
    assert "; --mixgpu-report=DIR names another folder" in prose(result)
    result.stdout.no_fnmatch_line("page: *")
