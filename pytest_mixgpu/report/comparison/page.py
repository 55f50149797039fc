"""From a comparison to one self-contained page: no script, no request to anywhere, every text escaped.

jinja2 is imported when a page is made, by `templates`.
"""

from pathlib import Path

from pytest_mixgpu.report.comparison.model import Comparison
from pytest_mixgpu.report.templates import page_environment
from pytest_mixgpu.report.whole_files import replace_file


def render_comparison(comparison: Comparison) -> str:
    """Fill the page."""
    template = page_environment().get_template("compare.html")
    return template.render(it=comparison, sections=_sections(comparison))


def _sections(comparison: Comparison) -> dict[str, str]:
    """Name the sections that have something to show, in the order of the page, by their anchors."""
    found = {"sides": "The two sessions"}
    if any(not row.is_claim for row in comparison.marks):
        found["marks"] = "Pass marks"
    if any(row.is_claim for row in comparison.marks):
        found["claims"] = "Claims"
    return found | {"facts": "What differs around them", "not-shown": "What this does not show"}


def write_comparison(path: Path, comparison: Comparison) -> None:
    """Write the page; a reader never sees half of it."""
    replace_file(path, render_comparison(comparison).encode("utf-8", "backslashreplace"))
