"""The closing lines on a terminal: what was found, in plain words what was met, and what to type next."""

import pytest

from pytest_mixgpu.report.model import Report
from pytest_mixgpu.report.terminal import summary_lines, verdict_text, wrapped
from tests.report.made_verdicts import HOSTILE, all_verdicts, claim, records, report_of, speedup
from tests.report.test_writers import hostile_report, hostile_verdict
from tests.samples import as_record, make_run


def text_of(report: Report, **more: object) -> str:
    """Return a summary as one line, without the breaks of its terminal."""
    return " ".join(" ".join(line.text for line in summary_lines(report, **more)).split())  # type: ignore[arg-type]


def test_the_summary_has_one_entry_a_mark() -> None:
    """Value, bound, number of runs, spread, qualifiers and notes stand on it."""
    report = report_of(all_verdicts(), records())
    text = "\n".join(line.text for line in summary_lines(report, page="reports/e1/index.html"))

    assert "PASS (rehearsal)  e1-speedup  1.88 x >= 1.4 x  n=1 (one run)  no interval" in text
    assert "spread none" not in text
    assert "preliminary, unanchored" in text
    assert "PASS              e1-wait" in text
    assert "phases of the median round" in text
    assert "page: reports/e1/index.html" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_the_summary_fits_its_terminal(width: int) -> None:
    """Lines are wrapped, not left to the terminal, unless one word is too long."""
    lines = summary_lines(report_of(all_verdicts(), records()), width=width)

    # A digest is one word of 64 characters.
    assert [line.text for line in lines if len(line.text) > max(width, 66)] == []


def test_the_witness_is_written_once_for_marks_that_share_it_where_more_is_asked_for() -> None:
    """The terminal is short unless it is asked not to be; the page has it always."""
    report = report_of([speedup(witness=("seen by all",)), claim("cost", witness=("seen by all",))])
    text = [line.text.strip() for line in summary_lines(report, verbosity=1)]

    assert ["witness of e1-speedup, e1-cost:", "- seen by all"] == text[text.index("- seen by all") - 1 :][:2]
    assert "- seen by all" not in [line.text.strip() for line in summary_lines(report)]


def test_no_value_beside_a_bound_reads_as_that() -> None:
    """Nothing is compared, so nothing looks compared, and nothing is preliminary."""
    verdict = speedup(value=None, n=0, word="UNJUDGED", qualifiers=(), reason="it was skipped")
    text = summary_lines(report_of([verdict]))[1].text

    assert text == "UNJUDGED  e1-speedup  no value (bound >= 1.4 x)  unanchored"


def test_a_large_pool_is_shown_by_its_ends() -> None:
    """Sixteen rows of phases are for the page."""
    report = report_of(all_verdicts(), [as_record(make_run(role="fleet", rehearsal=False))])
    text = [line.text for line in summary_lines(report)]

    assert "  and 12 more participants, on the page" in text


def test_a_failed_claim_says_why_and_what_to_do() -> None:
    """The reason, what it follows from, and the remedy stand with it."""
    more = {"reason": "no run met it", "follows_from": "e1-parity", "remedy": "run --gpus=a40:16"}
    verdict = claim("cost", word="UNJUDGED", **more)
    lines = [line.text.strip() for line in summary_lines(report_of([verdict]))]
    title = "The whole cost of one result is stated"

    assert [
        f"NOT JUDGED: {title}: no run met it (e1-cost)",
        "follows from e1-parity",
        "to do: run --gpus=a40:16",
    ] == lines[2:5]
    assert ["UNJUDGED e1-cost: no run met it", "follows from: e1-parity", "to do: run --gpus=a40:16"] == verdict_text(
        verdict
    ).split("\n")


@pytest.mark.parametrize(
    ("more", "expected"),
    [
        pytest.param({"value": 1.0, "word": "FAIL"}, "NOT MET{}1.0 x, at least 1.4 x was asked", id="fail"),
        pytest.param({"word": "PASS"}, "MET{}1.88 x, at least 1.4 x was asked", id="pass"),
        pytest.param({"comparator": "at_most"}, "MET{}1.88 x, at most 1.4 x was asked", id="at-most"),
        pytest.param({"comparator": "within"}, "MET{}1.88 x, within 1.4 x was asked", id="within"),
        pytest.param(
            {"word": "VOID", "reason": "a control failed"},
            "VOID{}1.88 x was found and must not be used, at least 1.4 x was asked: a control failed",
            id="void",
        ),
        pytest.param(
            {"word": "UNJUDGED", "reason": "it was skipped", "value": None, "n": 0, "notes": ()},
            "NOT JUDGED{}no value, at least 1.4 x was asked: it was skipped",
            id="unjudged",
        ),
        pytest.param(
            {"word": "TAMPERED", "reason": "the bound was edited", "value": None, "n": 0, "bound": None},
            "TAMPERED{}not measured: the bound was edited",
            id="tampered",
        ),
    ],
)
def test_a_mark_is_told_in_one_plain_sentence(more: dict[str, object], expected: str) -> None:
    """What was asked, what was found, and whether that was met; then its id and what is noted of it."""
    verdict = speedup(qualifiers=(), **more)  # type: ignore[arg-type]
    notes = ", ".join(["e1-speedup", *(note for note in verdict.notes if verdict.n or note != "preliminary")])
    sentence = expected.format(": Sixteen devices reach 70 % of ideal: ")

    assert f"{sentence} ({notes})" in text_of(report_of([verdict])).replace("1.00 x", "1.0 x")


