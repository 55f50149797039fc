"""A very long run reads like any other, whether its rounds are held as values or made of their bytes again."""

import pytest

from pytest_mixgpu.errors import RecordError
from pytest_mixgpu.records.assemble import assemble
from pytest_mixgpu.records.codec import encode
from pytest_mixgpu.records.long_rounds import LongRounds
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.sections.phases import phase_table
from pytest_mixgpu.report.sections.runs import run_rows
from tests.samples import MadeRun, make_run


@pytest.fixture(scope="module")
def run() -> MadeRun:
    return make_run(role="fleet")


def read(run: MadeRun, *, budget: int) -> RunRecord:
    lines = [*run.lines(), *([run.outcome] if run.outcome else [])]
    return assemble((encode(line) + b"\n" for line in lines), budget=budget)


@pytest.mark.parametrize("budget", [0, 2, 7, 13])
def test_rounds_are_the_same_beyond_the_budget(run: MadeRun, budget: int) -> None:
    """Two participants a round, seven rounds: none, one, three and six of them are held."""
    usual, long = read(run, budget=14), read(run, budget=budget)

    assert isinstance(usual.rounds, tuple)
    assert isinstance(long.rounds, LongRounds)
    assert tuple(long.rounds) == usual.rounds
    assert [long.rounds[0], long.rounds[-1], *long.rounds[2:4]] == [
        usual.rounds[0],
        usual.rounds[-1],
        *usual.rounds[2:4],
    ]
    assert (len(long.rounds), len(long.measured_rounds)) == (7, 6)
    assert tuple(long.measured_rounds) == usual.measured_rounds
    assert long.digest == usual.digest
    with pytest.raises(IndexError):
        long.rounds[7]


def test_what_is_said_of_a_run_does_not_hang_on_the_budget(run: MadeRun) -> None:
    """Rows and phases are made of the same rounds."""
    usual, long = read(run, budget=14), read(run, budget=3)

    assert run_rows([usual], (), {}) == run_rows([long], (), {})
    assert phase_table(usual) == phase_table(long)


def test_a_line_is_checked_when_it_is_read(run: MadeRun) -> None:
    """Not when somebody looks at it: beyond the budget, too, a key that occurs twice is refused."""
    lines = [encode(line).replace(b'"warmup":', b'"index":3,"warmup":') + b"\n" for line in run.lines()]

    with pytest.raises(RecordError, match="the key 'index' twice"):
        assemble(lines, budget=0)
