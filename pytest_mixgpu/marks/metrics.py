"""The registry of metrics: from a name to what computes it, its units, and the bounds that make sense. Runs nothing."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from pytest_mixgpu.marks.cost import cost_of
from pytest_mixgpu.marks.evidence import Evidence
from pytest_mixgpu.marks.measurement import Measurement, wrong_runs
from pytest_mixgpu.marks.model import Comparator, Reference
from pytest_mixgpu.marks.quality import fleet_accuracy, parity
from pytest_mixgpu.marks.speed import fleet_rate, fleet_round, speedup


@dataclass(frozen=True, slots=True, kw_only=True)
class Metric:
    """One number that can be computed from records."""

    name: str
    about: str
    units: Mapping[str, float]
    """How many of the unit make one of the base unit; empty: any unit (a currency)."""
    forms: tuple[tuple[Comparator, Reference | None], ...]
    """Which bounds make sense."""
    compute: Callable[[Evidence], Measurement]
    ceiling: float | None = None
    """The largest value that there can be, in the base unit."""
    is_ratio: bool = False
    """Whether a value is one duration over another, so that its logarithm is what is spread evenly."""
    is_of_whole: bool = False
    """Whether there is one value of the whole experiment, however many runs it has."""


def cost_per_result(evidence: Evidence) -> Measurement:
    """Cost of one completed result, with baseline, reference and controls; one value for the whole experiment."""
    cost = cost_of(evidence)
    value = cost.per_result_whole
    lacking = []
    if cost.num_results == 0:
        lacking.append(evidence.undescribed or "no run met the target: there is no result to divide by")
    lacking += [
        f"run {lost.run_id} ({lost.name}) is registered and its record cannot be read: what it cost is not known"
        for lost in evidence.lost
    ]
    if cost.whole.amount is None:
        lacking.append(f"the price of {', '.join(cost.unpriced_kinds) or 'a device'} or a lease is not stated")
    return Measurement(
        values={} if value is None else {0: value},
        runs=evidence.completed,
        wrong=wrong_runs(evidence, evidence.completed),
        lacking=tuple(lacking),
        details=(f"not stated and in no sum: {', '.join(cost.whole.not_stated)}",) if cost.whole.not_stated else (),
        unit=cost.currency,
        pool=", ".join(sorted({run.header.pool.spec for run in evidence.completed})),
    )


_ALL = (
    Metric(
        name="speedup",
        about="one device's median round over the fleet's, with the same work a round",
        units={"x": 1.0},
        forms=(("at_least", "ideal"), ("at_least", None)),
        compute=speedup,
        is_ratio=True,
    ),
    Metric(
        name="parity",
        about="distance of the mixed run's accuracy from the mean of its controls",
        units={"points": 1.0},
        forms=(("within", "controls"),),
        compute=parity,
        ceiling=100.0,
    ),
    Metric(
        name="accuracy",
        about="the fleet's share of the test set that was right",
        units={"share": 1.0, "%": 100.0},
        forms=(("at_least", None),),
        compute=fleet_accuracy,
        ceiling=1.0,
    ),
    Metric(
        name="samples_per_s",
        about="the fleet's training samples a second of the median round",
        units={"samples/s": 1.0},
        forms=(("at_least", None),),
        compute=fleet_rate,
    ),
    Metric(
        name="round_s",
        about="the fleet's median round",
        units={"s": 1.0, "ms": 1000.0},
        forms=(("at_most", None),),
        compute=fleet_round,
    ),
    Metric(
        name="cost_per_result",
        about="cost of one completed result, with baseline, reference and controls",
        units={},
        forms=(("at_most", None),),
        compute=cost_per_result,
        is_of_whole=True,
    ),
)
METRICS: Mapping[str, Metric] = {metric.name: metric for metric in _ALL}