def test_what_was_not_met_is_told_first_and_claims_that_hold_together() -> None:
    """Ten claims that hold are one fact to a reader, and each has its line above."""
    lines = [
        line.text
        for line in summary_lines(report_of([claim("wait"), speedup(), claim("cost"), claim("x", word="VOID")]))
    ]
    told = [line.partition(":")[0] for line in lines if line.startswith(("MET", "NOT MET", "VOID:"))]

    assert ["VOID", "MET (rehearsal)", "MET"] == told
    assert "MET: 2 claims about the record hold" in lines


@pytest.mark.parametrize("verbosity", [1, 0, -1, -2])
def test_no_verbosity_hides_what_is_no_plain_pass(verbosity: int) -> None:
    """Failures, qualifiers and notes, the page and the command stand in the shortest summary."""
    verdicts = [claim("cost", word="FAIL", reason="no price"), speedup(), claim("wait")]
    text = text_of(report_of(verdicts), verbosity=verbosity, page="p/index.html", again="pytest p --mixgpu-records=r")

    for part in ("NOT MET", "no price", "e1-cost", "MET (rehearsal)", "preliminary", "Rehearsal:", "Preliminary:"):
        assert part in text
    assert text.endswith("page: p/index.html to take the verdict again: pytest p --mixgpu-records=r")


def test_a_plain_pass_is_only_counted_where_least_is_asked_for() -> None:
    """It changes no exit status and needs no reading."""
    report = report_of([speedup(qualifiers=(), notes=()), claim("wait")])

    assert "MET: 1 more MET: 1 claim about the record holds" in text_of(report, verbosity=-2)
    assert "ledger head" in text_of(report, verbosity=-1)
    assert "ledger head" not in text_of(report, verbosity=-2)


def test_the_command_is_never_broken() -> None:
    """It is there to be copied."""
    again = "pytest suites/with-a-long-name " + " ".join(f"--mixgpu-records=reports-{n}" for n in range(9))

    assert f"  {again}" in [line.text for line in summary_lines(report_of([speedup()]), width=60, again=again)]


def test_the_first_line_of_a_failure_fits_a_junit_message() -> None:
    """Value, bound and unit stand on it, and a hostile text cannot push them out."""
    verdict = speedup(word="FAIL", value=0.91, bound=1.0, reason="x" * 5000, qualifiers=())
    first, sure, *_ = verdict_text(verdict).split("\n")

    assert "FAIL e1-speedup: 0.91 x, at least 1 x was asked" == first.replace("0.910", "0.91")
    assert "n=1 (one run), no interval, preliminary, unanchored" == sure
    assert len(verdict_text(speedup(unit="y" * 5000)).split("\n")[0]) < 500


def test_a_sentence_of_the_session_gives_no_orders() -> None:
    """Names of tests and reasons of errors come from outside, too."""
    lines = wrapped(f"mixgpu: {HOSTILE} [[ATTACHMENT|/etc/passwd]] ::add-mask::x", 12)

    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.lstrip().startswith("::") or "##vso[" in line or "[[ATT" in line] == []


def test_a_tone_becomes_a_colour_of_pytest() -> None:
    """Only a plain pass is green."""
    lines = [line for line in summary_lines(report_of(all_verdicts())) if "  e1-" in line.text]
    markups = {line.text.split("  ")[0]: line.markup for line in lines}

    assert markups == {"PASS": {"green": True}, "PASS (rehearsal)": {"yellow": True}}


def test_hostile_text_gives_no_orders_on_the_terminal() -> None:
    """No escape sequence, no line of its own, no command for a CI service."""
    lines = [line.text for line in summary_lines(hostile_report())] + verdict_text(hostile_verdict()).split("\n")

    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.lstrip().startswith("::") or "##vso[" in line] == []
