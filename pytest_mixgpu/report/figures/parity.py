"""Quality: the mixed run and its controls, seed by seed, on a full scale and close up, beside tolerance and target."""

import math
import statistics
from collections.abc import Sequence

from pytest_mixgpu import units
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.measurement import Measurement
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.parity_beside import accuracy_rows
from pytest_mixgpu.marks.quality import parity
from pytest_mixgpu.report.figures.made import counted, make_figure, thinned
from pytest_mixgpu.report.figures.parity_chart import Limits, Pair, parity_chart, parity_rows
from pytest_mixgpu.report.figures.thin import telling_indices
from pytest_mixgpu.report.model import Figure

MAX_PAIRS = 20


def parity_figures(verdicts: Sequence[Verdict], evidence: Evidence | None) -> tuple[Figure, ...]:
    """Draw mixed run and controls, where every repeat of them has a score."""
    if evidence is None:
        return ()
    found = parity(evidence)
    pairs = _pairs(found, evidence)
    verdict = next((one for one in verdicts if one.metric == "parity"), None)
    return (_figure(pairs, found, verdict, evidence),) if pairs else ()


def _pairs(found: Measurement, evidence: Evidence) -> list[Pair]:
    repeats = sorted(found.signed)
    rows = accuracy_rows(found, repeats)
    base = evidence.seeds.base
    return [
        Pair(
            repeat=repeat,
            lane=f"seed {base + repeat}",
            mixed=float(row[0]),
            controls=tuple(map(float, row[1:])),
            signed=found.signed[repeat],
        )
        for repeat, row in zip(repeats, rows, strict=bool(rows))
        if len(row) > 1
    ]


def _figure(pairs: list[Pair], found: Measurement, verdict: Verdict | None, evidence: Evidence) -> Figure:
    bound = None if verdict is None or verdict.bound is None or not math.isfinite(verdict.bound) else verdict.bound
    resolvable = None if verdict is None else verdict.resolvable
    target = None if evidence.workload is None else 100 * evidence.workload.target
    kept = [pairs[index] for index in telling_indices([one.signed for one in pairs], MAX_PAIRS)]
    mean = statistics.fmean(one.signed for one in pairs)
    distance = statistics.median(abs(one.signed) for one in pairs)
    average = " on average" if len(pairs) > 1 else ""
    limits = Limits(target=target, bound=bound, resolvable=resolvable, mean=mean)
    side = "above" if mean > 0 else "below"
    where = f"{abs(mean):.2f} points {side}" if mean else "at"
    word = "" if verdict is None else f": {', '.join((verdict.word, *verdict.qualifiers))}"
    asked = "" if bound is None else f"; within {units.format_exact(bound)} was asked"
    said = f"{verdict.reason}." if verdict is not None and verdict.reason else ""
    return make_figure(
        id="parity",
        title=f"Mixed runs end {where} the mean of their controls{average}, with {distance:.2f} points as the median "
        f"distance ({counted(len(pairs), 'seed')}){asked}{word}",
        alt="For each seed the accuracy of the mixed run and of its controls, on a scale from 0 to 100 % and close up; "
        f"then mixed minus controls beside the tolerance. {said}",
        head=(
            "seed",
            "mixed, %",
            "controls, %",
            "mean of the controls, %",
            "mixed minus mean, points",
            "controls apart",
        ),
        rows=[
            (
                one.lane,
                f"{one.mixed:.2f}",
                ", ".join(f"{each:.2f}" for each in one.controls),
                f"{one.mean:.2f}",
                f"{one.signed:+.3f}",
                f"{found.own_gaps[one.repeat]:.3f}",
            )
            for one in pairs
        ],
        chart=lambda: parity_chart(kept, limits),
        datasets=parity_rows(kept, limits),
        notes=[
            *_clause(verdict),
            "One seed, or seeds that are all alike, do not say how small a difference could have been shown."
            if resolvable is None
            else f"Dotted: the smallest difference that was to be seen, {units.format_number(resolvable)} points.",
            *thinned(len(kept), len(pairs), "seeds"),
        ],
    )


def _clause(verdict: Verdict | None) -> list[str]:
    """Repeat what the judge says of the clauses."""
    found = [] if verdict is None else [text for text in verdict.details if "clause" in text and "passes:" in text]
    return [f"{text[:1].upper()}{text[1:]}." for text in found[:1]]
