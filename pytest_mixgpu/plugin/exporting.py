"""What a session writes beside its page: other formats, and the page of a CI job. Imports no pytest.

A format that cannot be written is told and takes nothing away: verdicts and exit status stand without it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_mixgpu.errors import MixgpuError
from pytest_mixgpu.report.exports.registry import wanted_kinds
from pytest_mixgpu.report.exports.step_summary import VARIABLE, add_to_step_summary
from pytest_mixgpu.report.exports.summary import summary_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pytest_mixgpu.report.exports.material import Material


def export(
    material: Material, folder: Path, *, asked: Sequence[str], show: Callable[[Path], str]
) -> tuple[list[str], list[str]]:
    """Write every format that is wanted.

    Args:
        material: of the suite.
        folder: report folder of the suite.
        asked: kinds that `--passmark-export` names.
        show: writes a path as the user would type it.

    Returns:
        Where what was asked for lies, and what could not be written, a sentence each.
    """
    places: list[str] = []
    troubles: list[str] = []
    for kind in wanted_kinds(asked):
        path = folder / kind.place
        try:
            kind.write(material, path)
        except (MixgpuError, OSError) as error:
            troubles.append(f"mixgpu: {kind.name} of {folder.name} could not be written to {show(path)}: {error}")
        else:
            places += [f"{kind.name}: {show(path)}"] if kind.name in asked else []
    return places, [*troubles, *_tell_github(material)]


def _tell_github(material: Material) -> list[str]:
    """Add the summary to the page of a job on GitHub, where this session is one."""
    target = os.environ.get(VARIABLE)
    if not target:
        return []
    try:
        is_whole = add_to_step_summary(Path(target), summary_lines(material.report))
    except OSError as error:
        return [f"mixgpu: the summary could not be added to ${VARIABLE}: {error}"]
    return [] if is_whole else [f"mixgpu: the summary was cut in ${VARIABLE}: GitHub takes 1 MiB a step"]
