"""All figures of an experiment together: complete, harmless, the same every time, and silent without a library."""

import json
import subprocess
import sys
from hashlib import sha256

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.report.figures import Figures, figures_of
from pytest_mixgpu.report.sanitise import clean
from tests.judging import e1_marks, make_evidence, with_runs
from tests.report.figures.seen import all_of, faults_of, ids_of, root_of, words_of
from tests.report.made_verdicts import HOSTILE, speedup
from tests.sample_doctors import as_aborted, as_failed, with_header
from tests.sample_timeline import MadeRun
from tests.samples import as_record, e1_plan, make_run

SECTIONS = {
    "marks": ["mark-e1-speedup", "mark-e1-parity"],
    "time": [
        "speedup", "rates", "phases-fleet", "phases-mixed", "timeline-fleet", "timeline-mixed", "holdups-fleet",
        "holdups-mixed",
    ],
    "quality": ["parity", "accuracy-time", "accuracy-samples"],
    "cost": ["cost"],
    "runs": ["runs"],
    "conditions": ["placement-fleet", "placement-mixed"],
}  # fmt: skip
FRESH = """
import sys
from hashlib import sha256
from tests.report.figures.test_all_figures import experiment, drawn
from tests.report.figures.seen import all_of
print(sha256("".join(one.svg for one in all_of(drawn(experiment()))).encode()).hexdigest())
"""
WITHOUT = """
import json, sys
sys.modules["vl_convert"] = None
from tests.report.figures.test_all_figures import experiment, drawn
from tests.report.figures.seen import all_of
found = all_of(drawn(experiment()))
rows = min(len(one.table.rows) for one in found)
print(json.dumps([sorted({one.svg for one in found}), rows, "altair" in sys.modules]))
"""


def experiment() -> Evidence:
    """Make two repeats of E1's rehearsal."""
    return make_evidence(repeats=2, plan=with_runs(e1_plan(), 2))


def drawn(evidence: Evidence) -> Figures:
    """Judge E1's marks and draw everything."""
    verdicts = [judge_mark(mark, evidence) for mark in e1_marks().marks]
    return figures_of(verdicts, evidence.attempts, plan=evidence.plan, evidence=evidence)


@pytest.fixture(scope="module")
def figures() -> Figures:
    return drawn(experiment())


def python(code: str) -> str:
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    return done.stdout.strip()


def test_every_section_has_its_figures(figures: Figures) -> None:
    """In the order in which they are read."""
    found = {name: [one.id for one in getattr(figures, name)] for name in figures.__struct_fields__}

    assert found == SECTIONS


def test_every_figure_is_complete(figures: Figures) -> None:
    """A drawing with a name, a title with a number in it, a text alternative, and a table as wide as its head."""
    for one in all_of(figures):
        assert any(letter.isdigit() for letter in one.title), one.title
        assert one.alt.endswith("."), one.alt
        assert one.table.rows, one.id
        assert {len(one.table.head)} == {len(row) for row in one.table.rows}
        root = root_of(one)
        assert (root.get("role"), root.get("aria-label")) == ("img", one.alt)
        assert root.attrib["viewBox"].split()[:2] == ["0", "0"]
        assert "background" not in one.svg


def test_text_and_axes_take_the_colour_of_the_page(figures: Figures) -> None:
    """Black text would vanish on a dark page."""
    for one in all_of(figures):
        texts = [element for element in root_of(one).iter() if element.tag.endswith("}text")]
        assert {element.get("fill") for element in texts} == {"currentColor"}, one.id


def test_drawings_are_harmless_and_share_no_id(figures: Figures) -> None:
    """A page holds all of them under a policy that allows no style and no script."""
    found = all_of(figures)
    ids = ids_of(found)

    assert [fault for one in found for fault in faults_of(one)] == []
    assert len(ids) == len(set(ids))


def test_the_same_records_give_the_same_bytes(figures: Figures) -> None:
    """In this process again, and in another one: samples are compared byte for byte."""
    again = drawn(experiment())
    here = sha256("".join(one.svg for one in all_of(figures)).encode()).hexdigest()

    assert again == figures
    assert here == python(FRESH)


def test_without_the_library_there_are_tables_and_no_drawing() -> None:
    """And it is not loaded for what it cannot do."""
    drawings, least_rows, was_loaded = json.loads(python(WITHOUT))

    assert (drawings, was_loaded) == ([""], False)
    assert least_rows > 0


def test_nothing_to_draw_is_no_figure() -> None:
    """An empty section is left out by whoever lays out the page."""
    assert figures_of([], [], plan=None, evidence=None) == Figures()
    claim = Verdict(id="a", is_claim=True, word="PASS", reason="")
    assert figures_of([claim], [], plan=e1_plan(), evidence=None) == Figures()


@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_one_run_that_did_not_complete_is_drawn_as_far_as_it_went(rounds: int) -> None:
    """Failed or killed, with or without a measured round: the run is there, with what became of it in words."""
    for run in (as_failed(make_run(), after_rounds=rounds), as_aborted(make_run(), after_rounds=rounds)):
        record = as_record(run)
        found = figures_of([], [record], plan=e1_plan(), evidence=None)
        said = words_of(found.runs[0])

        assert f"{record.status} after {len(record.measured_rounds)} measured round" in said
        assert bool(found.time) == bool(record.measured_rounds)
        assert "1 of them not completed" in found.runs[0].title


def hostile(run: MadeRun) -> MadeRun:
    """Name everything that a stranger names by what could act on a reader."""
    host = f'{HOSTILE}" onload="alert(1)'
    pool = replace(run.header.pool, devices=tuple(replace(one, host=host) for one in run.header.pool.devices))
    start = run.start
    assert start is not None
    links = tuple(replace(one, from_host=host, to_host=host) for one in start.links)
    changed = with_header(run, pool=pool, name=HOSTILE, leg=HOSTILE, session=HOSTILE, coordinator=host)
    return changed._replace(start=replace(start, links=links))


def test_hostile_text_stays_text() -> None:
    """Names of hosts, runs, sessions, metrics and units add no element, no attribute and no control character."""
    plain = as_record(make_run())
    run = hostile(make_run())
    header, start = run.header, run.start
    record = replace(plain, header=header, start=start)
    verdict = speedup(id=HOSTILE, metric=HOSTILE, unit=HOSTILE, bound_origin=HOSTILE, reason=HOSTILE)
    found = all_of(figures_of([verdict], [record], plan=e1_plan(), evidence=None))

    assert len(found) >= 6
    for one in found:
        assert faults_of(one) == []
        texts = (one.title, one.alt, *one.notes, *one.table.head, *(cell for row in one.table.rows for cell in row))
        assert all(text.isprintable() for text in texts), one.id
        assert words_of(one).isprintable()
    assert any(clean(HOSTILE)[:20] in words_of(one) for one in found)


def test_numbers_that_are_too_large_are_a_message(figures: Figures) -> None:
    """A duration that overflows is left out or refused in words; nothing hangs and nothing is raised."""
    run = make_run()
    lines = tuple(
        replace(
            line,
            round_s=1.7e308,
            segments=tuple(tuple(replace(one, duration_s=1.7e308) for one in lane) for lane in line.segments),
        )
        for line in run.rounds
    )
    record = replace(as_record(run), rounds=lines)
    found = all_of(figures_of([speedup(value=float("inf"))], [record], plan=e1_plan(), evidence=None))

    assert "mark-e1-speedup" not in {one.id for one in found}
    for one in found:
        assert "Infinity" not in one.svg
        assert "NaN" not in one.svg
        assert one.svg or any("could not be drawn" in note for note in one.notes)
