"""Rows say what verdicts and records hold, with nothing lost on the way."""

from statistics import median

import pytest
from msgspec.structs import replace

from pytest_mixgpu import units
from pytest_mixgpu.marks.cost import Bill, Cost, CostItem
from pytest_mixgpu.marks.evidence import gather
from pytest_mixgpu.marks.timings import samples_per_s
from pytest_mixgpu.records.plan_file import plan_digest
from pytest_mixgpu.report.sections.conditions import conditions_section
from pytest_mixgpu.report.sections.costs import cost_section
from pytest_mixgpu.report.sections.phases import median_round, phase_table, phase_tables
from pytest_mixgpu.report.sections.placement import placement_section
from pytest_mixgpu.report.sections.runs import run_rows
from pytest_mixgpu.report.verdict_rows import headline_of, mark_row, status_of
from tests.judging import make_evidence
from tests.report.made_verdicts import OCCASION, all_verdicts, claim, records, report_of, speedup
from tests.sample_doctors import as_aborted, as_failed, only, with_digests, with_score, with_settings, with_workers
from tests.samples import as_record, e1_plan, make_run, make_runs


@pytest.mark.parametrize(
    ("word", "qualifiers", "expected"),
    [
        ("PASS", (), "passed"),
        ("PASS", ("rehearsal",), "rehearsed"),
        ("PASS", ("exploratory",), "exploratory"),
        ("PASS", ("rehearsal", "emulated"), "emulated"),
        ("FAIL", (), "failed"),
        ("VOID", ("rehearsal",), "failed"),
        ("TAMPERED", (), "failed"),
        ("UNJUDGED", (), "failed"),
    ],
)
def test_a_pass_with_a_qualifier_is_never_a_plain_pass(word: str, qualifiers: tuple[str, ...], expected: str) -> None:
    """The strongest qualifier names the status; all words but PASS fail."""
    assert expected == status_of(speedup(word=word, qualifiers=qualifiers))


def test_the_headline_counts_as_pytest_does() -> None:
    """Failures come first, with their words."""
    verdicts = [*all_verdicts(), claim("x", word="VOID"), claim("y", word="TAMPERED")]

    assert headline_of(verdicts, OCCASION.tests) == ("2 failed (TAMPERED, VOID), 8 passed, 2 rehearsed", "bad")
    assert headline_of(all_verdicts(), OCCASION.tests) == ("8 passed, 2 rehearsed", "caution")
    assert headline_of([claim("x")], {}) == ("1 passed", "good")
    assert headline_of([], {}) == ("nothing was judged", "bad")


def test_a_test_with_several_marks_is_one_item() -> None:
    """One failure fails the test; its marks stand together under its title."""
    report = report_of([claim("phases", word="FAIL"), speedup(), claim("wait")])
    first, second = report.items

    assert [row.id for row in first.marks] == ["e1-phases", "e1-speedup"]
    assert (first.status, first.tone, first.title) == ("failed", "bad", "Sixteen devices reach 70 % of ideal")
    assert (second.number, second.status) == (2, "passed")


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(1.3999, ("1.3999 x", ">= 1.4 x"), id="just-under"),
        pytest.param(1.4, ("1.4 x", ">= 1.4 x"), id="equal"),
        pytest.param(1.4001, ("1.4001 x", ">= 1.4 x"), id="just-over"),
        pytest.param(None, ("no value", ">= 1.4 x"), id="nothing"),
        pytest.param(float("nan"), ("not a number x", ">= 1.4 x"), id="nan"),
    ],
)
def test_value_and_bound_stand_side_by_side(value: float | None, expected: tuple[str, str]) -> None:
    """The bound that is applied is the bound that is printed, and rounding blurs no side."""
    row = mark_row(speedup(value=value))

    assert expected == (row.value, row.bound)


