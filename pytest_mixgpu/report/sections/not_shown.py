"""What a report does not show, said next to what it does: from plan, verdicts and records to sentences."""

from collections.abc import Sequence

from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.model import Section
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.stage import is_rehearsal

_SEALS = (
    "A digest shows that nothing changed since it was taken, not that what it seals was true.",
    "A git date can be set by hand; only a copy that somebody else held at the time shows when a mark was set.",
    "The ledger's chain shows accidents. Only its head, kept outside this machine, shows a chain that was built anew.",
)


def not_shown_section(verdicts: Sequence[Verdict], records: Sequence[RunRecord], plan: Plan | None) -> Section:
    """Collect what a reader could take from the page and must not."""
    sentences = []
    if any("rehearsal" in verdict.qualifiers for verdict in verdicts):
        sentences.append("The stand-in's numbers carry over to no other pool, model or data.")
    if plan is not None:
        sentences += _of_plan(plan, rehearsal=is_rehearsal(records))
    if any(verdict.n == 1 for verdict in verdicts):
        sentences.append("One run: how far another would lie from it is not known.")
    return Section(title="What this does not show", sentences=tuple(clean(text) for text in (*sentences, *_SEALS)))


def _of_plan(plan: Plan, *, rehearsal: bool) -> list[str]:
    workload = plan.rehearsal.workload if rehearsal and plan.rehearsal else plan.workload
    sentences = []
    if workload.says_nothing_about:
        sentences.append(f"The workload says nothing about {workload.says_nothing_about}.")
    sentences += [f"Not compared: {text}." for text in plan.baseline.not_compared]
    sentences += [f"Exception: {text}." for text in plan.baseline.exceptions]
    sentences += [f"Not published by {source.title}: {text}." for source in plan.sources for text in source.unpublished]
    if plan.wait.status == "out-of-scope":
        sentences.append(f"The wait for devices is out of scope: {plan.wait.reason}.")
    return sentences
