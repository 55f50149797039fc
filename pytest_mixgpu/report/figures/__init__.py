"""The charts of a report: from verdicts, records, evidence and plan to `Figure`s. Computes no metric, judges nothing.

One file a figure. `draw.py` alone knows the drawing library, which is imported when something is drawn.
"""

from collections.abc import Sequence

from pytest_mixgpu.marks.evidence import Evidence, workload_of
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.figures.bounds import mark_figures
from pytest_mixgpu.report.figures.chosen import judged_runs
from pytest_mixgpu.report.figures.draw import HOW_TO_DRAW
from pytest_mixgpu.report.figures.holdups import holdup_figures
from pytest_mixgpu.report.figures.learning import learning_figures
from pytest_mixgpu.report.figures.parity import parity_figures
from pytest_mixgpu.report.figures.phase_bars import phase_figures
from pytest_mixgpu.report.figures.placement import placement_figures
from pytest_mixgpu.report.figures.rates import rate_figures
from pytest_mixgpu.report.figures.run_spread import run_figures
from pytest_mixgpu.report.figures.speed import speed_figures
from pytest_mixgpu.report.figures.timeline import timeline_figures
from pytest_mixgpu.report.figures.waterfall import cost_figures
from pytest_mixgpu.report.model import Figures
from pytest_mixgpu.report.stage import is_rehearsal

__all__ = ["HOW_TO_DRAW", "Figures", "figures_of"]


def figures_of(
    verdicts: Sequence[Verdict], records: Sequence[RunRecord], *, plan: Plan | None, evidence: Evidence | None
) -> Figures:
    """Make every chart that there is data for.

    Args:
        verdicts: of one suite, in the order in which they are shown.
        records: every registered run of the suite, failed and aborted ones too.
        plan: of the suite.
        evidence: what the judge looked at; without it nothing is shown that takes its choice of runs.
    """
    judged = judged_runs(verdicts, records)
    counting = judged if evidence is None else evidence.completed
    workload = workload_of(plan, counting, rehearsal=is_rehearsal(counting))
    return Figures(
        marks=mark_figures(verdicts),
        time=(
            *speed_figures(verdicts, evidence),
            *rate_figures(counting),
            *phase_figures(judged),
            *timeline_figures(judged),
            *holdup_figures(judged),
        ),
        quality=(
            *parity_figures(verdicts, evidence),
            *learning_figures(counting, None if workload is None else workload.target),
        ),
        cost=cost_figures(evidence),
        runs=run_figures(records),
        conditions=placement_figures(judged),
    )
