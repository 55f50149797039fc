"""From a comparison to one self-contained page: no script, no request to anywhere, every text escaped.

jinja2 is imported when a page is made.
"""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from pytest_mixgpu.report.comparison.model import Comparison
from pytest_mixgpu.report.sentences import asked
from pytest_mixgpu.report.whole_files import replace_file


def render_comparison(comparison: Comparison) -> str:
    """Fill the page. Its style is that of a report, and allowed by its hash alone."""
    from jinja2 import Environment, StrictUndefined

    folder = files("pytest_mixgpu.report").joinpath("page")
    css = folder.joinpath("page.css").read_text("utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["asked"] = asked
    # Our own style sheet is the one text that is not escaped: escaping would change it and its hash.
    environment.globals["css"] = environment.filters["safe"](css)
    template = environment.from_string(folder.joinpath("compare.html").read_text("utf-8"))
    style_hash = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return template.render(it=comparison, sections=_sections(comparison), style_hash=style_hash)


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
