"""Does a verdict say what its runs give: from a verdict and records to contradictions. Needs neither plan nor lock.

A file of verdicts carries no seal, its records do. What can be computed from records alone is computed again: the
value of each run, the word that value and bound give, and whether it was a rehearsal. What stands on plan, lock or git
(notes, claims, costs) cannot be: whoever doubts it takes the verdicts again.
"""

import math
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from pytest_mixgpu.marks.comparison import meets
from pytest_mixgpu.marks.metrics import METRICS
from pytest_mixgpu.marks.model import Verdict
from pytest_mixgpu.marks.quality import difference_points
from pytest_mixgpu.marks.speed import ratio_and_ideal
from pytest_mixgpu.marks.timings import accuracy_points, round_median_s, samples_per_s
from pytest_mixgpu.records.model import Role, RunRecord

SAME_SHARE = 1e-9
"""What two computations of one number may differ by, as a share of it."""


def contradicted(verdict: Verdict, runs: Sequence[RunRecord]) -> tuple[str, ...]:
    """Return what in a verdict is not what it would be, a sentence each.

    Args:
        verdict: as a file has it.
        runs: those that it names, as they can be read; none behind samples and bare numbers.
    """
    found = [*_of_itself(verdict), *_of_its_stage(verdict, runs)]
    if not verdict.is_claim and runs and verdict.metric in _GIVES:
        found += _of_its_values(verdict, runs)
    if verdict.metric in METRICS and verdict.value is not None and not runs and "value-stated" not in verdict.notes:
        found.append(f"has the value {verdict.value:.6g}, and names no run behind it")
    return tuple(f"{verdict.id} {text}" for text in found)


def _of_itself(verdict: Verdict) -> Iterator[str]:
    value, bound, comparator = verdict.value, verdict.bound, verdict.comparator
    if verdict.is_claim or verdict.word not in {"PASS", "FAIL"}:
        return
    if value is None or bound is None or comparator is None or math.isnan(value) or math.isnan(bound):
        yield f"is {verdict.word}, and has no value beside a bound"
        return
    passes = meets(abs(value) if comparator == "within" else value, comparator, bound)
    # A frozen rule can make a FAIL of a value that meets its bound, and nothing a PASS of one that does not.
    if verdict.word == "PASS" and not passes:
        yield f"is PASS, and {value:.6g} is not {comparator.replace('_', ' ')} {bound:.6g}"
    if verdict.run_values and len(verdict.run_values) == verdict.n:
        median = statistics.median(verdict.run_values)
        if not _is_same(value, median):
            yield f"has the value {value:.6g}, the median of its runs' values is {median:.6g}"
    if verdict.n == 1 and "preliminary" not in verdict.notes:
        yield "stands on one run, and is not said to be preliminary"


def _of_its_stage(verdict: Verdict, runs: Sequence[RunRecord]) -> Iterator[str]:
    if not verdict.is_claim and "rehearsal" not in verdict.qualifiers and any(run.header.rehearsal for run in runs):
        yield "is not said to be a rehearsal, its runs are"


def _of_its_values(verdict: Verdict, runs: Sequence[RunRecord]) -> Iterator[str]:
    """Yield which values of runs no run gives, and where there are more of them than repeats."""
    scale = METRICS[verdict.metric].units.get(verdict.unit, 1.0)
    given = [scale * value for value in _GIVES[verdict.metric](runs)]
    left = list(given)
    for value in verdict.run_values or (() if verdict.value is None else (verdict.value,)):
        match = next((one for one in left if _is_same(value, one)), None)
        if match is None:
            shown = ", ".join(f"{one:.6g}" for one in given) or "none"
            yield f"has {value:.6g} {verdict.unit} of a run, its runs give {shown}"
            return
        left.remove(match)


def _is_same(one: float, two: float) -> bool:
    return math.isclose(one, two, rel_tol=SAME_SHARE, abs_tol=1e-12)


def _speedups(runs: Sequence[RunRecord]) -> Iterator[float]:
    """Give the ratio of each session and repeat, against each kind of the baseline's pool: the plan says which."""
    for mates in _grouped(runs, lambda run: (run.header.session, run.header.repeat)).values():
        fleets = _completed(mates, "fleet")
        before, after = (_completed(mates, "baseline", leg=leg) for leg in ("before", "after"))
        if fleets and before and after:
            kinds = before[0].header.pool.kinds
            ratios = (ratio_and_ideal(before[0], fleets[0], after[0], kind)[0] for kind in kinds)
            yield from (ratio for ratio in ratios if ratio is not None)


def _distances(runs: Sequence[RunRecord]) -> Iterator[float]:
    for mates in _grouped(runs, lambda run: run.header.repeat).values():
        mixed = _completed(mates, "mixed")
        controls = list(_grouped(_completed(mates, "control"), lambda run: run.header.name).values())
        scores = [one.test for one in (*mixed[:1], *(named[0] for named in controls))]
        points = [accuracy_points(score) for score in scores if score is not None and score.num_total > 0]
        if mixed and controls and len(points) == len(scores):
            yield float(abs(difference_points(points[0], points[1:])))


def _accuracies(runs: Sequence[RunRecord]) -> Iterator[float]:
    scores = (run.test for run in _completed(runs, "fleet"))
    yield from (float(accuracy_points(one) / 100) for one in scores if one is not None and one.num_total > 0)


def _of_rounds(number: Callable[[RunRecord], float | None]) -> Callable[[Sequence[RunRecord]], Iterator[float]]:
    def given(runs: Sequence[RunRecord]) -> Iterator[float]:
        yield from (value for run in _completed(runs, "fleet") if (value := number(run)) is not None)

    return given


_GIVES: Mapping[str, Callable[[Sequence[RunRecord]], Iterator[float]]] = {
    "speedup": _speedups,
    "parity": _distances,
    "accuracy": _accuracies,
    "round_s": _of_rounds(round_median_s),
    "samples_per_s": _of_rounds(samples_per_s),
}


def _completed(runs: Iterable[RunRecord], role: Role, *, leg: str = "") -> list[RunRecord]:
    return [run for run in runs if run.status == "completed" and (run.header.role, run.header.leg) == (role, leg)]


def _grouped(runs: Iterable[RunRecord], key: Callable[[RunRecord], object]) -> dict[object, list[RunRecord]]:
    found: dict[object, list[RunRecord]] = {}
    for run in runs:
        found.setdefault(key(run), []).append(run)
    return found
