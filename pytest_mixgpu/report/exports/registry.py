"""The registry of formats: from the word that `--passmark-export` takes to what writes it, and where."""

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Final, NamedTuple

from pytest_mixgpu.report.exports.in_toto import write_statement
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.mllog import write_mllog
from pytest_mixgpu.report.exports.openmetrics import write_openmetrics
from pytest_mixgpu.report.exports.summary import write_summary
from pytest_mixgpu.report.exports.trace import write_trace

FOLDER: Final = "exports"
"""Below the report folder of a suite: what is written only where it was asked for."""


class Kind(NamedTuple):
    """One format."""

    name: str
    place: str
    """Below the report folder of the suite: a file, or a folder."""
    write: Callable[[Material, Path], None]
    always: bool = False
    """Whether it is written without being asked for."""


KINDS: Final = (
    Kind("summary", "summary.md", write_summary, always=True),
    Kind("trace", "trace.json", write_trace, always=True),
    Kind("mllog", f"{FOLDER}/mllog", write_mllog),
    Kind("openmetrics", f"{FOLDER}/mixgpu.prom", write_openmetrics),
    Kind("in-toto", f"{FOLDER}/verdicts.intoto.json", write_statement),
)
"""In the order in which they are written; the README says for whom each is."""


def wanted_kinds(asked: Collection[str]) -> tuple[Kind, ...]:
    """Give what a session writes: what it was asked for, and what is always written."""
    return tuple(kind for kind in KINDS if kind.always or kind.name in asked)
