"""How an attempt ended, in one sentence."""

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.beside import why_unfinished
from tests.sample_doctors import as_failed
from tests.samples import as_record, make_runs


@pytest.mark.parametrize(
    ("worker", "device", "who"),
    [("participant-1", "cpu:h:1", "participant-1 on cpu:h:1"), ("coordinator", "", "coordinator")],
)
def test_a_fault_names_who_and_where(worker: str, device: str, who: str) -> None:
    """A participant is named with its device; a coordinator has none, and no gap is left for it."""
    record = as_record(as_failed(make_runs(repeats=1)[0], after_rounds=2))
    fault = replace(record.faults[0], worker=worker, device=device, host="h", phase="open", round_index=2)

    said = why_unfinished(replace(record, faults=(fault,)))

    assert said.endswith(f"({who}, host h, phase open, round 2)")
