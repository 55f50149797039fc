"""Pages as a session writes them, beside their `verdicts.json`: one with every word, and one of hostile text."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from pytest_mixgpu.marks.claims import judge_claim
from pytest_mixgpu.marks.judge import judge_mark
from pytest_mixgpu.marks.model import PassMark, Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.figures import figures_of
from pytest_mixgpu.report.html import write_page
from pytest_mixgpu.report.model import Figure, Figures, Occasion
from pytest_mixgpu.report.rows import build_report
from pytest_mixgpu.report.verdict_file import VerdictFile, read_verdicts, write_verdicts
from tests.judging import e1_marks, make_evidence
from tests.report.made_material import HOSTILE_TEXTS, hostile_record, hostile_verdicts
from tests.report.made_verdicts import OCCASION
from tests.sample_doctors import as_aborted, as_failed
from tests.samples import as_record, e1_plan, make_run

AMENDED = (
    '2026-11-28T08:00:00Z: e1-speedup amended after 3 runs: the driver changed (was {"bound":2.0,"least_runs":5})',
    "2026-11-29T08:00:00Z: e1-speedup amended: back again",
)
HUGE = "huge " * 200_000
"""A million characters."""


class MadePage(NamedTuple):
    """What lies in the folder, and what it was made of."""

    path: Path
    file: VerdictFile
    """`verdicts.json`, read back."""
    records: tuple[RunRecord, ...]
    figures: Figures

    @property
    def drawn(self) -> tuple[Figure, ...]:
        """Every chart of the page."""
        each = self.figures
        return (*each.marks, *each.time, *each.quality, *each.cost, *each.runs, *each.conditions)


def every_word_page(folder: Path) -> MadePage:
    """A rehearsal in which one mark fails, one is VOID, a claim is TAMPERED, one is UNJUDGED and the others pass."""
    evidence, suite = make_evidence(), e1_marks()
    verdicts: list[Verdict] = []
    titles, tests = {}, {}
    for test, ones in suite.by_test.items():
        for one in ones:
            judged = judge_mark(one, evidence) if isinstance(one, PassMark) else judge_claim(one, evidence)
            verdicts.append(_changed(judged))
            titles[one.id], tests[one.id] = test.replace("_", " ").removeprefix("test "), test
    odd = [
        as_record(as_failed(make_run(role="fleet", session="other"), after_rounds=2)),
        as_record(as_aborted(make_run(role="mixed", session="other"), after_rounds=3)),
    ]
    occasion = replace(OCCASION, titles=titles, tests=tests, order=tuple(titles))
    return _write(folder, verdicts, [*evidence.attempts, *odd], occasion, plan=e1_plan())


def hostile_page(folder: Path) -> MadePage:
    """A session in which every text comes from an attacker, some of them a million characters long."""
    text = " ".join((*HOSTILE_TEXTS, "</style><style>*{display:none}</style>", "javascript:alert(3)", "x" * 500))
    verdicts = [*hostile_verdicts(text), *(replace(one, id=f"huge {one.word}") for one in hostile_verdicts(HUGE))]
    records = [hostile_record(text), as_record(make_run(role="mixed"))]
    titles = {verdict.id: text for verdict in verdicts}
    fields = {field.name: text for field in msgspec.structs.fields(Occasion) if field.type is str}
    occasion = Occasion(**fields, titles=titles, command=(text, HUGE))  # type: ignore[arg-type]  # all are texts
    plan = e1_plan()
    workload = replace(plan.workload, description=text, done=HUGE, says_nothing_about=text)
    baseline = replace(plan.baseline, description=text, not_compared=(text, HUGE), exceptions=(text,))
    return _write(
        folder, verdicts, records, occasion, plan=replace(plan, question=text, workload=workload, baseline=baseline)
    )


def _changed(verdict: Verdict) -> Verdict:
    """Give some of the verdicts another word, with all that goes with it."""
    changes: dict[str, dict[str, object]] = {
        "e1-speedup": {
            "word": "FAIL", "value": 1.3127, "low": 1.29, "high": 1.33, "n": 3, "run_values": (1.29, 1.3127, 1.33),
            "interval": (1.27, 1.35), "interval_method": "t, 3 runs", "resolvable": 0.03, "amendments": AMENDED,
            "reason": "speedup 1.3127 x is not at least 1.4 x", "notes": ("amended", "unanchored"),
            "remedy": "make the exchange shorter", "qualifiers": (),
        },
        "e1-parity": {"word": "VOID", "reason": "control-a did not reach the target", "follows_from": "e1-quality"},
        "e1-placement": {"word": "TAMPERED", "reason": "the ledger's chain is broken at line 7"},
        "e1-cost": {"word": "UNJUDGED", "reason": "nothing was measured", "remedy": "run with --gpus=a40:16"},
        "e1-runs": {"qualifiers": ("exploratory",)},
    }  # fmt: skip
    return replace(verdict, **changes.get(verdict.id, {}))


def _write(
    folder: Path, verdicts: Sequence[Verdict], records: Sequence[RunRecord], occasion: Occasion, *, plan: Plan
) -> MadePage:
    write_verdicts(folder / "verdicts.json", verdicts, occasion=occasion)
    figures = figures_of(verdicts, records, plan=plan, evidence=None)
    write_page(folder / "index.html", build_report(verdicts, records, occasion=occasion, plan=plan), figures)
    return MadePage(folder / "index.html", read_verdicts(folder / "verdicts.json"), tuple(records), figures)
