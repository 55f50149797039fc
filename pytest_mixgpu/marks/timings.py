"""Numbers of single runs: from a record to medians of its rounds, rates, phases, scores. Pure arithmetic.

A record may say anything. Rounds that lasted no time or less have no median here, so that nobody divides by it; that
they are impossible is said where records are looked through.
"""

import statistics
from fractions import Fraction

from pytest_mixgpu.marks.comparison import reaches
from pytest_mixgpu.records.model import Evaluation, RunRecord
from pytest_mixgpu.timing.model import PHASES, Phase
from pytest_mixgpu.timing.phases import phase_totals


def round_median_s(run: RunRecord) -> float | None:
    """Return the median of the measured rounds; None if there is none, or if it is not above 0."""
    rounds = [line.round_s for line in run.measured_rounds]
    median_s = statistics.median(rounds) if rounds else 0.0
    return median_s if median_s > 0 else None


def device_medians_s(*runs: RunRecord) -> dict[str, float]:
    """Return the median round of each device over several runs in which devices worked one after the other.

    A device whose median is not above 0 is left out.
    """
    rounds: dict[str, list[float]] = {}
    for run in runs:
        for line in run.measured_rounds:
            for participant in line.participants:
                rounds.setdefault(run.devices[participant].id, []).append(line.round_s)
    medians_s = {device: statistics.median(values) for device, values in rounds.items()}
    return {device: median_s for device, median_s in medians_s.items() if median_s > 0}


def samples_a_round(run: RunRecord) -> int:
    """Return the training samples of one round, as the settings fix them."""
    return run.header.settings.round_steps * run.header.settings.batch_size


def samples_per_s(run: RunRecord) -> float | None:
    """Return the training samples a second of the median round."""
    seconds = round_median_s(run)
    return samples_a_round(run) / seconds if seconds else None


def accuracy_points(evaluation: Evaluation) -> Fraction:
    """Return the share of the split that was right, in percent, exactly."""
    return Fraction(100 * evaluation.num_correct, evaluation.num_total)


def reached_target(run: RunRecord, target: float) -> bool:
    """Say whether a run's final weights got at least the target share of the test set right."""
    return run.test is not None and reaches(run.test.num_correct, run.test.num_total, target)


def score_text(evaluation: Evaluation) -> str:
    """Write a score with its whole counts: `97.8 % (440 of 450)`."""
    return f"{float(accuracy_points(evaluation)):.2f} % ({evaluation.num_correct} of {evaluation.num_total})"


def first_at_target(run: RunRecord, target: float) -> Evaluation | None:
    """Return the first look at the validation split that was at the target: time and samples to target."""
    return next(
        (
            line
            for line in run.evaluations
            if line.split == "validation" and reaches(line.num_correct, line.num_total, target)
        ),
        None,
    )


def phase_medians_s(run: RunRecord) -> dict[Phase, float]:
    """Return each phase's median over the measured rounds, a round's being the mean over its participants."""
    rounds = [
        {phase: statistics.fmean(totals[phase] for totals in by_participant) for phase in PHASES}
        for line in run.measured_rounds
        if (by_participant := [phase_totals(segments) for segments in line.segments])
    ]
    if not rounds:
        return dict.fromkeys(PHASES, 0.0)
    return {phase: statistics.median(row[phase] for row in rounds) for phase in PHASES}


def foreign_share_max(run: RunRecord) -> float | None:
    """Return the largest share of a core that others took in a measured round; None where no round knows."""
    known = [share for line in run.measured_rounds for share in line.foreign_share if share is not None]
    return max(known, default=None)


def is_share_unknown(run: RunRecord) -> bool:
    """Say whether a run on CPU kinds does not know of any measured round what other processes took of its cores."""
    return any(device.vendor == "cpu" for device in run.devices) and foreign_share_max(run) is None


def stalled_share_max(run: RunRecord) -> float | None:
    """Return the largest share of a compute phase in which a worker on a core had no CPU time; None where unknown.

    A worker on one thread that computes all the time uses as much CPU time as passes. What is missing was taken from
    it: by a stop signal or a container's quota, say, which no other process's time shows.
    """
    if run.header.settings.num_threads != 1:
        return None
    shares = [
        (own.compute_end_s - cpu_s) / own.compute_end_s
        for line in run.measured_rounds
        for participant, own, cpu_s in zip(line.participants, line.stamps, line.compute_cpu_s, strict=False)
        if cpu_s is not None and own.compute_end_s > 0 and run.devices[participant].vendor == "cpu"
    ]
    return max(shares, default=None)
