"""How far a run is, in words that fit beside the name of the run."""

import msgspec
import pytest

from pytest_mixgpu.jobs.progress import describe_round, describe_start
from pytest_mixgpu.records.model import RoundLine
from tests.fakes import FakeJob
from tests.jobs.made_jobs import made_header


def _lines(count: int, *, round_s: float, samples: int) -> list[RoundLine]:
    job = FakeJob(num_rounds=count, round_s=round_s)
    made = [job.run_round(index) for index in range(count)]
    return [msgspec.structs.replace(line, samples=(samples,)) for line in made]


def _say(count: int, *, num_devices: int = 1, rounds: int = 6, warmup_rounds: int = 1) -> str:
    settings = made_header(rounds=rounds, warmup_rounds=warmup_rounds).settings
    lines = _lines(count, round_s=0.61, samples=7625)
    return describe_round(lines, settings, num_rounds=num_devices * (rounds + warmup_rounds))


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "warm-up 1 of 1: 0.61 s, 12,500 samples/s, 4 s left"),
        (2, "round 1 of 6: 0.61 s, 12,500 samples/s, 3 s left"),
        (6, "round 5 of 6: 0.61 s, 12,500 samples/s, 1 s left"),
        (7, "round 6 of 6: 0.61 s, 12,500 samples/s, 0 s left"),
    ],
)
def test_warm_ups_are_counted_apart(count: int, expected: str) -> None:
    """The number of a measured round is the one that tables give it."""
    assert expected == _say(count)


@pytest.mark.parametrize(
    ("count", "expected"),
    [
        (1, "device 1 of 2, warm-up 1 of 1: 0.61 s, 4 s left"),
        (4, "device 1 of 2, round 3 of 3: 0.61 s, 2 s left"),
        (5, "device 2 of 2, warm-up 1 of 1: 0.61 s, 2 s left"),
        (8, "device 2 of 2, round 3 of 3: 0.61 s, 0 s left"),
    ],
    ids=["first", "last of the first", "first of the second", "last"],
)
def test_devices_that_are_measured_in_turn_count_for_themselves(count: int, expected: str) -> None:
    """A solo baseline says which device has its turn, and the time left is that of all of them."""
    assert expected == _say(count, num_devices=2, rounds=3)


def test_a_run_without_warm_up_has_rounds_only() -> None:
    """Nothing is called a warm-up that is none."""
    assert _say(1, warmup_rounds=0).startswith("round 1 of 6: ")


@pytest.mark.parametrize("num_devices", [1, 16], ids=["one", "sixteen in turn"])
def test_a_line_leaves_room_for_the_name_of_its_run(num_devices: int) -> None:
    """About fifty columns and no more, also with two digits for every count."""
    said = [_say(count, num_devices=num_devices, rounds=20) for count in range(1, num_devices * 21 + 1)]

    assert max(map(len, said)) <= 52


@pytest.mark.parametrize(
    ("number", "expected"), [(1, "starting 1 participant"), (16, "starting 16 participants")], ids=["one", "many"]
)
def test_the_start_says_for_whom_there_is_a_wait(number: int, expected: str) -> None:
    """Short, since the name of the run may be long."""
    assert expected == describe_start(number)
