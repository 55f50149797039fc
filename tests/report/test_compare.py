"""Two sessions side by side: value beside value, what differs around them, and no text that acts on its reader."""

import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from pytest_mixgpu.marks.comparable import Side
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.comparison.lines import comparison_lines
from pytest_mixgpu.report.comparison.model import Comparison
from pytest_mixgpu.report.comparison.page import render_comparison, write_comparison
from pytest_mixgpu.report.comparison.rows import Sided, build_comparison
from pytest_mixgpu.report.verdict_file import VerdictFile
from tests.report.made_verdicts import HOSTILE, claim, speedup
from tests.report.page_parts import Page
from tests.report.test_writers import hostile_record, hostile_verdict
from tests.sample_doctors import with_workers
from tests.sample_parts import make_host
from tests.samples import as_record, make_run


def sided(name: str, *verdicts: Verdict, runs: tuple[RunRecord, ...] = (), **more: object) -> Sided:
    """Make one side of a comparison."""
    file = VerdictFile(
        suite="e1", session=name, made_at="2026-11-29T12:30:00+00:00", mode="measured", headline=f"{name} 1 passed",
        verdicts=verdicts,
    )  # fmt: skip
    side = Side(name=name, suite="e1", verdicts=verdicts, runs=runs)
    return replace(Sided(side=side, file=file, place=f"{name}/e1/verdicts.json"), **more)


def several(*values: float, **more: object) -> Verdict:
    """Make a verdict on a mark in seconds, of several runs."""
    fields = {"metric": "round_s", "unit": "s", "comparator": "at_most", "bound_origin": ""}
    return speedup(value=sorted(values)[len(values) // 2], n=len(values), run_values=values, **(fields | more))  # type: ignore[arg-type]


def text_of(comparison: Comparison, width: int = 80) -> str:
    """Return the lines as one, without the breaks of their terminal."""
    return " ".join(" ".join(line.text for line in comparison_lines(comparison, width=width, page="p.html")).split())


def test_value_stands_beside_value_with_what_can_be_told() -> None:
    """Both values with their bounds, the difference, its interval, and what so many runs could show."""
    found = build_comparison(sided("A", several(1.0, 1.1, 0.9)), sided("B", several(2.0, 2.1, 1.9)))
    text = text_of(found)

    assert "e1: 1 mark: 1 told apart A: " in text
    assert "A PASS (rehearsal) 1.00 s, at most 1.4 s was asked n=3" in text
    assert "B PASS (rehearsal) 2.00 s, at most 1.4 s was asked n=3" in text
    assert re.search(r"B is higher by 1.00 s told apart: 0.773 s to 1.23 s \(95 % Welch interval", text)
    assert re.search(r"3 and 3 runs, spread taken as normal\); so many runs could show 0.\d+ s", text)
    assert text.endswith("page: p.html")


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (several(1.0, 1.1, 0.9), several(1.0, 1.2, 0.95), "B is equal to A cannot be told apart: -0."),
        (several(1.0), several(0.8), "B is lower by 0.200 s one run on either side: no difference can be shown"),
        (several(1.0), several(2.0, word="VOID"), "not compared: B is VOID"),
        (several(1.0, word="TAMPERED"), several(2.0, word="UNJUDGED"), "not compared: A is TAMPERED and B is UNJUDGED"),
        (
            speedup(n=3, run_values=(1.0, 1.1, 0.9)),
            speedup(n=3, run_values=(2.0, 2.1, 1.9)),
            "B is 2.00 times A told apart: 1.",
        ),
    ],
)
def test_what_cannot_be_told_is_not_told(a: Verdict, b: Verdict, expected: str) -> None:
    """One run shows no difference, and a value that must not be used is not compared."""
    assert expected in text_of(build_comparison(sided("A", a), sided("B", b)))


def test_the_headline_counts_what_can_be_said() -> None:
    """Too few runs are not the same as no difference."""

    def marks(*values: tuple[float, ...]) -> list[Verdict]:
        return [several(*one, id=f"m{number}") for number, one in enumerate(values)]

    a = sided("A", *marks((1.0, 1.1), (1.0, 1.1), (1.0,), (2.0,)), claim("x"))
    b = sided("B", *marks((5.0, 5.1), (1.0, 1.2), (1.0,), (1.0,)), claim("x"))

    assert build_comparison(a, b).headline == (
        "4 marks: 1 told apart, 1 that cannot be told apart, 2 of which too little is known"
    )
    assert build_comparison(sided("A", claim("x")), sided("B", claim("x"))).headline == "no mark has a number"


