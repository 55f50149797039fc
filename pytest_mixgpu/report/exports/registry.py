"""The registry of formats: from the word that `--passmark-export` takes to what writes it, and where."""

from collections.abc import Callable, Collection, Mapping
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
    about: str
    place: str
    """Below the report folder of the suite: a file, or a folder."""
    write: Callable[[Material, Path], None]
    always: bool = False
    """Whether it is written without being asked for."""


_ALL = (
    Kind("summary", "GitHub-flavoured Markdown", "summary.md", write_summary, always=True),
    Kind("trace", "Chrome trace events, for Perfetto", "trace.json", write_trace, always=True),
    Kind("mllog", ":::MLLOG lines, a file a run", f"{FOLDER}/mllog", write_mllog),
    Kind("openmetrics", "for Prometheus' textfile collector", f"{FOLDER}/mixgpu.prom", write_openmetrics),
    Kind("in-toto", "an in-toto statement", f"{FOLDER}/verdicts.intoto.json", write_statement),
)
KINDS: Final[Mapping[str, Kind]] = {kind.name: kind for kind in _ALL}


def wanted_kinds(asked: Collection[str]) -> tuple[Kind, ...]:
    """Give what a session writes: what it was asked for, and what is always written."""
    return tuple(kind for kind in _ALL if kind.always or kind.name in asked)
