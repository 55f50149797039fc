"""The command that takes a suite's verdicts again from its records: from options to one line to copy."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from pytest_mixgpu.plugin.suites import shown

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

    from pytest_mixgpu.plugin.options import Options
    from pytest_mixgpu.plugin.suites import Suite


def again_command(suite: Suite, options: Options, config: pytest.Config) -> str:
    """Write what takes the verdicts of a suite again: on the records that were judged, by the same signers and rules.

    Args:
        suite: whose verdicts are meant.
        options: of this session.
        config: of this session; where it was started decides how paths are written.
    """

    def path(place: Path) -> str:
        return shown(place, config) or "."

    words = ["pytest", path(suite.folder), *_of_pytest(config)]
    words += [f"--mixgpu-records={path(folder)}" for folder in options.records or (options.report,)]
    # Without it, the page of another session would be written over.
    if options.report != config.rootpath / "reports":
        words.append(f"--mixgpu-report={path(options.report)}")
    words += [f"--mixgpu-nonce={nonce}" for nonce in options.nonces]
    for flag, file in (("--mixgpu-signers", options.signers), ("--mixgpu-tsa-ca", options.tsa_ca)):
        words += [] if file is None else [f"{flag}={path(file)}"]
    return shlex.join([*words, *(["--mixgpu-official"] if options.official else [])])


def _of_pytest(config: pytest.Config) -> Iterator[str]:
    """Yield the flags of pytest's own that decide which files are read."""
    if config.option.inifilename:
        yield from ("-c", str(config.option.inifilename))
    if config.option.rootdir:
        yield f"--rootdir={config.option.rootdir}"
