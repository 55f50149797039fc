"""`summary.md`: complete, and inert whatever stands in the records; read by a renderer with GitHub's extensions."""

from collections.abc import Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token

from pytest_mixgpu.report.exports.markdown import code, inert, table
from pytest_mixgpu.report.exports.material import Material
from pytest_mixgpu.report.exports.step_summary import CUT, MAX_BYTES, add_to_step_summary
from pytest_mixgpu.report.exports.summary import MAX_RUNS, summary_lines, write_summary
from pytest_mixgpu.report.sanitise import clean
from tests.report.made_material import HOSTILE_TEXTS, hostile_material, material
from tests.report.made_verdicts import all_verdicts, claim, speedup
from tests.sample_doctors import as_aborted
from tests.samples import as_record, make_run

GITHUB = MarkdownIt("gfm-like", {"html": True, "linkify": True, "typographer": False})
"""Tables, strike-through and addresses without markup; HTML is kept, so that it would be seen."""

OURS = {"heading", "paragraph", "list_item", "bullet_list", "blockquote", "table", "thead", "tbody", "tr", "th", "td"}

any_text = st.text(st.characters(exclude_categories=()), max_size=60)
nasty_text = st.lists(
    st.sampled_from(
        [*"`|\\*_~#@<>[]()!&:$-+=.'\" \n\t\r1aZ", "http://x", "www.x.y", "a@b.c", "```", "![", "](", "&lt;"]
    )
).map("".join)


def tokens_of(text: str) -> list[Token]:
    """Return what a renderer makes of Markdown, the parts of lines in place."""
    return [inner for token in GITHUB.parse(text) for inner in (token, *(token.children or ()))]


def kinds_of(text: str) -> set[str]:
    return {token.type.removesuffix("_open").removesuffix("_close") for token in tokens_of(text)}


def seen(tokens: Iterable[Token]) -> str:
    """Return the characters that a reader sees."""
    return "".join(token.content for token in tokens if token.type in {"text", "code_inline"})


def markdown_of(made: Material) -> str:
    return "\n".join(summary_lines(made.report))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1.88 x", "1.88 x"),
        ("rounds' median (n=3): 1,020 samples/s", "rounds' median (n=3): 1,020 samples/s"),
        ("Größe 8 µs · 光", "Größe 8 µs · 光"),
        ("see @octocat there", "see `@octocat` there"),
        ("a | b", "a `\\x7c` b"),
        ("a `b` c", "a `\\x60b\\x60` c"),
        ("lost in passmarks.lock and num_threads", "lost in `passmarks.lock` and `num_threads`"),
        ("1. first", "`1.` first"),
        ("- item", "`-` item"),
        ("=1+1", "`=1+1`"),
        ("GH-12 deadbee :tada: www.x https://x", "`GH-12 deadbee :tada: www.x https://x`"),
        ("a\nb", "`a\\nb`"),
        ("", ""),
    ],
)  # fmt: skip
def test_harmless_words_stay_and_all_others_become_code(text: str, expected: str) -> None:
    """Ordinary sentences read as they were written."""
    assert expected == inert(text)


@given(any_text | nasty_text)
def test_no_text_is_markup(text: str) -> None:
    """In a paragraph, a list and a cell it is text or code, and nothing of it is lost but white space."""
    for made in (f"{inert(text)}\n", f"- {inert(text)}\n", f"said: {inert(text)}\n", f"{code(text)}\n"):
        assert kinds_of(made) <= {"inline", "text", "code_inline", "paragraph", "list_item", "bullet_list"}
        expected = clean(text).replace("`", "\\x60").replace("|", "\\x7c")
        found = "".join(seen(tokens_of(made)).split())
        assert "".join(expected.split()) == found.removeprefix("said:" if made.startswith("said") else "")


@given(st.lists(any_text | nasty_text, min_size=2, max_size=2))
def test_no_text_breaks_a_table(texts: list[str]) -> None:
    """A row keeps its cells, and a cell its text."""
    made = "\n".join(table(("a", "b"), [[inert(text) for text in texts], ["last", "row"]]))
    tokens = GITHUB.parse(made)

    assert 4 == sum(token.type == "td_open" for token in tokens)
    assert kinds_of(made) <= {"inline", "text", "code_inline", *OURS}


@given(any_text | nasty_text)
def test_no_text_outside_of_code_means_something_to_github(text: str) -> None:
    """GitHub looks through the rendered text for mentions, issues and addresses, but not in code spans."""
    outside = " ".join(token.content for token in tokens_of(inert(text)) if token.type == "text")

    assert not set("@#<>[]|`$*_~\\") & set(outside)
    assert "://" not in outside


