"""Which stage runs are of: the experiment itself, or its rehearsal on a stand-in."""

from collections.abc import Sequence

from pytest_mixgpu.records.model import RunRecord


def is_rehearsal(records: Sequence[RunRecord]) -> bool:
    """Say whether there are runs and all of them are rehearsals."""
    return bool(records) and all(record.header.rehearsal for record in records)
