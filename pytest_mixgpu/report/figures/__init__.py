"""The charts of a report: from verdicts, records, evidence and plan to `Figure`s. Computes no metric, judges nothing.

One file a figure. `draw.py` alone knows the drawing library, which is imported when something is drawn.
"""

from collections.abc import Sequence

from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.records.model import RunRecord
from pytest_mixgpu.records.plan import Plan
from pytest_mixgpu.report.figures.bounds import mark_figures
from pytest_mixgpu.report.figures.chosen import judged_runs
from pytest_mixgpu.report.figures.draw import HOW_TO_DRAW
from pytest_mixgpu.report.figures.phase_bars import phase_figures
from pytest_mixgpu.report.figures.timeline import timeline_figures
from pytest_mixgpu.report.model import Figures

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
    del plan, evidence
    judged = judged_runs(verdicts, records)
    return Figures(marks=mark_figures(verdicts), time=(*phase_figures(judged), *timeline_figures(judged)))
