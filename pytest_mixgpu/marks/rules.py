"""The rules that a mark freezes beside its bound: from values of runs to a word that they force. Pure.

How many runs must stand behind a value, what becomes of a mark whose interval lies on both sides of its bound, and of
one whose runs were disturbed. They are rules of the experiment. A rehearsal is judged on the runs of its own session,
often one, and answers nothing in any case: there the rules are told and not applied.
"""

from collections.abc import Sequence

from pytest_mixgpu.marks.model import PassMark, Straddling, Word
from pytest_mixgpu.marks.statistics import spread_of, straddles

IN_WORDS: dict[Straddling, str] = {
    "decide": "the median decides, and `inconclusive` is noted",
    "unjudged": "the mark is UNJUDGED",
    "fail": "the mark is not met",
}


def too_few(mark: PassMark, num_runs: int) -> str:
    """Say that fewer runs stand behind a value than the mark asks for; empty where there are enough.

    Args:
        mark: with its least number of runs.
        num_runs: that stand behind the value.
    """
    if num_runs >= mark.least_runs:
        return ""
    stand = "1 run stands" if num_runs == 1 else f"{num_runs} runs stand"
    return f"{stand} behind the value, the mark asks for at least {mark.least_runs}"


def ruled(mark: PassMark, values: Sequence[float], bound: float, *, is_ratio: bool = False) -> tuple[Word, str] | None:
    """Return the word that a straddling interval forces, and why; None where the median decides.

    With `unjudged` and `fail` the interval is what is judged; of parity that of the distances. Where there is none
    (one run, or an attempt without an end among a few), nothing shows on which side of the bound the truth lies, and
    the mark is UNJUDGED under either.

    Args:
        mark: with its rule.
        values: one a run, infinitely bad for an attempt that counts as the worst.
        bound: as applied.
        is_ratio: as the metric says.
    """
    if mark.straddling == "decide":
        return None
    spread = spread_of(values, is_ratio=is_ratio)
    rule = f"the mark was frozen with straddling={mark.straddling!r}"
    if spread.interval is None:
        return "UNJUDGED", f"{spread.method}, so nothing shows on which side of the bound the truth lies; {rule}"
    if not straddles(spread.interval, bound):
        return None
    low, high = spread.interval
    word: Word = "UNJUDGED" if mark.straddling == "unjudged" else "FAIL"
    return word, f"the interval {low:.6g} to {high:.6g} {mark.unit} lies on both sides of {bound:.6g}; {rule}"


def refused(mark: PassMark, disturbed: Sequence[str]) -> tuple[Word, str] | None:
    """Return that a mark refuses what was disturbed, and why; None where it counts.

    Args:
        mark: with its rule.
        disturbed: what disturbed its runs, a sentence each.
    """
    if mark.disturbed != "refuse" or not disturbed:
        return None
    return "UNJUDGED", f"{disturbed[0]}; the mark was frozen with disturbed='refuse'"


def forced_by_rules(
    mark: PassMark, values: Sequence[float], bound: float, *, num_runs: int, is_ratio: bool = False
) -> tuple[Word, str] | None:
    """Return the word that the rules force, and why: the least number of runs first, then the interval.

    Args:
        mark: with its rules.
        values: one a run, infinitely bad for an attempt that counts as the worst.
        bound: as applied.
        num_runs: that stand behind the value.
        is_ratio: as the metric says.
    """
    few = too_few(mark, num_runs)
    return ("UNJUDGED", few) if few else ruled(mark, values, bound, is_ratio=is_ratio)


def told(mark: PassMark, *, rehearsal: bool) -> tuple[str, ...]:
    """Say which rules a mark has beyond the plain ones, and that a rehearsal does not apply them."""
    said = []
    if mark.least_runs > 1:
        said.append(f"the mark asks for at least {mark.least_runs} runs")
    if mark.straddling != "decide":
        said.append(f"where the interval lies on both sides of the bound, {IN_WORDS[mark.straddling]}")
    if mark.disturbed == "refuse":
        said.append("where a run was disturbed, the mark is UNJUDGED")
    if said and rehearsal:
        said.append("a rehearsal is judged on its own session's runs, and these rules are the experiment's")
    return ("; ".join(said),) if said else ()
