"""How far a run is, in a sentence: from its rounds so far to rate and time left. Pure."""

import statistics
from collections.abc import Sequence

from pytest_mixgpu.jobs.words import Scoring
from pytest_mixgpu.records.model import Evaluation, RoundLine


def describe_round(lines: Sequence[RoundLine], *, num_rounds: int) -> str:
    """Say how the last round went and how long the rest will take."""
    last = lines[-1]
    rate_per_s = sum(last.samples) / last.round_s if last.round_s > 0 else 0.0
    left_s = statistics.median(line.round_s for line in lines) * (num_rounds - len(lines))
    warmup = " (warm-up)" if last.warmup else ""
    return (
        f"round {len(lines)} of {num_rounds}{warmup}: {last.round_s:.2f} s, {rate_per_s:,.0f} samples/s, "
        f"about {_duration(left_s)} left"
    )


def describe_evaluation(line: Evaluation) -> str:
    """Say how the model did."""
    share = line.num_correct / line.num_total if line.num_total else 0.0
    return f"{line.split}: {line.num_correct} of {line.num_total} right ({share:.1%})"


def describe_scoring(word: Scoring) -> str:
    """Say how far a scoring is, and whether its threads have to share cores."""
    short = "" if word.num_cores >= word.num_threads else f" ({word.num_threads} threads on {word.num_cores} core(s))"
    return f"scoring {word.num_done:,} of {word.num_total:,}{short}"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
