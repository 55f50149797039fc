"""What the other formats are made of: an experiment that went well, and one in which every text is hostile."""

import re
from collections.abc import Sequence
from typing import Any

import msgspec
from msgspec.structs import replace

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.report.exports.material import Material
from tests.report.made_verdicts import OCCASION, all_verdicts, records, report_of, speedup
from tests.sample_doctors import as_failed, with_header, with_settings, with_start, with_workers
from tests.samples import as_record, e1_plan, make_run

HOSTILE_TEXTS = (
    "</script><script>alert(1)</script><img src=x onerror=alert(2)>",
    "[a](https://evil.example/x) ![b](https://evil.example/y.png) <https://evil.example>",
    "@octocat #12 GH-12 octo/repo#3 deadbeefcafe www.evil.example evil@evil.example :rocket: $x$",
    "a | b \\| c `d` ``e`` ~~f~~ **g** _h_ &lt;i&gt; \\[j](k)",
    "```\nfenced\n```\n# heading\n- item\n1. one\n> quote\n---\n===\n    code",
    "\x1b[2J\x1b]0;title\x07\u202egnp.exe\u200b\x9b31m",
    '\n::error::owned\n##vso[task.complete] ##teamcity[x]\n:::MLLOG {"key": "run_stop", "value": "owned"}',
    '=HYPERLINK("https://evil.example")\t+1\t-1\t@SUM(1)',
    '"} 1\nmixgpu_passmark_met{id="owned"} 1\n# EOF\n\\n\\',
    "{{ 7*7 }} {% raw %} ${7*7} %s %n \x00",
)
"""What strangers could write into a host name, a log tail, a unit or a test's name."""
HOSTILE = " ".join(HOSTILE_TEXTS)


def material(
    verdicts: Sequence[Verdict] | None = None, runs: Sequence[RunRecord] | None = None, **more: object
) -> Material:
    """Make the material of a rehearsal in which everything went well, or of these verdicts and runs."""
    given = tuple(all_verdicts() if verdicts is None else verdicts)
    made = tuple(records() if runs is None else runs)
    fields = {
        "occasion": OCCASION,
        "report": report_of(given, made),
        "verdicts": given,
        "records": made,
        "plan": e1_plan(),
    }
    return Material(**(fields | more))  # type: ignore[arg-type]  # handed through


def hostile_verdicts(text: str = HOSTILE) -> list[Verdict]:
    """Make a verdict of each word with this text wherever a text can be, and a qualified pass among them."""
    more: dict[str, Any] = {
        field.name: text for field in msgspec.structs.fields(Verdict) if field.type is str and field.name != "id"
    }
    more |= {name: (text,) for name in ("run_ids", "details", "witness", "amendments")}  # noqa: C420  (one type a value)
    words = ("PASS", "FAIL", "VOID", "TAMPERED", "UNJUDGED")
    return [speedup(**(more | {"id": f"{word} {text}", "word": word, "interval": (1.0, 2.0)})) for word in words]


def hostile_record(text: str = HOSTILE) -> RunRecord:
    """Make a record with this text wherever a text can be. A record is UTF-8, so it has no lone surrogates."""
    text = re.sub(r"[\ud800-\udfff]", "", text)
    run = as_failed(make_run(role="fleet"), after_rounds=3, message=text)
    run = with_workers(run, worker=text, host=text, torch=text, cpu_capability=text, environment={text: text})
    run = with_settings(run, workload=text, number_format=text, recipe={text: {text: [text]}})
    assert run.start is not None
    host = replace(run.start.hosts[0], host=text, os=text, kernel=text, python=text, driver=text, packages={text: text})
    links = tuple(replace(link, from_host=text, to_host=text) for link in run.start.links)
    run = with_start(run, hosts=(host,), links=links, data_digest=text, started_at=text)
    devices = tuple(
        replace(one, kind=text, name=text, host=text, id=f"{text} {one.id}") for one in run.header.pool.devices
    )
    run = with_header(
        run,
        suite=text,
        session=text,
        name=text,
        leg=text,
        launcher=text,
        coordinator=text,
        registered_at=text,
        host=host,
        command=(text,),
        pool=replace(run.header.pool, devices=devices),
    )
    faults = tuple(
        replace(fault, at=text, worker=text, device=text, host=text, phase=text, log=text) for fault in run.faults
    )
    assert run.outcome is not None
    rounds = tuple(replace(line, started_at=text) for line in run.rounds)
    spans = tuple(replace(span, name=text) for span in run.outcome.spans)
    outcome = replace(run.outcome, reason=text, finished_at=text, spans=spans, files={text: text})
    return as_record(run._replace(faults=faults, rounds=rounds, outcome=outcome))


def hostile_material(text: str = HOSTILE) -> Material:
    """Make material in which every text is hostile."""
    verdicts, runs = hostile_verdicts(text), [hostile_record(text)]
    titles = {verdict.id: text for verdict in verdicts}
    occasion = replace(
        OCCASION, suite=text, session=text, made_at=text, folder=text, command=(text,), titles=titles, order=()
    )
    report = report_of(verdicts, runs)
    return material(verdicts, runs, occasion=occasion, report=report)
