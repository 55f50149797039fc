"""A user's function in real workers: rounds, phases and scores are taken, and its faults are told."""

import functools
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.jobs.instruments import Instruments
from pytest_mixgpu.launch.local import LocalLauncher
from pytest_mixgpu.launch.protocol import Limits
from pytest_mixgpu.timing.model import PHASES
from tests.jobs import own_jobs
from tests.jobs.test_own_checked import own_header, run_own


@pytest.fixture(scope="module")
def bare_launcher() -> Iterator[LocalLauncher]:
    with LocalLauncher(preload=()) as launcher:
        yield launcher


def test_rounds_without_and_with_instruments(bare_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Those that are judged show compute and wait; the instrumented ones come after the score and show phases."""
    told: list[str] = []
    run = run_own(tmp_path, own_jobs.in_workers, bare_launcher, progress=told.append)

    assert "completed" == run.status, run.outcome
    assert [False, False, False, True, True] == [line.instrumented for line in run.rounds]
    assert [1, 2] == [line.index for line in run.measured_rounds]
    assert run.test is not None
    assert (2, 384) == (run.test.after_round, run.test.samples_seen)
    for line in run.rounds:
        phases = {segment.phase for segment in line.segments[0]}
        assert {"compute"} == phases - ({"send", "wait"} if line.instrumented else {"wait"})
    last = run.rounds[-1]
    for moved_s, segments in zip(last.communication_s, last.segments, strict=True):
        exposed_s = sum(one.duration_s for one in segments if one.phase == "send")
        assert moved_s is not None
        assert moved_s > exposed_s > 0
    assert () == run.rounds[1].communication_s
    assert [text for text in told if "instrumented round 2 of 2" in text and "times" in text]
    assert run.rounds[0].train_loss == (None, None)


def test_a_baseline_works_in_turn(bare_launcher: LocalLauncher, tmp_path: Path) -> None:
    """Each device has its schedule, alone; there is nothing to tell apart, so no instruments."""
    header = own_header(exchange="none", to_finish=False, evaluate_every=0)
    run = run_own(tmp_path, own_jobs.in_workers, bare_launcher, header=header)

    assert "completed" == run.status, run.outcome
    assert [(0,), (0,), (0,), (1,), (1,), (1,)] == [line.participants for line in run.rounds]
    assert [True, False, False] * 2 == [line.warmup for line in run.rounds]
    assert all(cpu_s is not None for line in run.rounds for cpu_s in line.compute_cpu_s)


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        ("returns", "it has to call context.serve"),
        ("without_opening", "serve() was called before opened()"),
        ("meets_alone", "the first worker opened without calling rendezvous()"),
        ("raises", "the gradient blew up"),
        ("answers_too_few", "20 of 20 right, the validation split has 40"),
        ("works_less", "samples (32, 32), expected (64, 64)"),
        ("no_phase", "no phase is called 'forward'"),
        ("not_there", "not_there"),
    ],
)
def test_a_faulty_function_is_a_failed_run(bare_launcher: LocalLauncher, tmp_path: Path, fault: str, said: str) -> None:
    """The run says what was wrong, and ends."""
    run = run_own(
        tmp_path,
        functools.partial(own_jobs.in_faulty_workers, fault),
        bare_launcher,
        limits=Limits(heartbeat_s=10.0, progress_s=20.0, grace_s=1.0),
    )

    assert "failed" == run.status
    assert run.outcome is not None
    assert said in run.outcome.reason


class Steps:
    """A clock that is told what it shows."""

    name = "wall"

    def __init__(self, at_s: list[float]) -> None:
        self._at_s = iter(at_s)

    def now_s(self) -> float:
        return next(self._at_s)


@given(
    steps=st.lists(st.tuples(st.sampled_from(PHASES), st.floats(0, 10)), max_size=20),
    late_s=st.floats(0, 5),
    early_s=st.floats(0, 50),
)
def test_phases_always_add_up(steps: list[tuple[str, float]], late_s: float, early_s: float) -> None:
    """Whatever is marked when, the segments join and add up to the round."""
    at_s = [100.0]
    for _, length_s in steps:
        at_s.append(at_s[-1] + length_s)
    instruments = Instruments(Steps(at_s), on=True)
    for phase, _ in steps:
        instruments.enter(phase)  # type: ignore[arg-type]
    end_s = max(0.001, at_s[-1] - 100.0 - early_s)
    close_s = end_s + late_s

    segments = instruments.segments(end_s=end_s, close_s=close_s)

    assert sum(one.duration_s for one in segments) == pytest.approx(close_s)
    assert all(
        one.start_s + one.duration_s == pytest.approx(two.start_s) and one.phase != two.phase
        for one, two in pairwise(segments)
    )


def test_without_instruments_no_clock_is_read() -> None:
    """Marks in a round that is timed cost nothing: one look at the clock when it begins, and no more."""
    instruments = Instruments(Steps([1.0]), on=False)
    with instruments.phase("send"):
        instruments.moving()()
    instruments.enter("return")

    assert () == instruments.segments(end_s=1.0, close_s=1.0)
    assert instruments.communication_s(end_s=1.0) is None