@pytest.mark.parametrize("text", HOSTILE_TEXTS)
def test_hostile_text_takes_no_effect_in_the_whole_summary(text: str) -> None:
    """No HTML, link, image, heading, fence or rule comes of it, and the tables keep their shape."""
    tame, hostile = tokens_of(markdown_of(material())), tokens_of(markdown_of(hostile_material(text)))
    found = {token.type for token in hostile}

    assert found <= {token.type for token in tame} | {"softbreak"}
    assert not found & {"html_inline", "html_block", "link_open", "image", "fence", "code_block", "hr"}
    headings = [after.content for token, after in pairwise(hostile) if token.type == "heading_open"]
    assert {"Why", "Where the median round went", "Runs", "What this does not show", "Evidence"} == set(headings[1:])
    assert markdown_of(hostile_material(text)).isprintable() is False  # line ends are all that is not
    assert [line for line in summary_lines(hostile_material(text).report) if not line.isprintable()] == []


def test_every_verdict_is_there_with_all_that_belongs_to_it() -> None:
    """Word and qualifiers, value beside bound, runs, interval, notes."""
    verdicts = [
        *all_verdicts(),
        speedup(id="e1-slow", word="FAIL", value=1.2, notes=("disturbed",), interval=(1.0, 1.3)),
    ]
    lines = list(summary_lines(material(verdicts).report))

    for verdict in verdicts:
        row = next(line for line in lines if line.startswith("|") and f"| {verdict.id} |" in line)
        assert f"**{verdict.word}**" in row
        assert f"({', '.join(verdict.qualifiers)})" in row if verdict.qualifiers else True
        assert [note for note in verdict.notes if note not in row] == []
    row = next(line for line in lines if "| e1-slow |" in line)
    assert "| 1.20 x | `>=` 1.4 x (0.70 of the ideal 2) | 1 | 1.00 to 1.30 | disturbed |" in row


def test_no_pass_stands_without_its_qualifier() -> None:
    """Wherever a PASS is written, its qualifier follows."""
    text = markdown_of(material([speedup(qualifiers=("emulated", "rehearsal"))]))

    assert text.count("**PASS**") == text.count("**PASS** (emulated, rehearsal)") > 0


def test_what_did_not_plainly_pass_says_why() -> None:
    """Reason, cause and remedy; a plain pass has no paragraph."""
    text = markdown_of(material([claim("wait"), claim("cost", word="VOID", reason="no price", remedy="state it")]))

    assert "- **VOID** `e1-cost`: no price" in text
    assert "  - to do: state it" in text
    assert "**PASS** `e1-wait`" not in text


def test_many_runs_are_cut_and_those_that_failed_stay() -> None:
    """The page has all of them."""
    runs = [as_record(make_run(session=str(number))) for number in range(MAX_RUNS + 5)]
    broken = as_record(as_aborted(make_run(session="broken"), after_rounds=2))
    text = markdown_of(material([speedup()], [*runs, broken]))

    assert f"`{broken.id}`" in text
    assert "And 6 more runs, on the page." in text


def test_a_suite_without_runs_has_no_empty_parts() -> None:
    """No heading under which there is nothing."""
    text = markdown_of(material([claim("wait")], []))

    assert "### Runs" not in text
    assert "### Why" not in text


def test_a_summary_is_written_whole(tmp_path: Path) -> None:
    """Beside the page, as UTF-8."""
    path = tmp_path / "e1" / "summary.md"
    write_summary(hostile_material("\ud800 µ"), path)

    assert "`\\ud800 µ`" in path.read_text("utf-8")


def test_a_step_summary_is_added_to(tmp_path: Path) -> None:
    """What other commands of the step wrote stays; ours begins on a line of its own."""
    path = tmp_path / "step.md"
    path.write_text("written before")

    assert add_to_step_summary(path, ["## e1", "", "| a |"])
    assert path.read_text() == "written before\n## e1\n\n| a |\n"


def test_a_step_summary_may_not_be_there_yet(tmp_path: Path) -> None:
    """GitHub makes the file, other services may not."""
    assert add_to_step_summary(tmp_path / "step.md", ["## e1"])
    assert (tmp_path / "step.md").read_text() == "## e1\n"


@example(before=1, lines=[], limit=2)
@given(
    before=st.integers(0, 400),
    lines=st.lists(st.text(st.characters(exclude_categories=("Cs", "Cc")), max_size=40), max_size=30),
    limit=st.integers(1, 600),
)
def test_a_step_summary_is_never_longer_than_its_limit(
    tmp_path_factory: pytest.TempPathFactory, before: int, lines: list[str], limit: int
) -> None:
    """GitHub drops the page of a step that wrote more; what is left out is said, if there is room even for that."""
    path = tmp_path_factory.mktemp("step") / "step.md"
    path.write_bytes(b"x" * before)

    is_whole = add_to_step_summary(path, lines, limit=limit)

    text = path.read_text("utf-8")
    assert path.stat().st_size <= max(limit, before)
    if is_whole:
        assert text.removeprefix("x" * before).strip("\n").split("\n") == "\n".join(lines).strip("\n").split("\n")
    elif len(text) > before:
        assert text.endswith(CUT)


def test_the_limit_is_githubs() -> None:
    """1,024 KiB a step."""
    assert MAX_BYTES == 1024 * 1024
