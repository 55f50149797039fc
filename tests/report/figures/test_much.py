"""Very much is put together, said to be so, and stays small."""

from datetime import datetime

from msgspec.structs import replace

from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.figures.bounds import MAX_POINTS, mark_figures
from pytest_mixgpu.report.figures.busy import MAX_COLUMNS, MAX_ROWS
from pytest_mixgpu.report.figures.holdups import MAX_LANES, holdup_figures
from pytest_mixgpu.report.figures.phase_bars import phase_figures
from pytest_mixgpu.report.figures.placement import placement_figures
from pytest_mixgpu.report.figures.run_spread import run_figures
from pytest_mixgpu.report.figures.timeline import timeline_figures
from tests.report.figures.seen import root_of, words_of
from tests.report.made_verdicts import speedup
from tests.sample_parts import make_pool
from tests.sample_timeline import Timeline
from tests.samples import FIRST_MOMENT, as_record, make_run, make_runs


def large(num_participants: int, num_rounds: int) -> RunRecord:
    """Make a run of this size."""
    header = make_run(rehearsal=False, pool=make_pool(f"a40:{num_participants}")).header
    settings = replace(header.settings, rounds=num_rounds)
    at = datetime.fromisoformat(FIRST_MOMENT.isoformat())
    return as_record(Timeline(replace(header, settings=settings), at=at, speed=1.0).run())


def test_sixteen_participants_and_a_hundred_rounds_are_all_drawn() -> None:
    """Each lane of them, in less than 400 kB."""
    run = large(16, 100)
    figure = timeline_figures([run])[0]

    assert len(figure.svg) < 400_000
    assert len(figure.table.rows) == 101
    assert "15 · a40" in words_of(figure)
    assert any("too narrow to be seen" in note for note in figure.notes)


def test_more_are_put_together_in_a_heat_map() -> None:
    """Every round and participant is in one cell, and the figure says how many are in one."""
    run = large(120, 30)
    figure = timeline_figures([run])[0]
    names = [row[0] for row in figure.table.rows]

    assert len(figure.table.rows) <= MAX_ROWS
    assert len(figure.table.head) <= MAX_COLUMNS + 1
    assert (names[0][:4], names[-1][-3:]) == ("0 to", "119")
    assert any("A cell is the mean of" in note for note in figure.notes)
    assert len(figure.svg) < 250_000
    shown = [float(cell.removesuffix(" %")) for row in figure.table.rows for cell in row[1:]]
    idle = [
        1 - sum(one.duration_s for one in lane if one.phase == "compute") / sum(one.duration_s for one in lane)
        for line in run.rounds
        for lane in line.segments
    ]
    assert 100 * min(idle) - 0.1 <= min(shown) <= max(shown) <= 100 * max(idle) + 0.1


def test_lanes_of_many_participants_are_few_and_tell_the_extremes() -> None:
    """The quickest and the slowest, those that rounds waited for, the slowest link of each host."""
    run = large(60, 3)
    phases, holdups, places = phase_figures([run])[0], holdup_figures([run])[0], placement_figures([run])[0]

    assert any(f"{MAX_LANES} of 60 participants" in note for note in phases.notes)
    assert any("of 60" in note for note in holdups.notes)
    assert any("60 participants are put together by host" in note for note in places.notes)
    assert [len(one.table.rows) for one in (phases, holdups, places)] == [60, 60, 60]
    assert "60 participants" in words_of(places)


def test_many_runs_share_a_lane_by_role() -> None:
    """None is left out: their number stands in each row."""
    runs = [as_record(run) for run in make_runs(repeats=6)]
    figure = run_figures(runs)[0]

    assert len(figure.table.rows) == 8
    assert {row[1] for row in figure.table.rows} == {"6 completed"}
    assert figure.title.startswith("48 runs registered, all completed")


def test_many_values_of_a_mark_are_thinned_with_their_extremes() -> None:
    """The table is cut as well, and says so."""
    values = tuple(1.0 + index / 1000 for index in range(900))
    figure = mark_figures([speedup(run_values=values, n=900)])[0]
    points = [one for one in root_of(figure).iter() if one.tag.endswith("}path")]

    assert len(points) <= MAX_POINTS + 20
    assert any(f"{MAX_POINTS} of 900 values are drawn" in note for note in figure.notes)
    assert any("400 of 902 rows" in note for note in figure.notes)
