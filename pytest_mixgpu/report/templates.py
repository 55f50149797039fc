"""The templates of pages, and the one style of them all: from names to what fills a page that asks nobody for anything.

They lie beside this file in `page/`. jinja2 is imported when a page is made.
"""

import base64
import hashlib
from importlib.resources import files
from typing import TYPE_CHECKING

from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.sentences import asked

if TYPE_CHECKING:
    from jinja2 import Environment


def page_environment() -> "Environment":
    """Return what fills templates: every text is escaped, and a name that is not given is an error.

    The style is allowed by its hash, so that a style that slips in with a text has no effect.
    """
    from jinja2 import Environment, FunctionLoader, StrictUndefined

    environment = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=visible,
        loader=FunctionLoader(_source),
    )
    environment.filters["asked"] = asked
    css = _source("page.css")
    # Our own style sheet is the one text that is not escaped: escaping would change it and its hash.
    environment.globals["css"] = environment.filters["safe"](css)
    environment.globals["style_hash"] = base64.b64encode(hashlib.sha256(css.encode()).digest()).decode()
    return environment


def visible(value: object) -> object:
    """Neutralise each text once more on its way into a page: one that was forgotten before must not act on a reader.

    Markup is ours, and a text that was neutralised stays as it is.
    """
    if not isinstance(value, str) or hasattr(value, "__html__") or value.isprintable():
        return value
    return clean(value, limit=len(value))


def _source(name: str) -> str:
    return files("pytest_mixgpu.report").joinpath("page", name).read_text("utf-8")
