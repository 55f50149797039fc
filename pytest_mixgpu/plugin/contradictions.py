"""Flags that contradict each other: from the parsed options to one error that names both. Imports no other room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pytest_mixgpu.plugin.options import Options


def refuse_contradictions(options: Options) -> None:
    """Refuse flags of which one asks for what another excludes.

    Raises:
        pytest.UsageError: says which, and what to leave out.
    """
    if options.records:
        for flag, value in _measuring_flags(options).items():
            if value is not None:
                raise pytest.UsageError(
                    f"--mixgpu-records judges runs that were made before, and {flag}={value} asks to make some: "
                    "leave one of them out"
                )
        for folder in options.records:
            if not (folder / "ledger.jsonl").is_file():
                raise pytest.UsageError(f"--mixgpu-records={folder}: there is no ledger.jsonl in that folder")
    if options.kinds is not None and options.launcher == "ray":
        raise pytest.UsageError(
            "--mixgpu-kinds names kinds for the devices of this machine, and --mixgpu-launcher=ray takes those of a "
            "cluster: leave one of them out"
        )
    if len(options.nonces) > 1 and not options.records:
        raise pytest.UsageError(
            "--mixgpu-nonce was given more than once, and the records of one session carry one challenge"
        )
    _refuse_around_the_lock(options)


def _refuse_around_the_lock(options: Options) -> None:
    if options.amend and not (options.why and options.why.strip()):
        raise pytest.UsageError(f"--passmark-amend={options.amend[0]} needs its reason: add --passmark-why='…'")
    if options.why is not None and not options.amend:
        raise pytest.UsageError("--passmark-why gives the reason of an amendment: add --passmark-amend=ID")
    if options.freeze + bool(options.amend) + options.plan > 1:
        raise pytest.UsageError(
            "--passmark-freeze writes new marks, --passmark-amend changes frozen ones, --passmark-plan only looks at "
            "them: one at a time"
        )
    if options.exports and options.runs_no_test:
        raise pytest.UsageError(
            f"--passmark-export={options.exports[0]} writes results, and --passmark-freeze, --passmark-amend and "
            "--passmark-plan run no test: leave one of them out"
        )


def _measuring_flags(options: Options) -> Mapping[str, object]:
    return {
        "--gpus": options.gpus,
        "--mixgpu-workload": options.workload,
        "--mixgpu-job": options.job,
        "--mixgpu-coordinator": options.coordinator,
        "--mixgpu-runs": options.runs,
        "--mixgpu-split": options.split,
        "--mixgpu-anchor": next(iter(options.anchors), None),
        "--mixgpu-host-key": options.host_key,
    }