def test_one_run_has_no_spread_and_several_have() -> None:
    """A single observation is not given a range of its own."""
    several = speedup(n=3, low=1.8, high=1.9, interval=(1.71, 1.98), interval_method="t, 3 runs", resolvable=0.12)
    row = mark_row(several)

    assert (mark_row(speedup()).spread, mark_row(speedup()).resolvable) == ("", "")
    assert (row.spread, row.interval) == ("1.80 to 1.90", "1.71 to 1.98 (t, 3 runs)")
    assert row.resolvable == "0.120 x"


def test_the_median_round_is_a_round_that_was() -> None:
    """Its phases belong together and add up; an even number of rounds takes the faster of the middle two."""
    record = as_record(make_run(role="fleet"))
    rounds_s = sorted(line.round_s for line in record.measured_rounds)
    line = median_round(record)

    assert line is not None
    assert not line.warmup
    assert line.round_s == rounds_s[(len(rounds_s) - 1) // 2]


def test_phase_tables_begin_with_the_fleet() -> None:
    """Runs without an exchange have no phases to show."""
    names = [table.name for table in phase_tables(records())]

    assert names == ["fleet", "mixed", "control-a", "control-b", "baseline"]


def test_a_phase_table_has_a_row_a_participant_and_a_cell_a_phase() -> None:
    """Kinds are those of the participants' devices."""
    table = phase_table(as_record(make_run(role="mixed")))

    assert table is not None
    assert [row.kind for row in table.rows] == ["cpu", "cpu-portable"]
    assert {len(row.cells) for row in table.rows} == {7}


def test_a_run_that_measured_nothing_has_no_phase_table() -> None:
    """It failed in its warm-up."""
    assert phase_table(as_record(as_failed(make_run(role="fleet"), after_rounds=1))) is None


def test_every_registered_run_has_a_row() -> None:
    """Failed and aborted runs stand among the others, with the reason and who was to blame."""
    made = [as_failed(make_run(role="fleet"), after_rounds=2), as_aborted(make_run(role="mixed"), after_rounds=3)]
    verdict = speedup(run_ids=(make_run(role="fleet").header.run_id,))
    rows = {row.name: row for row in report_of([verdict], [as_record(run) for run in made]).runs}

    assert (rows["fleet"].status, rows["mixed"].status) == ("failed", "aborted")
    assert rows["fleet"].rounds == "1 of 6 + 1 warm-up"
    assert rows["fleet"].faults == (
        "participant-1 on cpu:laptop:1 at laptop, compute, round 2: participant-1 was killed by SIGKILL",
    )
    assert "never closed" in rows["mixed"].reason
    assert (rows["fleet"].is_evidence, rows["mixed"].is_evidence) == (True, False)


def test_a_run_that_does_not_count_says_why() -> None:
    """The field that differs stands with the run, and the bill is that of the evidence."""
    plan = e1_plan()
    digest = plan_digest(plan)
    odd = only(lambda run: with_digests(run, plan="other"), name="reference")
    runs = records(doctor=odd)
    evidence = gather(plan, None, runs, session="session-1", rehearsal=True, plan_digest=digest)
    report = report_of([speedup()], runs, evidence)
    rows = {row.name: row for row in report.runs}

    assert "does not count: plan" in rows["reference"].superseded
    assert rows["fleet"].superseded == ""
    assert report.cost.tables[0].rows[0][0] == "setup"


def test_every_setting_of_every_role_is_shown() -> None:
    """What all roles share stands once, what differs stands side by side."""
    section = conditions_section(records(), e1_plan())
    shared = {pair.name for pair in section.pairs}
    differing = {row[0].rpartition("(")[2].rstrip(")") for table in section.tables for row in table.rows}
    settings = set(make_run().header.settings.__struct_fields__) - {"recipe"}

    assert settings <= shared | differing
    assert "shares" in differing
    assert "recipe.optimizer.name" in shared


def test_evaluator_and_workload_on_the_page_are_those_in_force() -> None:
    """A rehearsal's own evaluator, with its threads; a workload that the plan does not describe has no target."""
    own = {pair.name: pair.text for pair in conditions_section(records(), e1_plan()).pairs}
    real = {pair.name: pair.text for pair in conditions_section(records(rehearsal=False), e1_plan()).pairs}
    other = conditions_section(records(doctor=lambda run: with_settings(run, workload="letters")), e1_plan())

    assert ("float32 on cpu, 1 thread", "float32 on cpu, 16 threads") == (own["Evaluator"], real["Evaluator"])
    assert "95.0 % of the test set right" == own["Target"]
    assert "Target" not in {pair.name for pair in other.pairs}


def test_bytes_that_nobody_counted_are_not_stated() -> None:
    """The usual tool's row says so; it does not say 0 B."""
    cost = report_of([speedup()], records()).cost
    rows = {row[0]: row for table in cost.tables for row in table.rows}

    assert "not stated" == rows["reference #0"][-2]
    assert "not stated" not in rows["fleet #0"][-2]


def test_runs_of_one_role_that_differ_are_not_blurred() -> None:
    """Both values are shown."""
    other = only(lambda run: with_settings(run, batch_size=64), name="fleet", repeat=1)
    section = conditions_section(records(repeats=2, names=["fleet"], doctor=other), None)

    assert "32 | 64" in {pair.text for pair in section.pairs if pair.name == "batch_size"}


def test_workers_and_links_are_listed() -> None:
    """Placement is where each worker stood, and how far from the coordinator."""
    workers, links = placement_section([as_record(make_run(role="mixed"))]).tables

    assert [row[1].partition(" ")[0] for row in workers.rows] == ["participant-0", "participant-1", "coordinator"]
    assert [row[5] for row in workers.rows] == ["AVX512", "DEFAULT", "AVX512"]
    assert [row[4] for row in links.rows] == ["80.0 µs", "80.0 µs"]


def test_a_table_has_a_cell_for_every_column() -> None:
    """No row is short, whatever a run lacks."""
    unknown = with_workers(make_run(role="fleet"), torch=None, cpu_capability=None, first_step_s=None)
    report = report_of(all_verdicts(), [*records(), as_record(unknown)])
    tables = [
        *report.conditions.tables,
        *report.environment.tables,
        *report.placement.tables,
        report.scores,
        *report.cost.tables,
    ]

    assert [row for table in tables for row in table.rows if len(row) != len(table.head)] == []


def test_prices_that_are_missing_are_not_nought() -> None:
    """E1 itself has a price list to be filled in."""
    real = report_of([speedup()], [as_record(run) for run in make_runs(rehearsal=False, names=["fleet"])])
    rehearsal = report_of([speedup()], records(names=["fleet"]))

    assert {pair.text for pair in real.cost.pairs if "hour" in pair.name} == {"not stated"}
    assert ("cpu, an hour", "0.0400 USD") in {(pair.name, pair.text) for pair in rehearsal.cost.pairs}


def test_the_bill_is_shown_with_and_without_what_was_compared_with() -> None:
    """An item that nobody stated is said to be so, and a sum names what it is of."""
    items = (
        CostItem(name="training", quantity=0.02, unit="device-hours", amount=0.0008),
        CostItem(name="people", quantity=None, unit="person-hours", amount=None),
    )
    bill = Bill(items=items, device_hours=0.02)
    cost = Cost(
        currency="USD",
        priced_at="2026-11-29",
        source="a list",
        num_results=2,
        whole=bill,
        bare=bill,
        unpriced_kinds=(),
    )
    section = cost_section([], None, cost)
    table = section.tables[0]

    assert table.rows[1] == ("people", "not stated", "not stated", "not stated", "not stated")
    assert table.rows[2][:3] == ("sum of what is stated", "0.0200 device-hours", "0.000800 USD")
    assert ("One result alone", "0.000400 USD") in {(pair.name, pair.text) for pair in section.pairs}


def test_the_banner_says_what_must_not_be_overlooked() -> None:
    """Tampering first, then what makes this another experiment, then what is weak about the numbers."""
    verdict = speedup(word="TAMPERED", qualifiers=("rehearsal", "emulated", "exploratory"), notes=("disturbed",))
    starts = [sentence.partition(":")[0] for sentence in report_of([verdict], records()).banner]

    assert starts == ["Tampered", "Emulated", "Rehearsal", "Exploratory", "Disturbed"]
    assert report_of([claim("x")]).banner == ()


def test_the_first_facts_say_on_what_when_on_how_many_runs_and_at_what_cost() -> None:
    """Whoever reads no further knows these."""
    evidence = make_evidence()
    runs = [*evidence.attempts, as_record(as_aborted(make_run(role="mixed", session="other"), after_rounds=3))]
    facts = {pair.name: pair.text for pair in report_of([speedup(run_ids=(runs[1].id,))], runs, evidence).facts}

    assert facts["Pool"] == "cpu:2"
    assert facts["Measured"] == "2026-11-29 12:00:00 UTC to 2026-11-29 12:02:14 UTC"
    assert facts["Judged"] == "2026-11-29 12:30:00 UTC, by the session that measured"
    assert facts["Runs"] == "9 registered: 1 aborted, 8 completed; 1 stands behind a verdict"
    assert facts["One result cost"] == "0.00136 USD with what it was compared with, 0.000343 USD alone"


def test_a_cost_that_nobody_can_state_is_not_stated() -> None:
    """A suite without runs has none; an experiment without prices, or without a result, says so."""
    unpriced = make_evidence(rehearsal=False)
    in_vain = make_evidence(doctor=lambda run: with_score(run, 0) if run.header.settings.to_finish else run)

    assert "One result cost" not in {pair.name for pair in report_of([speedup()]).facts}
    assert [
        pair.text
        for evidence in (unpriced, in_vain)
        for pair in report_of([speedup()], evidence.attempts, evidence).facts
        if pair.name == "One result cost"
    ] == ["not stated", "no run met the target: there is no result to divide by"]


def test_what_it_does_not_show_comes_from_the_plan() -> None:
    """Left-out comparisons and what the source does not say are printed beside the verdicts."""
    sentences = " ".join(report_of(all_verdicts(), records()).not_shown.sentences)

    assert "DeepSpeed" in sentences
    assert "make-up of the two NVIDIA-only controls" in sentences
    assert "The workload says nothing about GPUs" in sentences


def test_verdicts_stand_in_the_order_of_the_checklist() -> None:
    """Not in the order in which workers happened to finish."""
    report = report_of(list(reversed(all_verdicts())))

    assert [row.id for row in report.marks][:3] == ["e1-recorded-first", "e1-workload-and-done", "e1-baseline"]


def test_seals_that_disagree_are_all_shown() -> None:
    """Two ledgers in one report are no secret."""
    verdicts = [speedup(), replace(speedup(), ledger_head="ef" * 32)]
    seals = {pair.name: pair.text for pair in report_of(verdicts).seals}

    assert seals["Ledger head"] == f"{'cd' * 32}, {'ef' * 32}"


def test_the_rate_of_a_run_is_that_of_its_median_round_everywhere() -> None:
    """Of an even number of rounds, the median of the rates is another number: marks and figures use the former."""
    run = next(one for one in records() if one.header.role == "baseline" and len(one.measured_rounds) % 2 == 0)
    rate = samples_per_s(run)
    row = run_rows([run], (), {})[0]

    assert rate is not None
    assert row.samples_rate == f"{units.format_number(rate)} samples/s"
    assert median(sum(line.samples) / line.round_s for line in run.measured_rounds) != rate


def test_runs_of_one_name_are_told_apart_in_every_table() -> None:
    """By the number of their repeat, written alike everywhere."""
    report = report_of([speedup()], records(repeats=2, names=["fleet"]))
    tables = (report.scores, *report.cost.tables)

    assert [[row[0] for row in table.rows] for table in tables] == [["fleet #0", "fleet #1"]] * len(tables)


def test_a_pool_that_a_bill_names_beside_others_is_named_once() -> None:
    """A mark on several pools lists them in one text."""
    facts = {pair.name: pair.text for pair in report_of([speedup(), speedup(id="b", pool="cpu:1, cpu:2")]).facts}

    assert facts["Pool"] == "cpu:2 · cpu:1"
