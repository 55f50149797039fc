"""Which repeat comes next."""

import pytest

from pytest_mixgpu.plugin.repeats import first_open_bracket, first_open_repeat
from pytest_mixgpu.records.ledger import LedgerEntry


def closed(
    role: str, repeat: int, *, leg: str = "", status: str = "completed", session: str = "s1", name: str = ""
) -> LedgerEntry:
    """The close of a run."""
    return LedgerEntry(
        at="2026-10-02T00:00:00+00:00",
        event="close",
        role=role,
        name=name or role,
        leg=leg,
        repeat=repeat,
        status=status,
        session=session,
    )


BEFORE = closed("baseline", 0, leg="before")
AFTER = closed("baseline", 0, leg="after")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([], 0, id="nothing-yet"),
        pytest.param([closed("mixed", 0)], 1, id="one-done"),
        pytest.param([closed("mixed", 0, status="failed")], 0, id="failed-is-made-again"),
        pytest.param([closed("mixed", 1)], 0, id="gap-is-filled"),
        pytest.param([closed("control", 0)], 0, id="another-role"),
        pytest.param([closed("baseline", 0, leg="solo-speed", name="mixed")], 0, id="solo-speed-is-no-repeat"),
    ],
)
def test_repeat_is_open_until_completed(entries: list[LedgerEntry], expected: int) -> None:
    """A repeat is done once a run of its role was completed under its number."""
    assert expected == first_open_repeat(entries, "mixed")


@pytest.mark.parametrize(
    ("entries", "expected"),
    [
        pytest.param([BEFORE, closed("fleet", 0), AFTER], 1, id="closed"),
        pytest.param([BEFORE, closed("fleet", 0)], 0, id="no-baseline-after"),
        pytest.param([BEFORE, closed("fleet", 0, status="failed"), AFTER], 0, id="fleet-failed"),
        pytest.param(
            [BEFORE, closed("fleet", 0), closed("baseline", 0, leg="after", session="s2")], 0, id="two-sessions"
        ),
        pytest.param(
            [closed("baseline", 0, leg="solo-speed"), BEFORE, closed("fleet", 0)], 0, id="solo-speed-closes-nothing"
        ),
    ],
)
def test_bracket_is_open_until_one_session_closed_it(entries: list[LedgerEntry], expected: int) -> None:
    """A speed repeat is done once one session completed the fleet and the baseline before and after it."""
    assert expected == first_open_bracket(entries)
