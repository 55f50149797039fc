"""The end of a session as a person or a CI log sees it, under pytest's own flags."""

import os
import pty
import shlex
import subprocess
import sys

import pytest

from tests.plugin.bench import PATIENCE, Bench, prose
from tests.plugin.suite_texts import VALUE

RECORDS = "--mixgpu-records=reports"
SPEED = r"MET (rehearsal): 16 devices reach at least 70 % of the ideal speed-up"
SLOW = VALUE.replace("judge(1.5)", "judge(2.5)")


def env(**more: str) -> dict[str, str]:
    """Return an environment in which nobody asked for colour but us."""
    left_out = {"NO_COLOR", "FORCE_COLOR", "PY_COLORS", "CI", "COLUMNS"}
    return {name: value for name, value in os.environ.items() if name not in left_out} | more


def output(bench: Bench, *words: str, **more: str) -> str:
    """Return what a session writes to a pipe."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", PATIENCE, *words]
    done = subprocess.run(command, cwd=bench.folder, env=env(**more), capture_output=True, text=True, check=False)
    return done.stdout


@pytest.mark.parametrize("words", [("-q",), ("-qq",), ("-s", "--tb=no"), ("-n", "2"), ("--no-summary",)], ids=" ".join)
def test_what_was_met_where_the_page_is_and_what_to_type(e1: Bench, words: tuple[str, ...]) -> None:
    """However little is printed, a reader of the end knows these three."""
    result = e1.pytest(RECORDS, *words)

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    said = prose(result)
    for part in (
        "e1: 8 passed, 2 rehearsed",
        "Rehearsal: a stand-in",
        SPEED,
        "x, at least 1.4 x was asked (e1-speedup, ",
    ):
        assert part in said
    assert "MET: 10 claims about the record hold" in said
    result.stdout.fnmatch_lines(["page: reports/e1/index.html", "to take the verdict again:"])


def test_the_command_takes_the_verdicts_again(e1: Bench) -> None:
    """Copied as it stands, it ends as the session did, and writes over no other report."""
    first = e1.pytest(RECORDS, "--mixgpu-report=own reports", "-o", "console_output_style=classic")
    line = next(line for line in first.outlines if line.startswith("  pytest "))
    again = e1.pytest(*shlex.split(line)[1:])

    assert "  pytest . --mixgpu-records=reports '--mixgpu-report=own reports'" == line
    assert first.parseoutcomes() == again.parseoutcomes() == {"passed": 8, "rehearsed": 2}
    assert not (e1.folder / "reports/e1").exists()


def test_without_a_terminal_plugin_the_files_say_it(e1: Bench) -> None:
    """`-p no:terminal` prints nothing, and loses no verdict."""
    result = e1.pytest(RECORDS, "-p", "no:terminal")

    assert 0 == result.ret, f"{result.stdout}\n{result.stderr}"
    assert "" == result.stdout.str().strip()
    assert 12 == len(e1.verdicts())


@pytest.mark.parametrize("flags", [(), ("--no-summary",), ("-qq",)], ids=str)
def test_what_fails_a_session_without_a_failed_test_is_said(e1: Bench, flags: tuple[str, ...]) -> None:
    """An official session that left a claim out says so, whatever is not to be shown."""
    result = e1.pytest(RECORDS, "--mixgpu-official", "-k", "wait", *flags)

    assert 1 == result.ret
    assert "an official session fails on what was left out" in prose(result)
    assert "UNJUDGED e1-" in prose(result)


def test_what_an_official_session_refuses_is_said(e1: Bench) -> None:
    """A mark that is met does not look accepted where it is not."""
    assert "REFUSED by --mixgpu-official: e1-speedup, e1-parity: it is rehearsal" in prose(
        e1.pytest(RECORDS, "--mixgpu-official", "--no-summary")
    )


def test_a_session_that_stops_at_a_failure_says_that_it_was_stopped(e1: Bench) -> None:
    """Marks behind a failure under `-x` were not deselected by anybody."""
    e1.edit("benchmark.toml", "target = 0.95", "target = 0.94")

    assert "and this session was stopped before" in prose(e1.pytest(RECORDS, "-x"))


def test_what_was_not_met_is_said_in_plain_words(bench: Bench) -> None:
    """What was asked, what was found; nothing to judge again is offered where nothing was recorded."""
    bench.write("test_slow.py", SLOW)
    said = prose(bench.pytest("--tb=no", "-q"))

    assert "NOT MET (exploratory): It answers within two seconds: 2.50 s, at most 2 s was asked (latency, " in said
    assert "page: reports/bench/index.html" in said
    assert "to take the verdict again" not in said


@pytest.mark.parametrize(
    ("more", "expected"),
    [({}, False), ({"CI": "true"}, False), ({"FORCE_COLOR": "1"}, True)],
    ids=["pipe", "ci", "forced"],
)
def test_colour_is_for_a_terminal_alone(bench: Bench, more: dict[str, str], expected: bool) -> None:  # noqa: FBT001
    """A log holds no escape sequence, unless somebody asks for it."""
    bench.write("test_slow.py", SLOW)

    assert expected == ("\x1b[" in output(bench, "--tb=no", **more))


@pytest.mark.parametrize(("more", "expected"), [({}, True), ({"NO_COLOR": "1"}, False)], ids=["terminal", "no-color"])
def test_a_terminal_shows_colour_unless_it_is_not_wanted(bench: Bench, more: dict[str, str], expected: bool) -> None:  # noqa: FBT001
    """What was not met is red there."""
    bench.write("test_slow.py", SLOW)
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--tb=no"]
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        command, cwd=bench.folder, env=env(TERM="xterm", **more), stdout=theirs, stderr=theirs
    ) as process:
        os.close(theirs)
        parts = []
        try:
            while part := os.read(ours, 65536):
                parts.append(part)
        except OSError:
            # Linux says so when the other end is closed.
            pass
        process.wait()
    os.close(ours)
    text = b"".join(parts).decode()

    assert "NOT MET" in text
    assert expected == any("\x1b[31m" in line for line in text.splitlines() if "NOT MET" in line)


def test_lines_of_a_log_are_inert_and_fit(bench: Bench) -> None:
    """Units and docstrings of a stranger's suite give no orders to a CI service, at 60 columns either."""
    hostile = SLOW.replace('unit="s"', 'unit="##vso[task.complete]"').replace(
        "It answers within two seconds.", "::error::owned [[ATTACHMENT|x]] It is."
    )
    bench.write("test_slow.py", hostile)
    lines = output(bench, "-q", COLUMNS="60", GITHUB_ACTIONS="true", GITLAB_CI="true", TF_BUILD="True").splitlines()
    section = lines[next(number for number, line in enumerate(lines) if "pass marks" in line) :]

    assert any("NOT MET" in line for line in section)
    assert [line for line in lines if line.lstrip().startswith("::") or "##vso[" in line or "[[ATT" in line] == []
    assert [line for line in section if len(line) > 60] == []
