"""The page of shared memory on which a worker shows what it does."""

import os
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_mixgpu.launch.board import Board


@pytest.fixture
def ends() -> Iterator[tuple[Board, Board]]:
    """The writer's and the reader's view of one page."""
    fd = Board.open_page()
    writer, reader = Board(fd), Board(fd)
    os.close(fd)
    yield writer, reader
    writer.close()
    reader.close()


def test_an_unused_page_says_nothing(ends: tuple[Board, Board]) -> None:
    """Before its first word a worker has neither status nor heartbeat."""
    _, reader = ends

    assert (None, None) == (reader.read(), reader.beat_s)


def test_the_last_word_is_read(ends: tuple[Board, Board]) -> None:
    """A status replaces the one before it, and a heartbeat leaves it alone."""
    writer, reader = ends
    writer.write(phase="compute", round_index=0)
    writer.write(phase="evaluate", round_index=None)
    writer.beat()

    status = reader.read()

    assert status is not None
    assert ("evaluate", None, False) == (status.phase, status.round_index, status.awaits_supervisor)
    assert reader.beat_s is not None


def test_waiting_for_the_supervisor_keeps_phase_and_round(ends: tuple[Board, Board]) -> None:
    """Whose turn it is stands beside what the worker does."""
    writer, reader = ends
    writer.write(phase="compute", round_index=4)
    writer.await_supervisor(waiting=True)

    status = reader.read()

    assert status is not None
    assert ("compute", 4, True) == (status.phase, status.round_index, status.awaits_supervisor)


@given(phases=st.lists(st.text(min_size=1, max_size=300), min_size=1, max_size=4), round_index=st.integers(0, 2**62))
def test_any_phase_is_readable(phases: list[str], round_index: int) -> None:
    """Long and strange names are cut, never an error, and never leave bytes of the one before."""
    fd = Board.open_page()
    board = Board(fd)
    os.close(fd)
    for phase in phases:
        board.write(phase=phase, round_index=round_index)

    status = board.read()
    board.close()

    assert status is not None
    assert phases[-1].encode()[:100].decode(errors="ignore")[:20] == status.phase[:20]
    assert round_index == status.round_index


def test_the_end_is_declared_beside_what_was_said(ends: tuple[Board, Board]) -> None:
    """The supervisor's one word reaches the worker, and leaves the worker's own words alone."""
    worker, supervisor = ends
    worker.write(phase="compute", round_index=4)
    worker.beat()
    before = (supervisor.read(), supervisor.beat_s)
    is_over = [worker.is_over]
    supervisor.declare_over()
    is_over.append(worker.is_over)

    assert [False, True] == is_over
    assert before == (supervisor.read(), supervisor.beat_s)
