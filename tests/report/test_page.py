"""The page holds what verdicts and records hold, each in its section, and stands alone."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.report.html import render_page, write_page
from pytest_mixgpu.report.model import Figure, Figures, Report, RunRow, Table
from pytest_mixgpu.report.page_sections import SECTIONS
from pytest_mixgpu.report.rows import build_report
from tests.report.made_material import HOSTILE_TEXTS, hostile_record, hostile_verdicts
from tests.report.made_verdicts import OCCASION, all_verdicts, claim, records, report_of, speedup
from tests.report.page_parts import Page
from tests.sample_doctors import as_failed
from tests.sample_parts import make_host, make_pool
from tests.samples import as_record, e1_plan, make_run

FIGURE = Figure(
    id="mark-e1-speedup",
    title="speedup is 1.88 x; at least 1.4 x was asked",
    alt="One point right of a line.",
    table=Table(head=("run", "x"), rows=(("0", "1.88"),), caption="speedup"),
    svg='<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><rect width="9" height="9"/></svg>',
    notes=("One run: it has no interval.",),
)


def page_of(report: Report, figures: Figures | None = None) -> Page:
    return Page(render_page(report, figures or Figures()))


@pytest.fixture(scope="module")
def rehearsal() -> Report:
    runs = [*records(), as_record(as_failed(make_run(role="fleet", session="other"), after_rounds=2))]
    return report_of(all_verdicts(), runs)


def test_sections_stand_in_the_order_of_the_page(rehearsal: Report) -> None:
    """What was asked and answered first, what it does not show last."""
    assert list(SECTIONS) == list(page_of(rehearsal).sections)


def test_each_section_shows_what_belongs_there(rehearsal: Report) -> None:
    """Words, values beside bounds, qualifiers, notes, runs and seals, each where a reader looks for it."""
    sections = page_of(rehearsal).sections

    assert "Rehearsed, not answered" in sections["verdict"]
    assert "Do 16 GPUs of one kind" in sections["verdict"]
    assert "cd" * 32 in sections["verdict"]
    assert "pytest suites/e1 --mixgpu-records=reports" in sections["verdict"]
    for verdict in all_verdicts():
        assert verdict.id in sections["checklist"]
        assert verdict.is_claim or verdict.id in sections["marks"]
    for part in ("1.88 x", "at least 1.4 x asked", "rehearsal", "preliminary", "unanchored", "2026-11-28 09:00:00 UTC"):
        assert part in sections["marks"]
    for part in ("compute", "fleet on cpu:2", "1.88 x"):
        assert part in sections["time"]
    for part in ("441 of 450", "98.0 %", "target 95.0 %"):
        assert part in sections["quality"]
    assert "DeepSpeed" in sections["not-shown"]


def test_what_was_not_met_stands_first_with_what_would_change_it() -> None:
    """Which item, what was found and asked, and how far from the bound it lies; nothing of what was met."""
    failing = speedup(word="FAIL", value=1.2, qualifiers=())
    text = page_of(report_of([failing, claim("phases")])).sections["verdict"]

    assert "Not met: 1. Sixteen devices reach 70 % of ideal" in text
    assert (
        "Speed-up over one device 1.20 x; at least 1.4 x was asked. It would be met at 1.4 x, 0.200 x from here."
        in text
    )
    assert "Not met:" not in page_of(report_of([speedup(qualifiers=()), claim("phases")])).sections["verdict"]


def test_items_that_one_cause_left_open_stand_together() -> None:
    """A record that does not match its seal opens every item: the cause stands once, above them."""
    reason = "run r: it was changed after it was closed"
    checks = {"a": "hosts-named", "b": "splits-held-apart", "c": "", "d": "", "e": ""}
    report = report_of(
        [
            claim(name, word="TAMPERED", reason=f"{reason} ({check})" if check else reason)
            for name, check in checks.items()
        ]
    )
    text = page_of(report).sections["verdict"]

    assert text.count("Run r: it was changed after it was closed.") == 1
    assert "3. e1-c and 2 more" in text


def test_a_suite_without_a_question_asks_what_its_one_test_asks() -> None:
    """Its name alone would say nothing."""
    one = build_report([speedup()], [], occasion=OCCASION)
    two = build_report([speedup(), claim("wait")], [], occasion=OCCASION)

    assert '<h1 id="verdict-title">Sixteen devices reach 70' in render_page(one)
    assert '<h1 id="verdict-title">e1</h1>' in render_page(two)


def test_tags_and_names_of_runs_are_explained(rehearsal: Report) -> None:
    """Each once, and none that does not stand on the page."""
    sections = page_of(rehearsal).sections

    assert "preliminary: one run stands behind it" in sections["checklist"]
    assert "code-changed" not in sections["checklist"]
    assert "control-a, control-b" in sections["verdict"]
    assert "What the names of runs mean" not in page_of(report_of([speedup()])).sections["verdict"]


def test_what_is_said_of_each_repeat_is_folded_by_repeat() -> None:
    """A list of dozens of sentences is read by nobody."""
    said = ("of all", *(f"repeat {repeat}: {text}" for repeat in (0, 1) for text in ("fast", "good")))
    text = page_of(report_of([speedup(details=said)])).sections["marks"]

    assert text.index("of all") < text.index("Repeat 0 (2)") < text.index("Repeat 1 (2)")
    assert "repeat 0:" not in text


def test_every_run_stands_among_the_runs_with_its_digest(rehearsal: Report) -> None:
    """Failed ones too, with who was to blame."""
    text = page_of(rehearsal).sections["runs"]

    assert [run.run_id for run in rehearsal.runs if run.run_id not in text or run.digest not in text] == []
    assert "9 runs, 8 completed, 1 failed" in text
    assert "participant-1 was killed by SIGKILL" in text


@pytest.mark.parametrize("count", [200, 1000])
def test_very_many_runs_are_put_together_and_counted(rehearsal: Report, count: int) -> None:
    """What went wrong is always among those that are shown."""
    failed = next(run for run in rehearsal.runs if run.status == "failed")
    plain = next(run for run in rehearsal.runs if run.tone == "plain")
    runs: tuple[RunRow, ...] = tuple(replace(plain, run_id=f"run-{number:04}") for number in range(count - 1))
    text = page_of(replace(rehearsal, runs=(*runs, failed))).sections["runs"]

    assert failed.run_id in text
    assert (f"{count - 200:,} of {count:,} runs are left out here" in text) == (count > 200)
    assert f"{count:,} runs, {count - 1:,} completed, 1 failed" in text
    assert ("put together by role, pool and end" in text) == (count > 200)


def test_a_figure_stands_with_its_mark_with_title_notes_and_table(rehearsal: Report) -> None:
    """The same as a table is one click away; where nothing was drawn it is open, and the page says how to draw."""
    drawn = render_page(rehearsal, Figures(marks=(FIGURE,)))
    bare = render_page(rehearsal, Figures(marks=(replace(FIGURE, svg=""),)))

    assert '<rect width="9" height="9"/>' in drawn
    for page in (drawn, bare):
        text = Page(page).sections["marks"]
        assert all(part in text for part in (FIGURE.title, *FIGURE.notes, "The same as a table"))
        assert text.index("e1-speedup") < text.index(FIGURE.title) < text.index("e1-parity")
    assert FIGURE.alt in bare
    assert "<details><summary>The same as a table" in drawn
    assert "<details open><summary>The same as a table" in bare
    assert ("pip install" in drawn, "pip install" in bare) == (False, True)


def test_a_figure_of_no_mark_on_the_page_is_still_shown(rehearsal: Report) -> None:
    """Nothing that was drawn is lost."""
    assert FIGURE.title in page_of(rehearsal, Figures(marks=(replace(FIGURE, id="mark-other"),))).sections["marks"]


@pytest.mark.parametrize(("word", "expected"), [("VOID", True), ("TAMPERED", True), ("FAIL", False), ("PASS", False)])
def test_a_value_that_does_not_count_says_so_wherever_it_stands(word: str, expected: bool) -> None:  # noqa: FBT001
    """In the tile, in the checklist and with its mark: whoever sees the number alone must not take it for a result."""
    sections = page_of(report_of([speedup(word=word)], records(names=["fleet"]))).sections

    assert {("not to be used" in sections[name]) for name in ("verdict", "checklist", "marks")} == {expected}


def test_a_suite_without_runs_has_a_page_without_empty_parts() -> None:
    """It shows where it was measured, and no heading under which there is nothing."""
    host, pool = make_host("laptop"), make_pool("cpu:1")
    page = page_of(build_report([speedup()], [], occasion=OCCASION, host=host, pool=pool))

    assert list(page.sections) == ["verdict", "checklist", "marks", "conditions", "not-shown"]
    for part in ("Environment", host.kernel, host.python, "Made-up CPU", pool.devices[0].id):
        assert part in page.sections["conditions"]
    assert "Take this verdict again" not in page.text
    assert set(page.links) <= {f"#{id_}" for id_ in page.ids}


def test_a_claim_without_its_lock_has_no_links_and_no_numbers() -> None:
    """A page of claims alone has no pass marks to show."""
    assert "marks" not in page_of(build_report([claim("x")], [], occasion=OCCASION)).sections


def test_the_page_stands_alone(rehearsal: Report) -> None:
    """No script, no address but its own anchors, no style that its policy does not name by hash."""
    page = page_of(rehearsal, Figures(marks=(FIGURE,), time=(FIGURE,)))
    names = {name for name, _ in page.attributes}

    assert {"script", "link", "img", "iframe", "object", "base", "form"} & set(page.tags) == set()
    assert {"src", "style", "srcdoc"} & names == set()
    assert [name for name in names if name.startswith("on")] == []
    assert len(page.ids) == len(set(page.ids))
    assert [link for link in page.links if link.removeprefix("#") not in page.ids] == []


def test_a_mark_that_was_judged_twice_has_two_places(rehearsal: Report) -> None:
    """Ids stay unique, and a link leads to the first."""
    page = page_of(report_of([speedup(), speedup(word="FAIL")], records()))

    assert len(page.ids) == len(set(page.ids))


def test_a_cell_names_its_column(rehearsal: Report) -> None:
    """On a narrow screen rows become blocks of cells, and a cell without a name could not be read."""
    page = render_page(rehearsal, Figures(time=(FIGURE,)))
    unnamed = [cell for cell in re.findall(r"<td[^>]*>", page) if "data-name=" not in cell and "colspan=" not in cell]

    assert unnamed == []


def test_headings_go_down_one_level_at_a_time(rehearsal: Report) -> None:
    """Whoever jumps from heading to heading misses none."""
    levels = [int(tag[1]) for tag in page_of(rehearsal).tags if re.fullmatch("h[1-6]", tag)]

    assert levels[0] == 1
    assert levels.count(1) == 1
    assert [pair for pair in pairwise(levels) if pair[1] - pair[0] > 1] == []


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_stays_text_on_the_page(text: str, rehearsal: Report) -> None:
    """It adds no tag and no attribute."""
    runs = [hostile_record(text)]
    page = page_of(
        report_of(hostile_verdicts(text), runs), Figures(time=(replace(FIGURE, id=text, title=text, alt=text),))
    )
    tame = page_of(rehearsal, Figures(time=(FIGURE,), marks=(FIGURE,)))

    assert set(page.tags) <= {*tame.tags, "h4"}
    assert {name for name, _ in page.attributes} <= {name for name, _ in tame.attributes}
    assert [link for link in page.links if link.removeprefix("#") not in page.ids] == []
    assert "{{ 7*7 }}" in page.text or "{{" not in text


def test_a_page_is_written_whole(tmp_path: Path, rehearsal: Report) -> None:
    """Lone surrogates, which no UTF-8 has, are written visibly."""
    write_page(tmp_path / "e1" / "index.html", replace(rehearsal, question="what \ud800 is asked"))

    assert "what \\ud800 is asked" in (tmp_path / "e1" / "index.html").read_text("utf-8")


def test_a_price_list_gives_no_order_to_a_reader() -> None:
    """A currency is any text, and a plan may come from a stranger: whatever a row forgets, the page writes visibly."""
    plan = e1_plan()
    assert plan.rehearsal is not None
    stated = plan.rehearsal.prices or plan.prices
    assert stated is not None
    prices = replace(stated, currency="EUR\x1b[2J\u202egnp.exe\u200b")
    doubtful = replace(plan, rehearsal=replace(plan.rehearsal, prices=prices), prices=prices)
    page = render_page(build_report(all_verdicts(), records(), occasion=OCCASION, plan=doubtful))

    assert not re.search("[\x1b\u202e\u200b]", page)
    assert "EUR\\x1b[2J\\u202egnp.exe\\u200b" in page
