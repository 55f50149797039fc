"""Verdicts come back from `verdicts.json` whatever they hold, and what is no file of verdicts is refused in words."""

import math
from pathlib import Path

import pytest

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.report.verdict_file import read_verdicts, write_verdicts
from tests.report.made_verdicts import OCCASION, speedup


@pytest.mark.parametrize("interval", [(1.0, math.inf), (-math.inf, 2.0), (-math.inf, math.inf), (1.0, 2.0), None])
def test_an_interval_that_is_open_to_a_side_comes_back(tmp_path: Path, interval: tuple[float, float] | None) -> None:
    """JSON has no infinity; an attempt that never ended leaves one all the same."""
    path = tmp_path / "verdicts.json"
    write_verdicts(path, [speedup(interval=interval)], occasion=OCCASION)

    assert read_verdicts(path).verdicts[0].interval == interval


@pytest.mark.parametrize(
    "text", ["[" * 200_000, '{"schema": 3, "suite": ' + "[" * 200_000, '{"schema": 3, "verdicts": 7}']
)
def test_a_deep_or_odd_file_gives_a_message(tmp_path: Path, text: str) -> None:
    """It comes from a stranger."""
    path = tmp_path / "verdicts.json"
    path.write_text(text, "utf-8")

    with pytest.raises(RecordError, match=r"verdicts\.json: no verdicts could be read"):
        read_verdicts(path)
