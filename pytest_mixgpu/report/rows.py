"""From verdicts and run records to one `Report` of formatted rows, which all writers of this room print.

Text from outside is neutralised here, once. Computes no metric and judges nothing.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_mixgpu.marks.cost import cost_of
from pytest_mixgpu.marks.evidence import Evidence, workload_of
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import HostFacts, RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.model import Occasion, Report, Section
from pytest_mixgpu.report.sanitise import clean
from pytest_mixgpu.report.sections.banner import banner_of, facts_of
from pytest_mixgpu.report.sections.conditions import conditions_section
from pytest_mixgpu.report.sections.costs import cost_section
from pytest_mixgpu.report.sections.environment import environment_section
from pytest_mixgpu.report.sections.not_shown import not_shown_section
from pytest_mixgpu.report.sections.phases import phase_tables
from pytest_mixgpu.report.sections.placement import placement_section
from pytest_mixgpu.report.sections.runs import run_rows
from pytest_mixgpu.report.sections.scores import score_table
from pytest_mixgpu.report.stage import is_rehearsal
from pytest_mixgpu.report.verdict_rows import by_test, headline_of, in_order, items_of, seals_of
from pytest_mixgpu.report.words import answer_in_words

if TYPE_CHECKING:
    from pytest_mixgpu.devices.model import Pool


def build_report(  # noqa: PLR0913 - one argument for each thing that a report is made of
    verdicts: Sequence[Verdict],
    records: Sequence[RunRecord],
    *,
    occasion: Occasion,
    plan: Plan | None = None,
    evidence: Evidence | None = None,
    host: HostFacts | None = None,
    pool: "Pool | None" = None,
) -> Report:
    """Lay out everything that a session has to say of one suite.

    Args:
        verdicts: of this suite, one a mark or claim.
        records: every registered run of the suite, failed and aborted ones too.
        occasion: what the report says of itself.
        plan: the suite's plan, where it has one.
        evidence: what the judge looked at, for the bill and for why a run does not count; without it neither is shown.
        host: of this session: what a suite without runs was measured on. Not shown beside records, which say it.
        pool: that this session held, as well.
    """
    ordered = in_order(verdicts, occasion.order)
    evidence_ids = {run_id for verdict in ordered for run_id in verdict.run_ids}
    # Conditions and phases are those of the runs that were judged; without any, those of all runs.
    judged = [record for record in records if record.id in evidence_ids] or list(records)
    has_runs = bool(records) or plan is not None
    if occasion.mode == "records":
        # The machine that judges is not the one that measured.
        host = pool = None
    cost = None if evidence is None else cost_of(evidence)
    headline, tone = headline_of(ordered, occasion.tests)
    return Report(
        occasion=_clean_occasion(occasion),
        question=clean(" ".join(plan.question.split())) if plan else "",
        headline=headline,
        tone=tone,
        answer=answer_in_words(by_test(ordered, occasion.tests)),
        facts=facts_of(ordered, records, occasion, pool=pool, cost=cost),
        again=clean(occasion.again) if records else "",
        banner=banner_of(ordered, judged),
        items=items_of(
            ordered, titles=occasion.titles, tests=occasion.tests, lock=None if evidence is None else evidence.lock
        ),
        has_runs=has_runs,
        phases=phase_tables(judged),
        runs=run_rows(records, evidence_ids, _superseded(evidence)),
        conditions=conditions_section(judged, plan),
        environment=environment_section(judged, host=host),
        placement=placement_section(judged, pool=pool),
        scores=score_table(judged, _target(plan, judged)),
        cost=cost_section(judged, plan, cost) if has_runs else Section(title="Cost"),
        not_shown=not_shown_section(ordered, judged, plan),
        seals=seals_of(ordered),
    )


def _superseded(evidence: Evidence | None) -> dict[str, str]:
    """Say of each run that does not count why, by its id."""
    reasons: dict[str, list[str]] = {}
    for one in () if evidence is None else evidence.superseded:
        reasons.setdefault(one.run_id, []).append(str(one))
    return {run_id: "; ".join(filter(None, texts)) for run_id, texts in reasons.items()}


def _clean_occasion(occasion: Occasion) -> Occasion:
    return Occasion(
        suite=clean(occasion.suite),
        session=clean(occasion.session),
        made_at=clean(occasion.made_at),
        mode=occasion.mode,
        folder=clean(occasion.folder),
        command=tuple(clean(word) for word in occasion.command),
        again=clean(occasion.again),
        titles={clean(id_): clean(title) for id_, title in occasion.titles.items()},
        tests={clean(id_): clean(test) for id_, test in occasion.tests.items()},
        order=tuple(clean(id_) for id_ in occasion.order),
    )


def _target(plan: Plan | None, records: Sequence[RunRecord]) -> float | None:
    workload = workload_of(plan, records, rehearsal=is_rehearsal(records))
    return None if workload is None else workload.target
