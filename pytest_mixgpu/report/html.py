"""From a report to one self-contained page: no script, no request to anywhere, every text escaped.

The look lies beside this file in `page.html` and `page.css`. jinja2 is imported when a page is made.
"""

import base64
import hashlib
from importlib.resources import files
from pathlib import Path

from pytest_mixgpu import units
from pytest_mixgpu.report.model import Report
from pytest_mixgpu.report.verdicts import replace_file
from pytest_mixgpu.timing.model import PHASES


def render_page(report: Report) -> str:
    """Fill the page. The style is allowed by its hash, so that a style that slips in with a text has no effect."""
    from jinja2 import Environment, StrictUndefined

    here = files("pytest_mixgpu.report")
    css = here.joinpath("page.css").read_text("utf-8")
    style_hash = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["moment"] = units.format_moment
    template = environment.from_string(here.joinpath("page.html").read_text("utf-8"))
    # Our own style sheet is the one text that is not escaped: escaping would change it and its hash.
    environment.globals["css"] = environment.filters["safe"](css)
    return template.render(report=report, phases=PHASES, style_hash=style_hash)


def write_page(path: Path, report: Report) -> None:
    """Write the page; a reader never sees half of it."""
    replace_file(path, render_page(report).encode("utf-8", "backslashreplace"))
