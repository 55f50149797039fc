"""What is too long to read is put together, and what is left out is counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from pytest_mixgpu.records.model import HostFacts, RunRecord
from pytest_mixgpu.report.fold import folded, numbered
from pytest_mixgpu.report.model import PhaseRow, PhaseTable, Table
from pytest_mixgpu.report.sections.conditions import conditions_section
from pytest_mixgpu.report.sections.environment import departing, environment_section
from pytest_mixgpu.report.sections.phases import as_table
from pytest_mixgpu.report.sections.placement import placement_section
from tests.report.made_verdicts import records
from tests.sample_doctors import with_settings, with_start
from tests.sample_parts import make_host, make_pool
from tests.samples import as_record, e1_plan, make_run


def table(num_rows: int) -> Table:
    return Table(
        head=("n",), rows=tuple((str(number),) for number in range(num_rows)), marked=((0, 0), (num_rows - 1, 0))
    )


@given(st.integers(1, 300), st.integers(2, 120))
def test_a_table_keeps_its_ends_and_counts_the_rest(num_rows: int, limit: int) -> None:
    """Whatever its length; marks stay at their cells."""
    whole = table(num_rows)
    found = folded(whole, limit=limit)

    assert len(found.rows) == min(num_rows, limit)
    assert (found.rows[0], found.rows[-1]) == (whole.rows[0], whole.rows[-1])
    assert found.marked == ((0, 0), (len(found.rows) - 1, 0))
    assert (f"{num_rows - limit:,} of {num_rows:,} rows" in found.note) == (num_rows > limit)


@pytest.mark.parametrize(
    ("numbers", "expected"), [((), ""), ((3,), "3"), ((2, 0, 1), "0-2"), ((0, 1, 3, 7, 8), "0-1, 3, 7-8")]
)
def test_neighbours_are_written_as_a_range(numbers: tuple[int, ...], expected: str) -> None:
    """A thousand participants are a few characters."""
    assert expected == numbered(numbers)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (("a", "b", "a", "a"), [2]),
        (("a", "b"), [1, 2]),
        (("a", "b", "c", "a", "b"), [1, 2, 3, 4, 5]),
    ],
)
def test_what_departs_from_most_is_marked(cells: tuple[str, ...], expected: list[int]) -> None:
    """Where nothing is most, everything is."""
    assert [(0, column) for column in expected] == list(departing([("name", *cells)]))


def with_shares(shares: tuple[int, ...]) -> RunRecord:
    """Make the record of a fleet in which participants have these local steps."""
    plan = e1_plan()
    assert plan.rehearsal is not None
    settings = replace(plan.rehearsal.settings, round_steps=sum(shares), rounds=1)
    plan = replace(plan, rehearsal=replace(plan.rehearsal, settings=settings))
    run = make_run(role="fleet", plan=plan, pool=make_pool(f"cpu:{len(shares)}"))
    return as_record(with_settings(run, shares=shares))


def with_hosts(*hosts: HostFacts) -> list[RunRecord]:
    return [as_record(with_start(make_run(role="fleet"), hosts=hosts))]


def test_alike_hosts_are_compared_as_one() -> None:
    """Hosts that differ in nothing but name, boot and load are one column, under all their names."""
    usual = make_host("laptop")
    alike = [replace(usual, host=f"host-{number}", load_average_1min=float(number)) for number in range(40)]
    odd = replace(usual, host="odd", driver="nvidia 570.1")
    (differing,) = environment_section(with_hosts(*alike, odd)).tables
    rows = {row[0]: row[1:] for row in differing.rows}

    assert differing.head == ("fact", "1: host-0, host-1, host-2, host-3 and 36 more", "2: odd")
    assert rows["GPU driver"] == ("none found", "nvidia 570.1")
    assert "kernel" not in rows
    assert environment_section(with_hosts(*alike)).tables == ()


def test_very_many_kinds_of_host_are_counted() -> None:
    """A table of forty columns is not read."""
    hosts = [replace(make_host("laptop"), host=f"h{number}", kernel=f"6.{number}") for number in range(40)]
    (differing,) = environment_section(with_hosts(*hosts)).tables

    assert len(differing.head) == 13
    assert "28 further kinds of host" in differing.note


def test_alike_workers_and_links_share_a_row() -> None:
    """A thousand participants on one host are one row of workers and one of links."""
    record = with_shares((1,) * 1000)
    workers, links = placement_section([record]).tables

    assert [row[1] for row in workers.rows] == [
        "1000 from participant-0 to participant-999 at laptop",
        "coordinator at laptop",
    ]
    assert workers.rows[0][7] == "0-999"
    assert [row[1] for row in links.rows] == ["0-999"]
    assert "share a row" in workers.note
    assert len(placement_section(records(names=["fleet"])).tables[0].rows) == 3


def test_a_thousand_shares_are_one_word() -> None:
    """Equal neighbours are counted."""
    record = with_shares((2,) * 400 + (1,) * 600)
    shares = {pair.name: pair.text for pair in conditions_section([record], None).pairs}["shares"]

    assert shares == "400 x 2 600 x 1"


def test_phases_of_a_large_pool_show_who_waited_least_and_most() -> None:
    """Who held the round back, and whom it cost most; in between nobody is missed in silence."""
    rows = tuple(
        PhaseRow(
            participant=str(number), kind="cpu", device="", cells=("0",) * 7, total="1 s", overlap="0", foreign="0",
            wait_s=float(number * 7 % 1000),
        )
        for number in range(1000)
    )  # fmt: skip
    phases = PhaseTable(
        run_id="run", role="fleet", name="fleet", pool="cpu:1000", round_label="round 1 of 1", round_s="1 s", rows=rows
    )
    found = as_table(phases)

    assert len(found.rows) == 64
    assert (found.rows[0][0], found.rows[-1][0]) == ("0 · cpu", "857 · cpu")
    assert "936 of 1,000 participants are left out" in found.note
    assert as_table(replace(phases, rows=rows[:64])).note == ""