def test_a_mark_of_one_side_alone_and_claims_that_differ_are_said() -> None:
    """Silence is not agreement."""
    a, b = (
        sided("A", speedup(), claim("x"), claim("y"), claim("z")),
        sided("B", claim("x", word="FAIL"), claim("y"), claim("z")),
    )
    text = text_of(build_comparison(a, b))

    assert "B says nothing of it" in text
    assert "e1-x: A says PASS, B says FAIL" in text
    assert "2 claims are PASS on both sides" in text


def test_what_differs_around_them_stands_side_by_side() -> None:
    """Pools, versions and devices; what is alike is counted."""
    here = as_record(make_run(role="fleet"))
    there = as_record(with_workers(make_run(role="fleet", session="B"), torch="9.9"))
    found = build_comparison(sided("A", speedup(), runs=(here,)), sided("B", speedup(), runs=(there,)))

    assert [fact.name for fact in found.facts] == ["torch of the workers"]
    assert found.facts[0].b == "9.9"
    assert found.num_alike > 5


def test_a_session_without_runs_has_the_facts_that_it_wrote() -> None:
    """A suite of stopwatches names its host and devices itself."""
    here, there = sided("A", speedup()), sided("B", speedup())
    here = replace(here, file=replace(here.file, host=make_host("one")))
    there = replace(there, file=replace(there.file, host=make_host("two")))

    facts = {fact.name: (fact.a, fact.b) for fact in build_comparison(here, there).facts}
    assert facts["hosts"] == ("one", "two")


@pytest.mark.parametrize("width", [60, 80])
def test_lines_fit_their_terminal(width: int) -> None:
    """Lines are wrapped, not left to the terminal."""
    found = build_comparison(sided("A", several(1.0, 1.1), claim("x")), sided("B", several(2.0, 2.1), claim("x")))

    assert [line.text for line in comparison_lines(found, width=width) if len(line.text) > width] == []


def hostile_comparison() -> Comparison:
    """Both sides hostile in every text, and unlike each other."""
    more = {"runs": (hostile_record(),), "place": HOSTILE, "notes": (HOSTILE,)}
    b = replace(hostile_verdict(), reason=f"b {HOSTILE}", run_values=(1.0, 2.0))
    here = sided("A", hostile_verdict(), claim(HOSTILE, reason=HOSTILE), **more)  # type: ignore[arg-type]
    return build_comparison(here, sided("B", b, place=HOSTILE, notes=(HOSTILE,)))


def test_hostile_text_gives_no_orders_on_the_terminal() -> None:
    """No escape sequence, no line of its own, no command for a CI service."""
    lines = [line.text for line in comparison_lines(hostile_comparison(), page=HOSTILE)]

    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.lstrip().startswith("::") or "##vso[" in line] == []


def test_hostile_text_stays_text_on_the_page(tmp_path: Path) -> None:
    """It adds no tag and no attribute; the page names no address, no script and no style but its own."""
    tame = Page(
        render_comparison(build_comparison(sided("A", speedup(word="FAIL")), sided("B", claim("x"), notes=("n",))))
    )
    write_comparison(tmp_path / "compare.html", hostile_comparison())
    hostile = Page((tmp_path / "compare.html").read_text("utf-8"))

    assert set(hostile.tags) - set(tame.tags) == set()
    assert {name for name, _ in hostile.attributes} <= {name for name, _ in tame.attributes}
    assert {"script", "link", "img", "iframe", "object", "base", "form"} & set(hostile.tags) == set()
    assert [link for link in hostile.links if link.removeprefix("#") not in hostile.ids] == []
    assert "</style><script>alert(1)</script>\\x1b[2J\\u202egnp.exe" in hostile.text
    assert "49" not in hostile.text.split("owned", 1)[1].split("}}", 1)[0]


def test_every_cell_of_the_page_names_its_column() -> None:
    """On a narrow screen rows become blocks of cells."""
    page = render_comparison(build_comparison(sided("A", speedup(), claim("x")), sided("B", speedup(), claim("x"))))

    assert [cell for cell in re.findall(r"<td[^>]*>", page) if "data-name=" not in cell] == []
