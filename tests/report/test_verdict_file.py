"""Verdicts come back from `verdicts.json` whatever they hold, and what is no file of verdicts is refused in words."""

import math
from pathlib import Path

import pytest

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.report.sanitise import clean
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


def test_hostile_text_comes_back_and_gives_no_order_to_who_prints_the_file(tmp_path: Path) -> None:
    """Escapes, overrides and invisible characters are written as JSON can; all else stays readable."""
    text = "\x1b[2J\x9b31m\u202egnp.exe\u2066\u200b\x7f\x00\U000e0041 µs, 2 ² 3 \U0001f600"
    path = tmp_path / "verdicts.json"
    write_verdicts(path, [speedup(reason=text, details=(text,))], occasion=OCCASION)

    raw = path.read_text("utf-8")
    assert all(clean(line) == line for line in raw.splitlines())
    assert "µs, 2 ² 3 \U0001f600" in raw
    assert (text, (text,)) == (read_verdicts(path).verdicts[0].reason, read_verdicts(path).verdicts[0].details)
