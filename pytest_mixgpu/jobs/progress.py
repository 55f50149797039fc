"""How far a run is, in a sentence: from its rounds so far to rate and time left. Pure.

A line shares 80 columns with the name of its run, so it says no word too many.
"""

import statistics
from collections.abc import Sequence

from pytest_mixgpu.jobs.words import Scoring
from pytest_mixgpu.records.model import Evaluation, RoundLine, Settings


def describe_start(num_participants: int) -> str:
    """Say for whom there is a wait."""
    return f"starting {_counted(num_participants, 'participant')}"


def describe_round(lines: Sequence[RoundLine], settings: Settings, *, num_rounds: int) -> str:
    """Say how the last round went and how long the rest will take.

    Warm-ups are counted apart, so that a measured round has the number that it has in every table. Where devices are
    measured in turn, each counts for itself.

    Args:
        lines: the rounds so far.
        settings: how many rounds a schedule has.
        num_rounds: rounds of the whole run, warm-ups included: a schedule, or one for each device in turn.
    """
    last = lines[-1]
    num_devices = num_rounds // (settings.warmup_rounds + settings.rounds)
    device, turn = divmod(len(lines) - 1, settings.warmup_rounds + settings.rounds)
    left_s = statistics.median(line.round_s for line in lines) * (num_rounds - len(lines))
    if turn < settings.warmup_rounds:
        place = f"warm-up {turn + 1} of {settings.warmup_rounds}"
    else:
        place = f"round {turn - settings.warmup_rounds + 1} of {settings.rounds}"
    if num_devices > 1:
        # The work of a round is fixed, so its seconds say what the rate would, in the room that there is.
        return f"device {device + 1} of {num_devices}, {place}: {last.round_s:.2f} s, {_duration(left_s)} left"
    rate_per_s = sum(last.samples) / last.round_s if last.round_s > 0 else 0.0
    return f"{place}: {last.round_s:.2f} s, {rate_per_s:,.0f} samples/s, {_duration(left_s)} left"


def describe_instrumented(line: RoundLine, lines: Sequence[RoundLine], *, number: int, total: int) -> str:
    """Say how long a round with instruments took, beside those without.

    Args:
        line: the round.
        lines: all rounds without, warm-ups included.
        number: which of the instrumented ones, from 1.
        total: how many there are to be.
    """
    plain_s = statistics.median(one.round_s for one in lines if not one.warmup)
    told = f"{line.round_s / plain_s:.2f} times {plain_s:.2f} s without" if plain_s > 0 else "nothing to compare with"
    return f"instrumented round {number} of {total}: {line.round_s:.2f} s, {told}"


def describe_evaluation(line: Evaluation) -> str:
    """Say how the model did."""
    share = line.num_correct / line.num_total if line.num_total else 0.0
    return f"{line.split}: {line.num_correct} of {line.num_total} right ({share:.1%})"


def describe_scoring(word: Scoring) -> str:
    """Say how far a scoring is, and whether its threads have to share cores."""
    short = (
        ""
        if word.num_cores >= word.num_threads
        else f" ({word.num_threads} threads on {_counted(word.num_cores, 'core')})"
    )
    return f"scoring {word.num_done:,} of {word.num_total:,}{short}"


def _counted(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _duration(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60:02d} min"
